# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packets of several pipeline passes: packets that are lost, damaged or reordered between passes spoil no sum (INV-1).

::

    workers -> switch -+-> results: each one the exact sum over the workers that it names
                 ^     |
                 +- loop of the test: recirculated packets wait here, continue in any order, or are lost

The switch is the embedded one, or the model of the chip.
"""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from lanesum.protocol import Kind, LaneOp, Packet
from lanesum_control.switches.client import SwitchConnection
from lanesum_fabric.program.pipelines import tofino_pipeline
from lanesum_fabric.program.switch_job import DEFAULT_LEASE_TICKS, NO_ROLE, Member, SwitchJob
from lanesum_fabric.tofino.chips import PROFILES as ALL_PROFILES
from lanesum_fabric.tofino.chips import profile as tofino_profile
from lanesum_switch.frames import UdpFrame
from lanesum_switch.p4runtime import P4RuntimeServer
from lanesum_switch.tna.switch import TofinoSwitch
from tests.reference.switch import PortFrame

from .chip_model import MODEL_PROFILES, ModelTarget, model_switch
from .control import SwitchUnderTest
from .jobs import Job, Place
from .oracle import Words, aggregate, uplink_words
from .star import SERVER, worker_host
from .target import DEVICE_ID

PROFILES = tuple(profile.name for profile in ALL_PROFILES if profile.passes > 1)
WORKERS = 3


class Loop:
    """The switch, with its recirculated packets held by the test."""

    def __init__(
        self, name: str, switch: TofinoSwitch, control: SwitchUnderTest, words: int, passes: int, port: int
    ) -> None:
        self.name = name
        self.switch = switch
        self.passes = passes
        self.port = port
        self.control = control
        self.accumulator_words = words
        self.waiting: list[bytes] = []
        self.jobs = 0
        for host in (*map(worker_host, range(WORKERS)), SERVER):
            control.add_host(host)

    def admit(self) -> Job:
        """Admit another job of three workers, on the same slots."""
        self.jobs += 1
        members = tuple(Member(worker, (worker_host(worker),), 40000 + worker) for worker in range(WORKERS))
        ops = (LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.OR)
        job = SwitchJob(
            self.jobs, 0x7A620000 + self.jobs, 0, 2, self.jobs, members, ops, None, NO_ROLE, 0, (),
            DEFAULT_LEASE_TICKS,
        )  # fmt: skip
        self.control.admit(job)
        return Job(job, self.accumulator_words, SERVER)

    def enter(self, port: int, frame: bytes) -> list[PortFrame]:
        """Run one pass; recirculated packets wait."""
        left = [(out.port, out.frame) for out in self.switch.process(port, frame)]
        self.waiting += [frame for port, frame in left if port == self.port]
        return [(port, frame) for port, frame in left if port != self.port]

    def next_pass(self, number: int = 0) -> list[PortFrame]:
        """Run the next pass of a waiting packet."""
        return self.enter(self.port, self.waiting.pop(number))

    def run_all_passes(self) -> list[PortFrame]:
        """Run all passes of all packets, in order."""
        left = []
        while self.waiting:
            left += self.next_pass()
        return left


_MODELS = [name for name, profile in MODEL_PROFILES.items() if profile.name in PROFILES]


@contextlib.contextmanager
def open_loop(name: str, build: Path | None = None) -> Iterator[Loop]:
    """Start a switch behind a P4Runtime server; ``name``: a profile, or a target of the model.

    ``build``: folder with another binary for the model and its ``context.json``.
    """
    profile = MODEL_PROFILES[name] if name in MODEL_PROFILES else tofino_profile(name)
    pipeline = tofino_pipeline(profile.name)
    port = profile.chip.recirculation_port
    assert pipeline.chip is not None and port in pipeline.chip.recirculation_ports
    with contextlib.ExitStack() as cleanup:
        switch: TofinoSwitch
        if name in MODEL_PROFILES:
            switch = cleanup.enter_context(model_switch(profile, build, recirculation_ports=()))
        else:
            switch = TofinoSwitch(recirculation_ports=())
        address = f"unix:{cleanup.enter_context(tempfile.TemporaryDirectory(prefix='lanesum-'))}/p4runtime"
        cleanup.enter_context(P4RuntimeServer(switch, address, DEVICE_ID))
        connection = cleanup.enter_context(SwitchConnection(address, device_id=DEVICE_ID))
        control = SwitchUnderTest.with_pipeline(connection, pipeline)
        yield Loop(name, switch, control, pipeline.accumulator_words, profile.passes, port)


@pytest.fixture(scope="module", params=[*PROFILES, *(pytest.param(name, marks=pytest.mark.long) for name in _MODELS)])
def loop(request: pytest.FixtureRequest) -> Iterator[Loop]:
    with open_loop(request.param) as loop:
        yield loop


def contribution_of(worker: int, place: Place, words: int) -> Words:
    """Return the contribution of a worker to a chunk, the same at every call."""
    rng = np.random.default_rng((worker, place.epoch, place.chunk, place.op))
    return rng.integers(0, 1 << 32, uplink_words(place.op, words), dtype=np.uint32)


def results(left: list[PortFrame]) -> list[Packet]:
    packets = [Packet.unpack(UdpFrame.unpack(frame).payload) for port, frame in left if port != SERVER.port]
    return [packet for packet in packets if packet.header.kind == Kind.RESULT]


def check(packet: Packet, words: int) -> None:
    """Check that a result is the sum over exactly the workers that it names."""
    header = packet.header
    place = Place(header.epoch, header.chunk, header.slot, header.shadow, LaneOp(header.op))
    named = [worker for worker in range(WORKERS) if header.workers >> worker & 1]
    wanted = aggregate(place.op, [contribution_of(worker, place, words) for worker in named])
    assert np.array_equal(packet.payload, wanted), f"not the sum over {named} at {place}"


@pytest.mark.parametrize("op", [LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.OR])
def test_passes_in_order_give_every_sum(loop: Loop, op: LaneOp) -> None:
    """Contributions follow each other closely: each is in another pass when the next one arrives."""
    job = loop.admit()
    for chunk in range(3):
        place = Place(0, chunk, 1, op=op)
        left = []
        for worker in range(WORKERS):
            words = contribution_of(worker, place, loop.accumulator_words)
            left += loop.enter(*job.contribution(worker, words, place, checksum=bool(chunk)))
            left += loop.next_pass()
        left += loop.run_all_passes()
        assert [packet.header.workers for packet in results(left)] == [0b111] * WORKERS
        for packet in results(left):
            check(packet, loop.accumulator_words)


@pytest.mark.parametrize("loser", range(WORKERS))
def test_packet_lost_between_passes_gives_no_sum(loop: Loop, loser: int) -> None:
    """The entry held a complete sum of the same workers before. The next chunk is complete again."""
    for lost in range(loop.passes - 1):
        _lose(loop, loser, lost)


def _lose(loop: Loop, loser: int, lost: int) -> None:
    job = loop.admit()
    for chunk in range(3):
        place = Place(0, chunk, op=LaneOp.EXPAND8)
        left = []
        for worker in range(WORKERS):
            words = contribution_of(worker, place, loop.accumulator_words)
            left += loop.enter(*job.contribution(worker, words, place))
            if chunk == 1 and worker == loser:
                for _ in range(lost):
                    left += loop.next_pass()
                loop.waiting.clear()
            left += loop.run_all_passes()
        words = contribution_of(0, place, loop.accumulator_words)
        left += loop.enter(*job.contribution(0, words, place)) + loop.run_all_passes()  # a duplicate: the same sum
        assert len(results(left)) == (0 if chunk == 1 else WORKERS + 1)
        for packet in results(left):
            check(packet, loop.accumulator_words)


@pytest.mark.parametrize("damaged", range(WORKERS))
def test_damaged_contribution_gives_no_sum(loop: Loop, damaged: int) -> None:
    """The checksum is verified when the words are in the lanes already: no worker gets their sum."""
    for block in range(loop.passes):
        _damage(loop, damaged, 74 + block * 512 // loop.passes + 5)


def _damage(loop: Loop, damaged: int, byte: int) -> None:
    def spoil(frame: bytes) -> bytes:
        hit = bytearray(frame)
        hit[byte] ^= 0x10
        return bytes(hit)

    _no_sum_with(loop, damaged, spoil, checksum=True)


def _no_sum_with(loop: Loop, spoiled: int, spoil: Callable[[bytes], bytes], **options: bool) -> None:
    """Check that of three chunks the second, to which worker ``spoiled`` sends another frame, is not summed."""
    job = loop.admit()
    for chunk in range(3):
        place = Place(0, chunk, op=LaneOp.EXPAND8)
        left = []
        for worker in range(WORKERS):
            words = contribution_of(worker, place, loop.accumulator_words)
            port, frame = job.contribution(worker, words, place, **options)
            if chunk == 1 and worker == spoiled:
                frame = spoil(frame)
            left += loop.enter(port, frame) + loop.run_all_passes()
        assert len(results(left)) == (0 if chunk == 1 else WORKERS)
        for packet in results(left):
            check(packet, loop.accumulator_words)


@pytest.mark.parametrize("kept", [63, 64, 65, 127, 128, 129, 200, 383, 384, 447, 448, 511])
@pytest.mark.parametrize("truncated", range(WORKERS))
def test_truncated_contribution_gives_no_sum(loop: Loop, truncated: int, kept: int) -> None:
    """The headers promise 512 bytes of codes; a later pass parses those that are missing. A packet too short for the
    first pass is dropped.
    """
    if loop.name in MODEL_PROFILES and kept > 512 - ModelTarget.trailer_bytes:
        pytest.skip(f"the parser of {loop.name} takes the frame check for the last words")
    _no_sum_with(loop, truncated, lambda frame: frame[: 74 + kept])


def test_sum_overwritten_between_passes_is_dropped(loop: Loop) -> None:
    """The entry is claimed by the next chunk while the sum is read: after any of its passes."""
    for passes in range(2 * loop.passes):
        job = loop.admit()
        place, newer = Place(0, 0), Place(0, 1)
        left = []
        for worker in range(WORKERS):
            words = contribution_of(worker, place, loop.accumulator_words)
            left += loop.enter(*job.contribution(worker, words, place))
            if worker < WORKERS - 1:
                left += loop.run_all_passes()
        for _ in range(passes):
            left += loop.next_pass()
        left += loop.enter(*job.contribution(0, contribution_of(0, newer, loop.accumulator_words), newer))
        left += loop.run_all_passes()
        assert len(results(left)) == (WORKERS if passes == 2 * loop.passes - 1 else 0)
        for packet in results(left):
            check(packet, loop.accumulator_words)


@pytest.mark.parametrize("seed", range(12))
def test_random_passes_give_exact_sums_only(loop: Loop, seed: int) -> None:
    """Jobs that share slots, duplicates, older and newer rounds; recirculated packets are lost, or reordered."""
    rng = random.Random(seed)
    jobs = [loop.admit() for _ in range(rng.choice((1, 2)))]
    orderly = rng.random() < 0.5
    found = []
    for step in range(75 * loop.passes):
        if not loop.waiting or rng.random() < 0.3:
            # Without order, some workers are a round ahead; all contributions to a chunk have one operation.
            chunk = rng.randrange(2)
            op = (LaneOp.ADD32, LaneOp.EXPAND8)[chunk]
            place = Place(step // (15 * loop.passes) + rng.choice((0,) if orderly else (0, 0, 1)), chunk, op=op)
            worker = rng.randrange(WORKERS)
            words = contribution_of(worker, place, loop.accumulator_words)
            job = rng.choice(jobs)
            found += results(loop.enter(*job.contribution(worker, words, place, checksum=rng.random() < 0.5)))
        elif rng.random() < 0.12 / loop.passes:
            loop.waiting.pop(rng.randrange(len(loop.waiting)))
        else:
            found += results(loop.next_pass(0 if orderly else rng.randrange(len(loop.waiting))))
    found += results(loop.run_all_passes())
    assert found or len(jobs) > 1 or not orderly
    for packet in found:
        check(packet, loop.accumulator_words)
