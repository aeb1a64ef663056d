# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Every codec over sessions and a server: results have the bits of the codec alone, for all lanes and data types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanesum import codecs
from lanesum.codecs import THC, NotFiniteError, fixed
from lanesum.codecs.thc import backend
from lanesum.errors import ConfigurationError
from lanesum.server import AggregationServer, ServerJob
from lanesum.session import Session
from lanesum_lab import codec_simulation as simulate
from tests.host.session.workers import LOCALHOST, random_loss, run_workers, tickets_for

pytestmark = pytest.mark.usefixtures("implementation")

WORKERS = 3
# A piece has 2**17 coordinates: the first size takes two pieces, the last block of which is padded.
SIZES = (140_007, 1, 4096, 31)


def gradient(worker: int, size: int, of: Any = np.float32) -> np.ndarray:
    return np.random.default_rng((worker, size)).normal(size=size).astype(of)


def job(server: AggregationServer, codec: codecs.Codec, **fields: Any) -> list[Any]:
    table = None if codec.code_table is None else codec.code_table.tobytes()
    tickets = tickets_for(server, WORKERS, code_table=table, **fields)
    server.aggregator.admit(ServerJob.from_tickets(tickets))
    return tickets


@pytest.mark.parametrize("loss", [0.0, 0.02])
@pytest.mark.parametrize(
    "options",
    [{"bits": 3}, {"bits": 4}, {"bits": 4, "lanes": 16}, {"bits": 5}, {"bits": 8}],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_thc_over_network_has_bits_of_codec_alone(options: dict[str, int], loss: float) -> None:
    codec = THC(workers=WORKERS, **options)
    with AggregationServer((LOCALHOST, 0), loss=random_loss(2, loss)) as server:
        tickets = job(server, codec)

        def work(session: Session) -> list[np.ndarray]:
            return [session.all_reduce(gradient(session.ticket.worker, n), average=True) for n in SIZES]

        results = run_workers(tickets, work, codec=codec)
    for number, size in enumerate(SIZES):
        vectors = [gradient(worker, size) for worker in range(WORKERS)]
        alone = simulate.simulate(codec, vectors, seed=tickets[0].seed, round=number, complete=True)
        for result in results:
            assert result[number].tobytes() == alone.values.tobytes()
        mean = np.mean(vectors, axis=0)
        error = float(np.square(alone.values - mean).sum() / np.square(mean).sum())
        assert error < {3: 0.05, 4: 0.015, 5: 0.005, 8: 0.0002}[codec.bits] or size < 4096


@pytest.mark.parametrize("options", [{"budget": 3.5}, {"error": 0.02}])
def test_widths_over_network_have_bits_of_codec_alone(options: dict[str, float]) -> None:
    """Two tensors are in flight at a time, so that a wrong order of rounds shows; a few packets are lost."""
    codec, sizes = codecs.get("thc", workers=WORKERS, **options), (6000, 2500, 600)
    vectors = [
        [gradient(worker, size) * np.exp(np.arange(size) // 512 % 5).astype(np.float32) for worker in range(WORKERS)]
        for size in sizes
    ]
    with AggregationServer((LOCALHOST, 0), loss=random_loss(1, 0.02)) as server:
        tickets = job(server, codec)

        def work(session: Session) -> list[np.ndarray]:
            pending = [
                session.all_reduce_async(vectors[number % len(sizes)][session.ticket.worker], average=True)
                for number in range(2 * len(sizes))
            ]
            return [one.result() for one in pending]

        results = run_workers(tickets, work, codec=codec)
    for number in range(2 * len(sizes)):
        alone = simulate.simulate(
            codec, vectors[number % len(sizes)], seed=tickets[0].seed, round=number, complete=True
        )
        assert {result[number].tobytes() for result in results} == {alone.values.tobytes()}
        assert len(alone.rounds) > 2 or number % len(sizes) > 0


@pytest.mark.parametrize("codec", ["thc", "fixed", "auto"])
@pytest.mark.parametrize("kind", [np.float16, np.float64, ">f8", np.longdouble])
def test_all_reduce_of_other_floats_returns_float32(codec: str, kind: Any) -> None:
    one = codecs.get(codec, workers=WORKERS)
    given = [gradient(worker, 6000, kind).reshape(60, 100) for worker in range(WORKERS)]
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = job(server, one)
        results = run_workers(
            tickets,
            # Every other row: the array need not be contiguous.
            lambda session: session.all_reduce(given[session.ticket.worker][::2], average=True),
            codec=codec,
        )
    vectors = [x[::2].astype(np.float32).reshape(-1) for x in given]
    alone = simulate.simulate(one, vectors, seed=tickets[0].seed, complete=True)
    for result in results:
        assert result.dtype == np.float32 and result.shape == (30, 100)
        assert result.tobytes() == alone.values.tobytes()


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.bool_, np.complex64, "S3", object])
def test_all_reduce_of_integers_raises_and_session_continues(kind: Any) -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)
        server.aggregator.admit(ServerJob.from_tickets([ticket]))
        with Session(ticket, codec="fixed") as session:
            for call in (session.all_reduce, session.all_reduce_async):
                with pytest.raises(ConfigurationError, match="takes floating-point arrays, not"):
                    call(np.ones(3).astype(kind))
            assert session.all_reduce(np.ones(3, np.float32)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("size", [50, 9000])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", codecs.names())
def test_all_reduce_of_non_finite_value_names_it(name: str, bad: float, size: int) -> None:
    codec = codecs.get(name, workers=1)
    table = None if codec.code_table is None else codec.code_table.tobytes()
    x = gradient(0, size)
    x[37] = bad
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1, code_table=table)
        server.aggregator.admit(ServerJob.from_tickets([ticket]))
        # A policy names the parameter, other codecs also the element.
        place = "gradient of 'layer1'" if name == "policy" else "'layer1': element 37 is -?(nan|inf)"
        with Session(ticket, codec=codec, non_finite="raise") as session, pytest.raises(NotFiniteError, match=place):
            session.all_reduce(x, name="layer1")


