# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rounds that are encoded and decoded in pieces have the packets and sums of whole rounds."""

from __future__ import annotations

import random
import socket
import threading
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanesum._internal.native import VARIABLE
from lanesum.codecs import fixed
from lanesum.codecs.base import Codec, RoundPieces
from lanesum.codecs.error_feedback import ErrorFeedback
from lanesum.codecs.fixed import FixedPoint
from lanesum.codecs.thc.codec import THC
from lanesum.protocol import Header, Kind, LaneOp, Packet
from lanesum.server import AggregationServer, ServerJob
from lanesum.session import Session
from lanesum.transport import JobTicket
from lanesum.transport.errors import AggregationTimeoutError, SessionClosedError
from lanesum.transport.native_engine import NativeRoundSequence, NativeRoundState
from lanesum_lab.baselines.thc_paper.codec import PaperTHC
from tests.free_ports import LOCALHOST, free_address
from tests.waiting import with_longer_deadlines

SIZE = 20_000  # values of five pieces


@pytest.fixture(autouse=True)
def with_native(native: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "required")
    monkeypatch.setattr(fixed, "_PIECE", 1 << 12)


def ticket(worker: int, workers: int, **fields: Any) -> JobTicket:
    values: dict[str, Any] = {"job": 3, "tag": 99, "slots": 64, "seed": 5, "local": free_address(), **fields}
    return JobTicket(worker=worker, workers=workers, **values)


def codec(name: str, workers: int) -> Codec:
    if name == "fixed":
        return FixedPoint(workers=workers)
    if name == "error feedback":
        return ErrorFeedback(THC(workers=workers))
    if name == "thc":
        return THC(workers=workers)
    return PaperTHC(workers=workers, chunk=1 << 12, codes="uniform" if name == "thc-uniform" else "table")


class WrappedSocket:
    """A socket that the native extension does not use, so its session supports no pieces."""

    def __init__(self, sock: socket.socket) -> None:
        self.send, self.recv_into, self.fileno, self.close = sock.send, sock.recv_into, sock.fileno, sock.close
        self.getsockopt = sock.getsockopt


