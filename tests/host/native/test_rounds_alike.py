# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Both implementations of a worker's rounds send the same bytes at the same times, whatever comes to them."""

from __future__ import annotations

import collections
import dataclasses
import random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import HEADER, HEADER_BYTES, UDP_PORT, Flag, Kind
from lanesum.transport.constants import INITIAL_PTO_S, MAX_PTO_S, MAX_ROUNDS_IN_FLIGHT, MIN_PTO_S
from lanesum.transport.errors import MismatchError, TransportError
from lanesum.transport.native_rounds import NativeRoundSequence, NativeRoundState
from lanesum.transport.round_sequence import RoundSequence
from lanesum.transport.round_state import RoundState
from lanesum.transport.stats import TransportStats
from lanesum.transport.ticket import JobTicket

EPOCHS = 1 << 32
PLACES: tuple[tuple[tuple[int, int], ...], ...] = (
    (),
    ((0, 0), (0, 1), (2, 0), (2, 5)),
    ((0, 0), (0, 1), (1, 0), (1, 1), (1, 31)),
    ((0, 0), (0, 1), (0, 2)),
    tuple((rack, bit) for rack in range(10) for bit in range(30)),
)
LATER_S = (0.0, 0.0, 1e-4, 1e-3, MIN_PTO_S / 4, MIN_PTO_S, INITIAL_PTO_S, MAX_PTO_S)


