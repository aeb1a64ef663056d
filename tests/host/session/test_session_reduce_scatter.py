# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Reduce-scatter over sessions and a server: each worker gets the bits of its shard, and few bytes of the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanesum import codecs
from lanesum.codecs import THC, fixed
from lanesum.codecs.base import Codec, RoundPieces
from lanesum.codecs.fixed import ElementwiseFixed, FixedPoint
from lanesum.codecs.shards import Shards
from lanesum.codecs.thc import backend as thc_backend
from lanesum.errors import ConfigurationError
from lanesum.protocol import Header
from lanesum.protocol.spec import HEADER_BYTES, Kind
from lanesum.server import AggregationServer, ServerJob
from lanesum.session import Session
from lanesum.transport import JobTicket
from lanesum.transport.errors import MismatchError
from lanesum_lab import codec_simulation as simulate
from tests.host.session.workers import LOCALHOST, random_loss, run_workers, tickets_for

pytestmark = pytest.mark.usefixtures("implementation")

WORKERS = 3
BLOCK = 64
# Values of a shard: whole blocks, a block that is padded, one value less than is scattered, and very few.
SHARDS = (BLOCK * 40, BLOCK * 9 + 5, BLOCK * 8 - 1, 2)


def gradient(worker: int, shard: int, workers: int = WORKERS) -> np.ndarray:
    return np.random.default_rng((worker, shard)).normal(size=workers * shard).astype(np.float32)


def admitted(server: AggregationServer, codec: Codec, workers: int = WORKERS, **fields: Any) -> list[JobTicket]:
    table = None if codec.code_table is None else codec.code_table.tobytes()
    tickets = tickets_for(server, workers, code_table=table, **fields)
    server.aggregator.admit(ServerJob.from_tickets(tickets))
    return tickets