@pytest.mark.parametrize("loss", [0.0, 0.05])
@pytest.mark.parametrize("name", ["thc", "thc-paper", "thc-uniform", "fixed", "error feedback"])
def test_workers_with_and_without_pieces_have_equal_sums(name: str, loss: float) -> None:
    """Two of three workers use pieces; several rounds, with vectors of one piece between them."""
    generator = np.random.default_rng(7)
    sizes = (SIZE, 100, SIZE + 1, 4096)
    vectors = [[generator.standard_normal(size).astype(np.float32) for size in sizes] for _ in range(3)]
    lost = random.Random(1)
    results: list[list[Any]] = [[] for _ in range(3)]
    tickets = [ticket(worker, 3, code_table=_table(name)) for worker in range(3)]

    def work(worker: int, server: AggregationServer) -> None:
        options: dict[str, Any] = {"wrap_socket": WrappedSocket} if worker == 2 else {}
        one = JobTicket(**{**_fields(tickets[worker]), "servers": (server.address,)})
        with Session(one, codec=codec(name, 3), **options) as session:
            assert session._transport.supports_withheld == (worker != 2)
            for vector in vectors[worker]:
                results[worker].append(session.all_reduce(vector, name=f"of {vector.size}"))

    with AggregationServer((LOCALHOST, 0), loss=lambda *_: lost.random() < loss) as server:
        server.admit(ServerJob.from_tickets(tickets))
        threads = [threading.Thread(target=work, args=(worker, server)) for worker in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for number, size in enumerate(sizes):
        first = results[0][number]
        assert first.shape == (size,)
        for worker in (1, 2):
            assert results[worker][number].tobytes() == first.tobytes()
        exact = np.sum([vectors[worker][number] for worker in range(3)], axis=0, dtype=np.float64)
        error = float(np.square(first - exact).sum() / np.square(exact).sum())
        assert error < (1e-12 if name == "fixed" else 0.1)


def _fields(one: JobTicket) -> dict[str, Any]:
    return {name: getattr(one, name) for name in JobTicket.__slots__}


def _table(name: str) -> bytes | None:
    table = None if name == "fixed" else codec(name, 3).code_table
    return None if table is None else table.tobytes()


@settings(max_examples=60, deadline=None)
@given(data=st.data(), words=st.integers(1, 60), slots=st.integers(1, 6), window=st.integers(1, 6))
def test_withheld_words_are_sent_only_after_release(
    data: st.DataObject, native: ModuleType, words: int, slots: int, window: int
) -> None:
    """With results in any order and windows of any size, packets have only released words, and all are sent."""
    one = JobTicket(job=1, tag=2, worker=0, workers=1, slots=slots, accumulator_words=2)
    rounds = NativeRoundSequence(one, window=window)
    encoded = np.full(words, 0xDEAD, np.uint32)
    round_ = rounds.start(LaneOp.ADD32, encoded, withheld=True)
    released, now = 0, 0.0
    in_flight: list[Header] = []
    while not round_.complete:
        now += 1e-3
        for datagram in rounds.due(now):
            packet = Packet.unpack(bytes(datagram))
            chunk = packet.header.chunk
            sent = packet.payload[: words - 2 * chunk]
            assert 2 * chunk + sent.size <= released, "a packet has words that were not released"
            np.testing.assert_array_equal(sent, np.arange(2 * chunk, 2 * chunk + sent.size))
            in_flight.append(packet.header)
        if released < words and (not in_flight or data.draw(st.booleans())):
            more = data.draw(st.integers(1, words - released))
            encoded[released : released + more] = np.arange(released, released + more)
            released += more
            round_.release(released)
        elif in_flight:
            header = in_flight.pop(data.draw(st.integers(0, len(in_flight) - 1)))
            header.kind, header.workers, header.fan_in_workers, header.words = Kind.RESULT, 1, 1, 2
            payload = np.arange(2 * header.chunk, 2 * header.chunk + 2, dtype=np.uint32)
            rounds.receive(Packet(header, payload).pack(), now)
        done = min(2 * round_.done_chunks, words)
        np.testing.assert_array_equal(round_.arriving()[:done], np.arange(done))
    assert released == words
    np.testing.assert_array_equal(round_.result(), np.arange(words))


def test_pieces_of_bit_planes_are_whole_groups() -> None:
    """Three uplink words become eight accumulator words."""
    used: list[list[int]] = []
    pieces = RoundPieces(lambda _: None, lambda _, words: used.append(words.tolist()), [3, 9], LaneOp.EXPAND3TO8.shape)
    pieces.encode_all()
    pieces.decode_up_to(24, np.arange(24, dtype=np.uint32))
    assert used == [list(range(8)), list(range(8, 24))]


def test_pieces_are_encoded_and_decoded_once_in_order() -> None:
    seen: list[tuple[str, int, list[int]]] = []
    sums = np.arange(12, dtype=np.uint32)
    pieces = RoundPieces(
        lambda number: seen.append(("encode", number, [])),
        lambda number, words: seen.append(("decode", number, words.tolist())),
        [1, 4, 6],
        LaneOp.EXPAND8.shape,
    )
    assert (pieces.encode_next(), pieces.encode_next(), pieces.needed) == (1, 4, 2)
    pieces.decode_up_to(1, sums)
    pieces.decode_up_to(9, sums)
    pieces.encode_all()
    pieces.decode_up_to(12, sums)
    pieces.decode_up_to(12, sums)
    decoded = [("decode", 0, [0, 1]), ("decode", 1, [2, 3, 4, 5, 6, 7]), ("decode", 2, [8, 9, 10, 11])]
    assert [one for one in seen if one[0] == "decode"] == decoded
    assert [number for kind, number, _ in seen if kind == "encode"] == [0, 1, 2]


def test_silent_worker_ends_round_with_its_number() -> None:

    def attempt(deadline_s: float) -> None:
        tickets = [ticket(worker, 2) for worker in range(2)]
        with AggregationServer((LOCALHOST, 0)) as server:
            server.admit(ServerJob.from_tickets(tickets))
            one = JobTicket(**{**_fields(tickets[0]), "servers": (server.address,)})
            with Session(one, codec=codec("fixed", 2), deadline_s=deadline_s) as session:
                words = np.arange(SIZE, dtype=np.uint32)
                transport = session._transport
                with pytest.raises(AggregationTimeoutError) as caught:
                    round_ = transport.begin_round(LaneOp.ADD32, words, withheld=True)
                    assert isinstance(round_, NativeRoundState)
                    for end in (9_000, SIZE):
                        transport.release(round_, end)
                    transport.wait([round_])
                assert caught.value.missing == (1,)
                with pytest.raises(SessionClosedError):
                    session.all_reduce(np.ones(4, np.float32))

    with_longer_deadlines(attempt)


def test_quorum_supports_no_pieces() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        one = ticket(0, 2, quorum=1, servers=(server.address,))
        other = ticket(1, 2, quorum=1, servers=(server.address,))
        server.admit(ServerJob.from_tickets([one, other]))
        with Session(one, codec=codec("thc-uniform", 2)) as session, Session(other):
            assert not session._transport.supports_withheld
            vector = np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)
            error = np.square(session.all_reduce(vector) - vector).sum() / np.square(vector).sum()
            assert error < 0.1