@pytest.mark.parametrize("bad", [np.nan, 1e30])  # the second one is beyond the range of fp16
@pytest.mark.parametrize("name", codecs.names())
def test_non_finite_value_is_mean_of_all_workers(name: str, bad: float) -> None:
    """As PyTorch's GradScaler expects: every worker skips the step, and the next steps are not affected."""
    made = [codecs.get(name, workers=WORKERS) for _ in range(WORKERS)]
    adds = not made[0].traits.keeps_error_feedback and not made[0].traits.nearly_exact
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = job(server, made[0])

        def work(session: Session) -> list[np.ndarray]:
            worker = session.ticket.worker
            codec = codecs.ErrorFeedback(made[worker]) if adds else made[worker]
            results = []
            for size in (50, 9000):
                x = gradient(worker, size)
                vectors = [x, x, np.full_like(x, bad) if worker == 1 else x, x, x]
                tensor = f"layer{size}"
                handles = [session.all_reduce_async(one, codec=codec, average=True, name=tensor) for one in vectors]
                results += [handle.result() for handle in handles]
            return results

        results = run_workers(tickets, work, codec="fixed")
    for number, (first, *others) in enumerate(zip(*results, strict=True)):
        assert all(other.tobytes() == first.tobytes() for other in others)
        if number % 5 != 2:
            assert np.isfinite(first).all(), "error feedback has no NaN"
        else:
            assert np.isnan(first).all() == (np.isnan(bad) or name == "fp16")


def test_non_finite_value_raises_on_all_if_configured() -> None:
    for size in (50, 9000):
        with AggregationServer((LOCALHOST, 0)) as server:
            tickets = job(server, codecs.get("fixed", workers=WORKERS))

            def work(session: Session, size: int = size) -> np.ndarray:
                bad = np.nan if session.ticket.worker == 1 else 1
                return session.all_reduce(np.full(size, bad, np.float32), name="layer1")

            outcomes = run_workers(tickets, work, codec="fixed", non_finite="raise", errors=True)
        assert [type(outcome) for outcome in outcomes] == [NotFiniteError] * WORKERS
        assert "'layer1': element 0 is nan" in str(outcomes[1])