def alone(codec: Codec, shard: int, seed: int, round_: int) -> np.ndarray:
    """Return the mean of padded shards by an all-reduce of the codec alone, without the padding, a row for each."""
    padded = -(-shard // BLOCK) * BLOCK if shard >= 8 * BLOCK else shard
    vectors = []
    for worker in range(WORKERS):
        rows = np.zeros((WORKERS, padded), np.float32)
        rows[:, :shard] = gradient(worker, shard).reshape(WORKERS, shard)
        vectors.append(rows.reshape(-1))
    result = simulate.simulate(codec, vectors, seed=seed, round=round_, complete=True)
    return result.values.reshape(WORKERS, padded)[:, :shard]


@pytest.mark.parametrize(
    ("name", "options", "loss", "certified"),
    [
        ("thc", {"bits": 3}, 0.0, True),
        ("thc", {}, 0.03, False),
        ("thc", {"lookup": False}, 0.03, True),
        ("thc", {"lanes": 16}, 0.0, False),
        ("thc", {"bits": 5}, 0.0, False),
        ("thc", {"bits": 8}, 0.0, False),
        ("fixed", {"gathered": 16}, 0.03, True),
        ("fixed", {"gathered": 16, "power_of_two": True}, 0.0, False),
    ],
)
def test_shards_have_bits_of_codec_alone(name: str, options: dict[str, Any], loss: float, certified: bool) -> None:
    codec = codecs.get(name, workers=WORKERS, block=BLOCK, **options)
    with AggregationServer((LOCALHOST, 0), loss=random_loss(3, loss)) as server:
        tickets = admitted(server, codec, accumulator_words=64, certified=certified)

        def work(session: Session) -> list[np.ndarray]:
            own = session.ticket.worker
            return [session.reduce_scatter(gradient(own, shard), average=True) for shard in SHARDS]

        results = run_workers(tickets, work, codec=codec)
    for number, shard in enumerate(SHARDS):
        expected = alone(codec, shard, tickets[0].seed, number)
        for worker, result in enumerate(results):
            assert result[number].tobytes() == expected[worker].tobytes()


@pytest.mark.parametrize("name", ["thc", "thc bits=3", "fixed"])
@pytest.mark.parametrize("loss", [0.0, 0.03])
def test_shards_in_pieces_have_bits_of_codec_alone(name: str, loss: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces end within packets of a shard, and the last one is shorter."""
    for module in (thc_backend, fixed):
        monkeypatch.setattr(module, "_PIECE", BLOCK * 5 * WORKERS)
    codec = codecs.get(name, workers=WORKERS, block=BLOCK)
    shard = BLOCK * 41 + 3
    encoded: list[int] = []
    encode_next = RoundPieces.encode_next

    def count(pieces: RoundPieces) -> int:
        encoded.append(len(pieces))
        return encode_next(pieces)

    monkeypatch.setattr(RoundPieces, "encode_next", count)
    with AggregationServer((LOCALHOST, 0), loss=random_loss(4, loss)) as server:
        tickets = admitted(server, codec, accumulator_words=48 if "3" in name else 64)

        def work(session: Session) -> np.ndarray:
            return session.reduce_scatter(gradient(session.ticket.worker, shard), average=True)

        results = run_workers(tickets, work, codec=codec)
    assert min(encoded) >= 5, encoded
    expected = alone(codec, shard, tickets[0].seed, 0)
    for worker, result in enumerate(results):
        assert result.tobytes() == expected[worker].tobytes()


def test_shard_keeps_other_dimensions_and_residual_of_sender() -> None:
    codec = THC(workers=WORKERS, block=BLOCK)
    shard = 9 * BLOCK + 6
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = admitted(server, codec)

        def work(session: Session) -> tuple[Any, Any]:
            vector = gradient(session.ticket.worker, shard).reshape(WORKERS * 6, -1)
            both = session.reduce_scatter_async(vector, keep_residual=True), session.all_reduce_async(vector)
            return both[0].codec_result(), both[1].result()

        results = run_workers(tickets, work, codec=codec)
    for worker, (result, summed) in enumerate(results):
        assert result.values.shape == (shard,) and result.residual.shape == (WORKERS * shard,)
        # Sums of different roundings differ by the error of the codec; residuals by that of one worker.
        assert np.square(result.values - summed.reshape(-1)[worker * shard :][:shard]).mean() < 0.1
        assert np.square(result.residual).mean() < 0.1 * np.square(gradient(worker, shard)).mean()
    sent = [gradient(worker, shard) - results[worker][0].residual for worker in range(WORKERS)]
    whole = np.concatenate([result.values for result, _ in results])
    np.testing.assert_allclose(np.sum(sent, axis=0), whole, atol=1e-4)


def test_shard_of_array_has_its_shape() -> None:
    codec = FixedPoint(workers=WORKERS)
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = admitted(server, codec)
        results = run_workers(tickets, lambda session: session.reduce_scatter(np.ones((6, 5), np.float32)))
    for result in results:
        assert result.shape == (2, 5) and (result == WORKERS).all()


def test_array_without_equal_shards_is_refused() -> None:
    codec = FixedPoint(workers=WORKERS)
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = admitted(server, codec)

        def work(session: Session) -> np.ndarray:
            for array in (np.ones(4, np.float32), np.float32(1)):
                with pytest.raises(ConfigurationError, match="Cannot split an array of shape"):
                    session.reduce_scatter(array)  # type: ignore[type-var]
            return session.reduce_scatter(np.ones(3, np.float32))

        assert [result.tolist() for result in run_workers(tickets, work)] == [[3.0]] * WORKERS


@pytest.mark.parametrize("name", ["thc error=0.01", "topk", "sketch"])
def test_other_codecs_return_shard_of_their_sum(name: str) -> None:
    codec = codecs.for_job(name, workers=WORKERS, lookup=False)
    shard = 700
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = admitted(server, codec)

        def work(session: Session) -> np.ndarray:
            own = codecs.for_job(name, workers=WORKERS, lookup=False)
            return session.reduce_scatter(gradient(session.ticket.worker, shard), codec=own)

        results = run_workers(tickets, work)
    vectors = [gradient(worker, shard) for worker in range(WORKERS)]
    expected = simulate.simulate(codec, vectors, seed=tickets[0].seed, round=0, complete=True, average=False).values
    for worker, result in enumerate(results):
        assert result.tobytes() == expected[worker * shard :][:shard].tobytes()


def test_quorum_returns_shard_of_the_sum_it_has() -> None:
    codec = FixedPoint(workers=WORKERS, block=BLOCK)
    shard = 10 * BLOCK
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = admitted(server, codec, quorum=WORKERS)
        results = run_workers(
            tickets, lambda session: session.reduce_scatter(np.ones(WORKERS * shard, np.float32), codec=codec)
        )
    assert all(result.shape == (shard,) and (result == WORKERS).all() for result in results)


@pytest.mark.parametrize("shard", [BLOCK, BLOCK * 9])
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_not_finite_value_reaches_its_owner_or_all(shard: int, bad: float) -> None:
    codec = FixedPoint(workers=WORKERS, block=BLOCK, gathered=16)
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = admitted(server, codec)

        def work(session: Session) -> tuple[np.ndarray, np.ndarray]:
            vector = np.ones(WORKERS * shard, np.float32)
            if session.ticket.worker == 0:
                vector[shard + 1] = bad
            elementwise = session.reduce_scatter_async(vector, codec=codec, elementwise=True).result()
            return elementwise, session.reduce_scatter(vector, codec=codec)

        results = run_workers(tickets, work)
    for worker, (elementwise, whole) in enumerate(results):
        expected = np.full(shard, WORKERS, np.float32)
        if worker == 1:
            expected[1] = bad
        np.testing.assert_array_equal(elementwise, expected)
        assert whole.shape == (shard,) and np.isnan(whole).all()
    assert isinstance(ElementwiseFixed(workers=1), FixedPoint)


def test_worker_with_all_reduce_mismatches_the_others() -> None:
    codec = THC(workers=WORKERS, block=BLOCK)
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = admitted(server, codec)

        def work(session: Session) -> np.ndarray:
            vector = gradient(0, BLOCK * 9)
            one = session.all_reduce if session.ticket.worker == 1 else session.reduce_scatter
            return one(vector)

        results = run_workers(tickets, work, errors=True, codec=codec)
    assert all(isinstance(result, MismatchError) for result in results), results
    assert any("scattered words" in str(result) for result in results)


@pytest.mark.parametrize(("workers", "share"), [(4, 0.35), (8, 0.25)])
def test_downlink_carries_own_shard_and_headers(workers: int, share: float) -> None:
    """Of the results alone, each counted once: a busy machine repeats some."""
    codec = THC(workers=workers)
    uplink: dict[tuple[Any, int, int], int] = {}
    downlink: dict[tuple[Any, int, int], int] = {}

    def count(received: bool, address: Any, datagram: bytes) -> bool:
        header = Header.unpack(datagram)
        if received or header.kind == Kind.RESULT:
            (uplink if received else downlink)[address, header.epoch, header.chunk] = len(datagram)
        return False

    with AggregationServer((LOCALHOST, 0), loss=count) as server:
        tickets = admitted(server, codec, workers, accumulator_words=360, slots=64)

        def work(session: Session) -> list[int]:
            vector = gradient(session.ticket.worker, 8 * 4096, workers)
            session.all_reduce(vector)
            session.reduce_scatter(vector)
            first = session._transport._engine.rounds.ticket.epoch
            return [(first + number) % (1 << 32) for number in range(4)]

        epochs = run_workers(tickets, work, codec=codec)[0]
    for ticket in tickets:
        sent, arrived = (
            [sum(size for (of, epoch, _), size in way.items() if (of, epoch) == (ticket.local, one)) for one in epochs]
            for way in (uplink, downlink)
        )
        assert 0 < arrived[2] + arrived[3] < share * (arrived[0] + arrived[1])
        assert 0 < sent[2] + sent[3] < 1.05 * (sent[0] + sent[1])


def test_owner_gets_back_lost_sums() -> None:
    """All results of the owner are lost for a while; those of the others are header-only and arrive."""
    codec = FixedPoint(workers=WORKERS, block=BLOCK)
    lost: list[int] = []

    def lose(received: bool, address: Any, datagram: bytes) -> bool:
        header = Header.unpack(datagram)
        if received or header.kind != Kind.RESULT or len(datagram) == HEADER_BYTES or header.op != 0 or len(lost) > 12:
            return False
        lost.append(header.chunk)
        return True

    with AggregationServer((LOCALHOST, 0), loss=lose) as server:
        tickets = admitted(server, codec, slots=4, accumulator_words=32)

        def work(session: Session) -> np.ndarray:
            return session.reduce_scatter(gradient(session.ticket.worker, BLOCK * 12), codec=codec)

        results = run_workers(tickets, work)
    expected = np.sum([gradient(worker, BLOCK * 12) for worker in range(WORKERS)], axis=0, dtype=np.float64)
    assert len(lost) > 12
    np.testing.assert_allclose(np.concatenate(results), expected, atol=1e-5)


def test_shards_fill_whole_blocks_and_return() -> None:
    from lanesum.codecs.base import CodecContext

    context = CodecContext(workers=2, worker=1, complete=True, scattered=True)
    shards = Shards.of(2 * 9, 1, context)
    assert shards is not None and shards.pad(np.arange(18, dtype=np.float32)).size == 18
    assert Shards.of(2 * 9, 2, context) is None
    wide = Shards.of(2 * 17, 2, context)
    assert wide is not None
    vector = np.arange(1, 35, dtype=np.float32)
    assert wide.pad(vector)[17] == 0 and wide.pad(vector)[35] == 0
    np.testing.assert_array_equal(wide.unpad(wide.pad(vector)), vector)