def make_ticket(dice: random.Random) -> JobTicket:
    places = dice.choice(PLACES)
    workers = len(places) or dice.choice((1, 2, 3, 32))
    return JobTicket(
        job=dice.getrandbits(16),
        tag=dice.getrandbits(32),
        worker=dice.randrange(workers),
        workers=workers,
        slots=dice.choice((1, 2, 3, 5, 16, 40)),
        accumulator_words=dice.choice((2, 3, 8, 64)),
        epoch=dice.choice((0, EPOCHS - 1, EPOCHS - 2, dice.getrandbits(32))),
        quorum=dice.choice((0, 0, 1, workers - workers // 3)),
        places=places,
        servers=tuple((f"10.0.0.{number}", UDP_PORT) for number in range(dice.choice((1, 1, 2, 3, 7)))),
    )


class Both:
    """Two rounds of one worker: whatever is done with one is done with the other, and compared.

    Args:
        strange: share of datagrams that something is wrong with.
    """

    def __init__(self, native: ModuleType, dice: random.Random, strange: float) -> None:
        self.ticket = make_ticket(dice)
        self.now = dice.choice((0.0, 1234.5678))
        self.done: collections.Counter[str] = collections.Counter()
        self._dice = dice
        self._strange = strange
        options: dict[str, Any] = {
            "window": dice.choice((1, 2, 5, 40)),
            "congestion": dice.choice(("aimd", "fixed")),
            "pacing": dice.random() < 0.3,
        }
        self._python = RoundSequence(self.ticket, **options)
        self._native = NativeRoundSequence(self.ticket, **options)
        self._in_flight = dice.choice((1, 1, 2, 3, MAX_ROUNDS_IN_FLIGHT))
        self._windows: list[tuple[RoundState, NativeRoundState]] = []
        self._sent: dict[tuple[int, int], None] = {}  # epochs and chunks that were sent, in that order

    def step(self) -> None:
        """Something happens."""
        dice = self._dice
        if len(self._windows) < self._in_flight and self._python.can_start and dice.random() < 0.5:
            self._start()
        for one in [one for one in self._windows if one[0].complete and dice.random() < 0.5]:
            self._finish(*one)
        for _ in range(dice.choice((0, 1, 1, 2, 8))):
            self._receive(self._datagram())
        if dice.random() < 0.8:
            self._due()
        self._compare()
        left_s = self._python.next_timeout(self.now)
        self.now += left_s if left_s is not None and dice.random() < 0.3 else dice.choice(LATER_S)

    def stats(self) -> TransportStats:
        return self._native.stats

    def _start(self) -> None:
        dice = self._dice
        op = dice.choice(self.ticket.ops)
        groups = dice.choice((0, 1, 7, 64, 500)) // op.shape.uplink_words_per_group
        words = np.frombuffer(dice.randbytes(4 * groups * op.shape.uplink_words_per_group), np.uint32)
        window, compiled = self._python.start(op, words), self._native.start(op, words)
        assert (compiled.chunks, compiled.epoch, compiled.size) == (window.chunks, window.epoch, window.size)
        self._windows.append((window, compiled))
        self.done[f"{len(self._windows)} in flight"] += 1

    def _finish(self, window: RoundState, compiled: NativeRoundState) -> None:
        self.done["finished behind another"] += window is not self._windows[0][0]
        self._python.finish(window)
        self._native.finish(compiled)
        # Between rounds too: that is when a transport asks for them.
        self._compare_results(window, compiled)
        self._windows.remove((window, compiled))
        self.done["rounds"] += 1

    def _due(self) -> None:
        expected = [bytes(datagram) for datagram in self._python.due(self.now)]
        assert [bytes(datagram) for datagram in self._native.due(self.now)] == expected
        for datagram in expected:
            header = Header.unpack(datagram)
            self.done[f"sent with {Flag(header.flags)!r}"] += 1
            self._sent[header.epoch, header.chunk] = None

    def _datagram(self) -> bytes:
        """What an aggregation point may answer, or nearly so."""
        dice, ticket = self._dice, self.ticket
        kind = dice.choices((Kind.RESULT, Kind.PENDING, Kind.CONFLICT, Kind.CONTRIBUTION), (60, 30, 1, 1))[0]
        window = dice.choice(self._windows)[0] if self._windows else None
        epoch = self._python.epoch if window is None else window.epoch
        waiting = [chunk for of, chunk in self._sent if of == epoch and (window is None or not window.is_done(chunk))]
        chunks = 8 if window is None else window.chunks
        chunk = dice.choice(waiting) if waiting and dice.random() < 0.7 else dice.randrange(chunks + 2)
        epoch = (epoch - dice.choice((0,) * 20 + (1, 1, 1, 2, 3, -1))) % EPOCHS
        members = ticket.rack_members
        header = Header(
            kind=kind, job=ticket.job, tag=ticket.tag, epoch=epoch, chunk=chunk,
            op=int(window.size.op) if window else dice.randrange(6),
            flags=dice.choice((0, 0, 0, Flag.ECN, Flag.COLLISION, Flag.RETRANSMISSION, Flag.COLLISION | Flag.ECN)),
        )  # fmt: skip
        payload: list[int] = []
        bitmaps = [workers & dice.choice((workers, workers, dice.getrandbits(32))) for workers in members]
        racks = sum(1 << rack for rack, workers in enumerate(members) if workers & bitmaps[rack])
        if kind == Kind.RESULT:
            payload = [dice.getrandbits(32) for _ in range(ticket.accumulator_words)]
            header.workers, header.racks = members[0], sum(1 << rack for rack, one in enumerate(members) if one)
            if dice.random() < (0.5 if ticket.quorum else 0.05):
                header.flags |= Flag.PARTIAL
                header.workers, header.racks = bitmaps[0], racks
                payload += bitmaps if ticket.places and dice.random() < 0.9 else []
        elif kind == Kind.PENDING:
            header.flags |= dice.choice((0, Flag.BYPASS, Flag.BYPASS, Flag.UPPER))
            header.flags |= Flag.GONE if dice.random() < 0.03 else 0
            header.workers, header.racks = dice.choice(bitmaps), dice.choice((racks, dice.getrandbits(32)))
        elif kind == Kind.CONFLICT:
            header.flags |= dice.choice((0, Flag.UPPER))
            header.workers, header.racks, header.op = dice.getrandbits(4), dice.getrandbits(32), dice.randrange(8)
            header.fan_in_workers, header.fan_in_racks = dice.choice((ticket.worker & 0xFF, 0, 255)), dice.randrange(8)
        return self._spoil(Packet(header, np.array(payload, np.uint32)).pack())

    def _spoil(self, datagram: bytes) -> bytes:
        dice = self._dice
        if dice.random() < self._strange:
            field = dice.choice(HEADER)
            value = dice.choice((0, 1, dice.getrandbits(field.bits)))
            header = dataclasses.replace(Header.unpack(datagram), **{field.name: value})
            datagram = header.pack() + datagram[HEADER_BYTES:]
        if dice.random() < self._strange:
            datagram = dice.choice((datagram[: dice.randrange(len(datagram))], datagram + bytes(dice.choice((1, 4)))))
        return datagram

    def _receive(self, datagram: bytes) -> None:
        outcomes = []
        for rounds in (self._python, self._native):
            try:
                outcomes.append((rounds.receive(memoryview(datagram), self.now), [], None))
            except TransportError as error:
                last = [bytes(one) for one in rounds.final_datagrams()] if isinstance(error, MismatchError) else []
                outcomes.append((type(error), last, error.__reduce__()))
        assert outcomes[1] == outcomes[0]
        self.done[str(outcomes[0][0])] += 1
        self._compare_numbers()

    def _compare(self) -> None:
        """All that can be seen of the two."""
        python, native = self._python, self._native
        self._compare_numbers()
        assert native.missing_workers() == python.missing_workers()
        assert (native.answered, native.epoch, native.position) == (python.answered, python.epoch, python.position)
        for compiled, path in zip(native._link.paths, python._link.paths, strict=True):
            assert (compiled.sequence, compiled.min_request_interval_s) == (path.sequence, path.min_request_interval_s)
            for name in ("shortest_s", "queued", "loss_delay_s", "probe_timeout_s"):
                assert getattr(compiled.rtt, name) == getattr(path.rtt, name)
        for slot in range(self.ticket.slots):
            assert native._link.slot_backoff.bypasses(slot) == python._link.slot_backoff.bypasses(slot)
        assert native.can_start == python.can_start
        for one in self._windows:
            self._compare_results(*one)

    def _compare_numbers(self) -> None:
        python, native = self._python, self._native
        assert native.next_timeout(self.now) == python.next_timeout(self.now)
        assert native.stats == python.stats
        assert native._link.congestion.congestion_window == python._link.congestion.congestion_window
        assert (native._link.sequence, native._link.unanswered_probes) == (
            python._link.sequence,
            python._link.unanswered_probes,
        )

    def _compare_results(self, window: RoundState, compiled: NativeRoundState) -> None:
        assert (compiled.complete, compiled.answered) == (window.complete, window.answered)
        assert (compiled.done_chunks, compiled.retired) == (window.done_chunks, window.retired)
        assert (compiled.refused_results, compiled.missing_workers()) == (
            window.refused_results,
            window.missing_workers(),
        )
        chunks = range(window.chunks + 2)
        assert [compiled.is_done(chunk) for chunk in chunks] == [window.is_done(chunk) for chunk in chunks]
        np.testing.assert_array_equal(compiled.contributors(), window.contributors())
        if window.complete:
            assert compiled.result().dtype == np.uint32
            np.testing.assert_array_equal(compiled.result(), window.result())


def run_both(native: ModuleType, seed: int, steps: int, strange: float) -> Both:
    both = Both(native, random.Random(seed), strange)
    for _ in range(steps):
        both.step()
    return both


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 200), strange=st.sampled_from((0.0, 0.02, 0.3)))
def test_both_do_the_same(native: ModuleType, seed: int, steps: int, strange: float) -> None:
    run_both(native, seed, steps, strange)


