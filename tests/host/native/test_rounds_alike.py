# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Both implementations of a worker's rounds send the same bytes at the same times, for all input."""

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

from lanesum.aggregation.combine import combine, expand
from lanesum.protocol.lanes import Combine, LaneOp, certified_data_words
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import HEADER, HEADER_BYTES, UDP_PORT, Flag, Kind
from lanesum.transport.certification import check_modulus
from lanesum.transport.constants import INITIAL_PTO_S, MAX_PTO_S, MAX_ROUNDS_IN_FLIGHT, MIN_PTO_S
from lanesum.transport.errors import MismatchError, TransportError
from lanesum.transport.native_engine import NativeRoundSequence, NativeRoundState
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


def make_ticket(rng: random.Random) -> JobTicket:
    places = rng.choice(PLACES)
    workers = len(places) or rng.choice((1, 2, 3, 32))
    accumulator_words = rng.choice((2, 3, 8, 64))
    return JobTicket(
        job=rng.getrandbits(16),
        tag=rng.getrandbits(32),
        worker=rng.randrange(workers),
        workers=workers,
        slots=rng.choice((1, 2, 3, 5, 16, 40)),
        accumulator_words=accumulator_words,
        epoch=rng.choice((0, EPOCHS - 1, EPOCHS - 2, rng.getrandbits(32))),
        quorum=rng.choice((0, 0, 1, workers - workers // 3)),
        places=places,
        servers=tuple((f"10.0.0.{number}", UDP_PORT) for number in range(rng.choice((1, 1, 2, 3, 7)))),
        seed=rng.getrandbits(64),
        certified=rng.random() < 0.5 and certified_data_words(LaneOp.OR, accumulator_words, workers) > 0,
    )


class BothSequences:
    """Python and native rounds of one worker, which receive the same calls and are compared.

    Args:
        rng: draws the job, its rounds and the answers.
        damage: share of damaged datagrams.
    """

    def __init__(self, rng: random.Random, damage: float) -> None:
        self.ticket = make_ticket(rng)
        self.now = rng.choice((0.0, 1234.5678))
        self.done: collections.Counter[str] = collections.Counter()
        self._rng = rng
        self._damage = damage
        self._right = rng.choice((0.9, 0.9, 0.0))  # share of certified results that pass their check
        options: dict[str, Any] = {
            "window": rng.choice((1, 2, 5, 40)),
            "congestion": rng.choice(("aimd", "fixed")),
            "pacing": rng.random() < 0.3,
        }
        self._python = RoundSequence(self.ticket, **options)
        self._native = NativeRoundSequence(self.ticket, **options)
        self._in_flight = rng.choice((1, 1, 2, 3, MAX_ROUNDS_IN_FLIGHT))
        self._in_flight_rounds: list[tuple[RoundState, NativeRoundState]] = []
        self._sent: dict[tuple[int, int], None] = {}  # epochs and chunks, in the order of sending
        self._opening: RoundState | None = None
        if rng.random() < 0.5:
            self._start(opening=True)

    def step(self) -> None:
        """Run one random step."""
        rng = self._rng
        may_start = self._opening is None and len(self._in_flight_rounds) < self._in_flight
        if may_start and self._python.can_start and rng.random() < 0.5:
            self._start()
        for one in [one for one in self._in_flight_rounds if one[0].complete and rng.random() < 0.5]:
            self._finish(*one)
        for _ in range(rng.choice((0, 1, 1, 2, 8))):
            self._receive(self._datagram())
        if rng.random() < 0.8:
            self._due()
        self._compare()
        left_s = self._python.next_timeout(self.now)
        self.now += left_s if left_s is not None and rng.random() < 0.3 else rng.choice(LATER_S)

    def stats(self) -> TransportStats:
        return self._native.stats

    def _start(self, *, opening: bool = False) -> None:
        rng = self._rng
        op = LaneOp.OR if opening else rng.choice(self.ticket.ops)
        scattered = not opening and rng.random() < 0.15
        gathered = not (opening or scattered or op.shape.widens or self.ticket.quorum) and rng.random() < 0.3
        groups = rng.choice((0, 1, 7, 64, 500)) // op.shape.uplink_words_per_group
        if scattered:
            groups = groups // self.ticket.workers * self.ticket.workers
        words = np.frombuffer(rng.randbytes(4 * groups * op.shape.uplink_words_per_group), np.uint32)
        if gathered:
            words = words[: len(words) // self.ticket.workers]
        kind: dict[str, Any] = {"opening": opening, "scattered": scattered, "gathered": gathered}
        python, native = self._python.start(op, words, **kind), self._native.start(op, words, **kind)
        self.done["scattered"] += scattered
        self.done["gathered"] += gathered
        self._opening = python if opening else None
        assert (native.chunks, native.epoch, native.size) == (python.chunks, python.epoch, python.size)
        self._in_flight_rounds.append((python, native))
        self.done[f"{len(self._in_flight_rounds)} in flight"] += 1

    def _finish(self, python: RoundState, native: NativeRoundState) -> None:
        self.done["finished behind another"] += python is not self._in_flight_rounds[0][0]
        self._python.finish(python)
        self._native.finish(native)
        # Between rounds too, when a transport asks for them.
        self._compare_results(python, native)
        self._in_flight_rounds.remove((python, native))
        if python is not self._opening:
            self.done["rounds"] += 1
        else:
            self._opening = None
            epoch = python.epoch + self._rng.choice((1, self._rng.getrandbits(32)))
            self._python.continue_at(epoch % (1 << 32))
            self._native.continue_at(epoch % (1 << 32))
            self.done["openings"] += 1

    def _due(self) -> None:
        expected = [bytes(datagram) for datagram in self._python.due(self.now)]
        assert [bytes(datagram) for datagram in self._native.due(self.now)] == expected
        for datagram in expected:
            header = Header.unpack(datagram)
            self.done[f"sent with {Flag(header.flags)!r}"] += 1
            self._sent[header.epoch, header.chunk] = None

    def _datagram(self) -> bytes:
        """Return an answer of an aggregation point, or nearly one."""
        rng, ticket = self._rng, self.ticket
        kind = rng.choices((Kind.RESULT, Kind.PENDING, Kind.CONFLICT, Kind.CONTRIBUTION), (60, 30, 1, 1))[0]
        round_ = rng.choice(self._in_flight_rounds)[0] if self._in_flight_rounds else None
        epoch = self._python.epoch if round_ is None else round_.epoch
        waiting = [chunk for of, chunk in self._sent if of == epoch and (round_ is None or not round_.is_done(chunk))]
        chunks = 8 if round_ is None else round_.chunks
        chunk = rng.choice(waiting) if waiting and rng.random() < 0.7 else rng.randrange(chunks + 2)
        epoch = (epoch - rng.choice((0,) * 20 + (1, 1, 1, 2, 3, -1))) % EPOCHS
        members = ticket.rack_members
        header = Header(
            kind=kind, job=ticket.job, tag=ticket.tag, epoch=epoch, chunk=chunk,
            op=int(round_.size.op) if round_ else rng.randrange(6),
            flags=rng.choice((0, 0, 0, Flag.ECN, Flag.COLLISION, Flag.RETRANSMISSION, Flag.COLLISION | Flag.ECN)),
        )  # fmt: skip
        payload: list[int] = []
        bitmaps = [workers & rng.choice((workers, workers, rng.getrandbits(32))) for workers in members]
        racks = sum(1 << rack for rack, workers in enumerate(members) if workers & bitmaps[rack])
        if kind == Kind.RESULT:
            payload = [rng.getrandbits(32) for _ in range(ticket.accumulator_words)]
            header.workers, header.racks = members[0], sum(1 << rack for rack, one in enumerate(members) if one)
            header.flags |= rng.choice((0, Flag.BYPASS))
            if rng.random() < (0.5 if ticket.quorum else 0.05):
                header.flags |= Flag.PARTIAL
                header.workers, header.racks = bitmaps[0], racks
                payload += bitmaps if ticket.places and rng.random() < 0.9 else []
            elif round_ is not None and round_.certified and rng.random() < self._right:
                payload = self._certified(round_, header, payload)
            if rng.random() < (0.02 if round_ is None or round_.needs_words(chunk) else 0.7):
                payload = payload[ticket.accumulator_words :]
                self.done["header-only"] += 1
        elif kind == Kind.PENDING:
            header.flags |= rng.choice((0, Flag.BYPASS, Flag.BYPASS, Flag.UPPER))
            header.flags |= Flag.GONE if rng.random() < 0.03 else 0
            header.workers, header.racks = rng.choice(bitmaps), rng.choice((racks, rng.getrandbits(32)))
        elif kind == Kind.CONFLICT:
            header.flags |= rng.choice((0, Flag.UPPER))
            header.workers, header.racks, header.op = rng.getrandbits(4), rng.getrandbits(32), rng.randrange(8)
            header.fan_in_workers, header.fan_in_racks = rng.choice((ticket.worker & 0xFF, 0, 255)), rng.randrange(8)
        return self._damaged(Packet(header, np.array(payload, np.uint32)).pack())

    def _certified(self, round_: RoundState, header: Header, words: list[int]) -> list[int]:
        """Return the accumulator words of a result of all workers that passes its check."""
        ticket, op = self.ticket, LaneOp(round_.size.op)
        certification = self._python._link.certification
        assert certification is not None
        zeros = np.zeros((header.chunk + 1, op.shape.uplink_words(ticket.data_words(op))), np.uint32)
        size = ticket.data_words(op)
        checks = np.zeros(ticket.accumulator_words - size, np.uint32)
        owner = round_._turns.place(header.chunk)[0]
        for worker in (owner,) if round_.size.gathered else range(ticket.workers):
            certification._ticket = dataclasses.replace(ticket, worker=worker)
            packet = certification.uplink_packets(op, zeros, header.epoch)[header.chunk]
            checks = combine(op, checks, expand(op, packet)[size:])
        certification._ticket = ticket
        if op.shape.combine is not Combine.ADD:
            return words[:size] * 2 + checks[size:].tolist()
        modulus = check_modulus(op, ticket.workers)
        total = sum(int(word) << op.shape.shift * index for index, word in enumerate(checks)) % (1 << 32)
        right = (total + int(certification._products(np.array(words[:size], np.uint32), modulus))) % modulus
        return [*words[:size], (int(checks[0]) + right - total) % (1 << 32), *checks[1:].tolist()]

    def _damaged(self, datagram: bytes) -> bytes:
        rng = self._rng
        if rng.random() < self._damage:
            field = rng.choice(HEADER)
            value = rng.choice((0, 1, rng.getrandbits(field.bits)))
            header = dataclasses.replace(Header.unpack(datagram), **{field.name: value})
            datagram = header.pack() + datagram[HEADER_BYTES:]
        if rng.random() < self._damage:
            datagram = rng.choice((datagram[: rng.randrange(len(datagram))], datagram + bytes(rng.choice((1, 4)))))
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
        """Compare everything that both report."""
        python, native = self._python, self._native
        self._compare_numbers()
        assert native.missing_workers() == python.missing_workers()
        assert (native.answered, native.epoch, native.position) == (python.answered, python.epoch, python.position)
        for other, path in zip(native._link.paths, python._link.paths, strict=True):
            assert (other.sequence, other.min_request_interval_s) == (path.sequence, path.min_request_interval_s)
            for name in ("shortest_s", "queued", "loss_delay_s", "probe_timeout_s"):
                assert getattr(other.rtt, name) == getattr(path.rtt, name)
        for slot in range(self.ticket.slots):
            assert native._link.slot_backoff.bypasses(slot) == python._link.slot_backoff.bypasses(slot)
        assert native.can_start == python.can_start
        for one in self._in_flight_rounds:
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

    def _compare_results(self, python: RoundState, native: NativeRoundState) -> None:
        assert (native.complete, native.answered) == (python.complete, python.answered)
        assert (native.done_chunks, native.retired) == (python.done_chunks, python.retired)
        assert (native.refused_results, native.missing_workers()) == (
            python.refused_results,
            python.missing_workers(),
        )
        assert native.failed_results == python.failed_results
        chunks = range(python.chunks + 2)
        assert [native.is_done(chunk) for chunk in chunks] == [python.is_done(chunk) for chunk in chunks]
        np.testing.assert_array_equal(native.contributors(), python.contributors())
        if python.complete:
            assert native.result().dtype == np.uint32
            np.testing.assert_array_equal(native.result(), python.result())


def run_both(seed: int, steps: int, damage: float) -> BothSequences:
    both = BothSequences(random.Random(seed), damage)
    for _ in range(steps):
        both.step()
    return both


@pytest.mark.long
@settings(max_examples=150)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 200), damage=st.sampled_from((0.0, 0.02, 0.3)))
def test_implementations_behave_alike(native: ModuleType, seed: int, steps: int, damage: float) -> None:
    run_both(seed, steps, damage)


@pytest.mark.long
def test_random_steps_cover_all_events(native: ModuleType) -> None:
    """A comparison proves nothing about events that never happen."""
    total, done = TransportStats(), collections.Counter[str]()
    for seed in range(160):
        both = run_both(seed, 200, 0.02)
        total += both.stats()
        done += both.done
    assert all(count > 0 for count in total.counts().values()), total
    assert total.latency.count > 60
    assert done["openings"] > 10
    assert total.rounds == done["rounds"] > 60
    for outcome in ("True", "False", "MismatchError", "ResultGoneError", "CertificationError"):
        assert sum(count for name, count in done.items() if outcome in name) > 5, done
    assert done["scattered"] > 50 and done["header-only"] > 100 and done["gathered"] > 50, done
    assert done[f"{MAX_ROUNDS_IN_FLIGHT} in flight"] > 5 and done["finished behind another"] > 5, done
    for flags in (Flag(0), Flag.RETRANSMISSION, Flag.BYPASS, Flag.RETRANSMISSION | Flag.BYPASS):
        assert done[f"sent with {flags!r}"] > 50, done


def test_native_results_outlive_their_rounds(native: ModuleType) -> None:
    """They are views of the native round's memory."""
    to = JobTicket(job=1, tag=2, worker=0, workers=1, slots=4, accumulator_words=2)
    rounds = NativeRoundSequence(to)
    round_ = rounds.start(LaneOp.ADD32, np.arange(4, dtype=np.uint32))
    rounds.due(0.0)
    for chunk in range(2):
        header = Header(kind=Kind.RESULT, job=1, tag=2, chunk=chunk, slot=chunk, workers=1, fan_in_workers=1)
        assert rounds.receive(Packet(header, np.array([chunk, 7], np.uint32)).pack(), 0.0)
    rounds.finish(round_)
    result, contributors = round_.result(), round_.contributors()
    del rounds, round_
    assert result.tolist() == [0, 7, 1, 7]
    assert contributors.tolist() == [[1], [1]]


def test_retransmit_buffer_copies_words_at_finish(native: ModuleType) -> None:
    """A caller may reuse its memory as soon as the round has finished."""
    to = JobTicket(job=1, tag=2, worker=0, workers=2, slots=4, accumulator_words=2)
    rounds = NativeRoundSequence(to)
    words = np.arange(4, dtype=np.uint32)
    round_ = rounds.start(LaneOp.ADD32, words)
    first = [bytes(datagram) for datagram in rounds.due(0.0)]
    for chunk in range(2):
        header = Header(kind=Kind.RESULT, job=1, tag=2, chunk=chunk, slot=chunk, workers=3, fan_in_workers=2)
        rounds.receive(Packet(header, np.zeros(2, np.uint32)).pack(), 0.0)
    rounds.finish(round_)
    words[:] = 99
    rounds.receive(Header(kind=Kind.PENDING, job=1, tag=2, chunk=1, workers=2).pack(), 1.0)
    (retransmitted,) = rounds.due(1.0)
    assert bytes(retransmitted[HEADER_BYTES:]) == first[1][HEADER_BYTES:]


def test_words_of_round_finished_early_are_copied(native: ModuleType) -> None:
    """Other workers may lack its chunks until the earlier round ends, and the caller does not wait for that."""
    to = JobTicket(job=1, tag=2, worker=0, workers=2, slots=4, accumulator_words=2)
    rounds = NativeRoundSequence(to)
    rounds.start(LaneOp.ADD32, np.arange(2, dtype=np.uint32))
    words = np.arange(2, dtype=np.uint32)
    round_ = rounds.start(LaneOp.ADD32, words)
    first = [bytes(datagram) for datagram in rounds.due(0.0)]
    header = Header(kind=Kind.RESULT, job=1, tag=2, epoch=1, slot=1, workers=3, fan_in_workers=2)
    rounds.receive(Packet(header, np.zeros(2, np.uint32)).pack(), 0.0)
    rounds.finish(round_)
    words[:] = 99
    rounds.receive(Header(kind=Kind.PENDING, job=1, tag=2, epoch=1, workers=2).pack(), 1e-3)
    retransmitted = [bytes(datagram) for datagram in rounds.due(1e-3)][-1]
    assert Header.unpack(retransmitted).epoch == 1
    assert bytes(retransmitted[HEADER_BYTES:]) == first[1][HEADER_BYTES:]