def test_invalid_reaction_to_non_finite_values_is_refused() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)
        with pytest.raises(ConfigurationError, match="Invalid non_finite='skip': expected one of mean, raise"):
            Session(ticket, non_finite="skip")


def test_all_reduce_beyond_float32_is_not_finite() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)
        server.aggregator.admit(ServerJob.from_tickets([ticket]))
        with Session(ticket, codec="fixed") as session, np.errstate(over="ignore"):
            assert np.isnan(session.all_reduce(np.array([1, 1e39]))).all()


@pytest.mark.parametrize("codec", ["thc", "fixed", "policy", "thc error=0.01"])
def test_result_in_place_has_bits_of_other_workers(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One worker of three lets the codec overwrite its vectors, of several pieces; two are in flight at a time."""
    monkeypatch.setattr(backend, "_PIECE", 1 << 14)
    monkeypatch.setattr(fixed, "_PIECE", 1 << 14)

    def work(session: Session) -> list[tuple[bytes, bool]]:
        worker, found = session.ticket.worker, []
        for size in SIZES[:2]:
            vectors = [gradient(worker, size) for _ in range(2)]
            pending = [session.all_reduce_async(one, average=True, in_place=worker == 0) for one in vectors]
            results = [one.result() for one in pending]
            found += [
                (one.tobytes(), np.shares_memory(one, vector)) for one, vector in zip(results, vectors, strict=True)
            ]
        return found

    with AggregationServer((LOCALHOST, 0)) as server:
        results = run_workers(job(server, codecs.get(codec, workers=WORKERS)), work, codec=codec)
    assert [[bits for bits, _ in one] for one in results] == [[bits for bits, _ in results[0]]] * WORKERS
    shared = [[shares for _, shares in one] for one in results]
    # Codec fixed gathers a vector of one value, and thc has one width for these ones.
    assert shared[0] == [codec != "policy"] * 2 + [codec.startswith("thc")] * 2
    assert not any(shared[1] + shared[2])


@pytest.mark.parametrize("codec", ["thc", "fixed"])
def test_residual_in_place_is_of_the_vector(codec: str) -> None:
    def work(session: Session) -> tuple[np.ndarray, np.ndarray]:
        vector = gradient(session.ticket.worker, SIZES[0])
        result = session.all_reduce_async(vector, keep_residual=True, in_place=True).codec_result()
        assert result.residual is not None
        np.testing.assert_array_equal(vector, gradient(session.ticket.worker, SIZES[0]))
        return result.values, vector - result.residual

    with AggregationServer((LOCALHOST, 0)) as server:
        results = run_workers(job(server, codecs.get(codec, workers=WORKERS)), work, codec=codec)
    decoded = np.sum([own for _, own in results], axis=0)
    for values, _ in results:
        np.testing.assert_allclose(values, decoded, rtol=0, atol=1e-4)


def test_vector_with_nan_in_place_gives_nan() -> None:
    def work(session: Session) -> list[np.ndarray]:
        vector = gradient(session.ticket.worker, 5000)
        vector[7] = np.nan if session.ticket.worker == 1 else 1
        everywhere = session.all_reduce_async(vector.copy(), in_place=True).result()
        return [everywhere, session.all_reduce_async(vector, in_place=True, elementwise=True).result()]

    codec = codecs.get("fixed", workers=WORKERS)
    with AggregationServer((LOCALHOST, 0)) as server:
        results = run_workers(job(server, codec), work, codec=codec)
    expected = np.sum([gradient(worker, 5000) for worker in range(WORKERS)], axis=0)
    expected[7] = np.nan
    for everywhere, elementwise in results:
        assert np.isnan(everywhere).all()
        np.testing.assert_allclose(elementwise, expected, rtol=1e-5, atol=1e-5)