def test_everything_happens_to_them(native: ModuleType) -> None:
    """Nothing is compared by traffic in which nothing happens."""
    total, done = TransportStats(), collections.Counter[str]()
    for seed in range(80):
        both = run_both(native, seed, 200, 0.02)
        total += both.stats()
        done += both.done
    assert all(count > 0 for count in total.counts().values()), total
    assert total.latency.count > 60
    assert total.rounds == done["rounds"] > 60
    for outcome in ("True", "False", "MismatchError", "ResultGoneError"):
        assert sum(count for name, count in done.items() if outcome in name) > 5, done
    assert done[f"{MAX_ROUNDS_IN_FLIGHT} in flight"] > 5 and done["finished behind another"] > 5, done
    for flags in (Flag(0), Flag.RETRANSMISSION, Flag.BYPASS, Flag.RETRANSMISSION | Flag.BYPASS):
        assert done[f"sent with {flags!r}"] > 50, done


def test_results_outlive_their_rounds(native: ModuleType) -> None:
    """They are the compiled window's own memory."""
    to = JobTicket(job=1, tag=2, worker=0, workers=1, slots=4, accumulator_words=2)
    rounds = NativeRoundSequence(to)
    window = rounds.start(LaneOp.ADD32, np.arange(4, dtype=np.uint32))
    rounds.due(0.0)
    for chunk in range(2):
        header = Header(kind=Kind.RESULT, job=1, tag=2, chunk=chunk, workers=1, fan_in_workers=1)
        assert rounds.receive(Packet(header, np.array([chunk, 7], np.uint32)).pack(), 0.0)
    rounds.finish(window)
    result, contributors = window.result(), window.contributors()
    del rounds, window
    assert result.tolist() == [0, 7, 1, 7]
    assert contributors.tolist() == [[1], [1]]


def test_what_was_sent_is_kept_and_not_the_callers_words(native: ModuleType) -> None:
    """A caller may use its memory again as soon as the round has ended."""
    to = JobTicket(job=1, tag=2, worker=0, workers=2, slots=4, accumulator_words=2)
    rounds = NativeRoundSequence(to)
    words = np.arange(4, dtype=np.uint32)
    window = rounds.start(LaneOp.ADD32, words)
    first = [bytes(datagram) for datagram in rounds.due(0.0)]
    for chunk in range(2):
        header = Header(kind=Kind.RESULT, job=1, tag=2, chunk=chunk, workers=3, fan_in_workers=2)
        rounds.receive(Packet(header, np.zeros(2, np.uint32)).pack(), 0.0)
    rounds.finish(window)
    words[:] = 99
    rounds.receive(Header(kind=Kind.PENDING, job=1, tag=2, chunk=1, workers=2).pack(), 1.0)
    (again,) = rounds.due(1.0)
    assert bytes(again[HEADER_BYTES:]) == first[1][HEADER_BYTES:]


def test_words_of_a_round_that_ends_before_an_earlier_one_are_free_too(native: ModuleType) -> None:
    """Others may lack its chunks for as long as the earlier round lasts, and the caller does not wait for that."""
    to = JobTicket(job=1, tag=2, worker=0, workers=2, slots=4, accumulator_words=2)
    rounds = NativeRoundSequence(to)
    rounds.start(LaneOp.ADD32, np.arange(2, dtype=np.uint32))
    words = np.arange(2, dtype=np.uint32)
    window = rounds.start(LaneOp.ADD32, words)
    first = [bytes(datagram) for datagram in rounds.due(0.0)]
    header = Header(kind=Kind.RESULT, job=1, tag=2, epoch=1, workers=3, fan_in_workers=2)
    rounds.receive(Packet(header, np.zeros(2, np.uint32)).pack(), 0.0)
    rounds.finish(window)
    words[:] = 99
    rounds.receive(Header(kind=Kind.PENDING, job=1, tag=2, epoch=1, workers=2).pack(), 1e-3)
    again = [bytes(datagram) for datagram in rounds.due(1e-3)][-1]
    assert Header.unpack(again).epoch == 1
    assert bytes(again[HEADER_BYTES:]) == first[1][HEADER_BYTES:]


def test_an_unknown_congestion_control_is_refused(native: ModuleType) -> None:
    with pytest.raises(ConfigurationError, match="no congestion control 'cubic'"):
        NativeRoundSequence(make_ticket(random.Random(1)), congestion="cubic")
