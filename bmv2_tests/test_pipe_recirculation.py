# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Partial sums that recirculate to their own pipe: for the model of the chip, which has one pipe.

On Tofino 1 packets leave the model by a front port to recirculate, and there the program removes the bridge header of a
sum. So tests assemble the program with the front port as its recirculation port in egress.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from lanesum.protocol import LaneOp, Packet
from lanesum.protocol.spec import Flag
from lanesum_fabric.program.switch_job import Member, Role, SwitchJob
from lanesum_lab.tofino_model.chips import MODELS
from lanesum_switch.frames import UdpFrame

from .chip_model import MODEL_PROFILES, assemble, assembly_of, model_target
from .jobs import Job, Place
from .oracle import aggregate
from .star import SERVER, Star, worker_host
from .test_passes import Loop, open_loop, results

_PROFILE = "tofino1-w32"
_MODEL = f"{_PROFILE}-model"
_EGRESS_PORT = re.compile(r"(match: \{ 0: eg_intr_md\.egress_port\(0\.\.6\) \}\n +)0x44:")
_CHUNKS = 12
_UDP_PORT = 40000


class OnePipeJob(SwitchJob):
    """A job whose partial sums recirculate to their own pipe, to other slots: for a switch of one pipe."""

    @property
    def pipe_sums(self) -> tuple[SwitchJob, ...]:
        found = super().pipe_sums
        return tuple(dataclasses.replace(part, slot_base=self.slot_base + self.slot_count) for part in found)


def one_pipe_job(number: int, tag: int, ops: Iterable[LaneOp]) -> OnePipeJob:
    """Return a job of workers 1 to 4 of the star; the first two have a partial sum."""
    rack = Member(0, (worker_host(1), worker_host(2)), _UDP_PORT, aggregate=True)
    members = (rack, *(Member(bit, (worker_host(bit + 2),), _UDP_PORT) for bit in (1, 2)))
    return OnePipeJob(number, tag, 0, 2, 77, members, tuple(ops), role=Role.UPPER, combining_pipe=0)


@pytest.mark.offered("combining_pipes")
def test_partial_sums_recirculate_within_one_pipe(star: Star) -> None:
    if star.target.name in MODEL_PROFILES:
        chip = MODELS[MODEL_PROFILES[star.target.name].chip]
        if chip.exit != chip.recirculation:
            pytest.skip(f"{star.target.name} recirculates by a front port, where sums lose their bridge header")
    check_sums_within_one_pipe(star)


def check_sums_within_one_pipe(star: Star) -> None:
    """Check bridge header, parser and checksums of recirculated sums."""
    whole = one_pipe_job(star.next_job(), 0x7A650000, star.target.ops)
    star.admit_job(whole)
    (part,) = whole.pipe_sums
    of_rack, of_all = (Job(one, star.accumulator_words, SERVER) for one in (part, whole))
    for chunk, op in enumerate((LaneOp.ADD32, LaneOp.EXPAND8)):
        place = Place(0, chunk, op=op)
        words = of_rack.words(chunk, op) + of_all.words(chunk + 10, op)[1:]
        frames = [of_rack.contribution(bit, words[bit], place, checksum=True) for bit in (0, 1)]
        frames += [of_all.contribution(bit, words[bit + 1], place, checksum=True) for bit in (1, 2)]
        forged = of_rack.contribution(1, words[1], place, checksum=True, flags=Flag.UPPER)
        assert [star.exchange(*frame) for frame in (frames[0], forged, frames[2], frames[1])] == [[], [], [], []]
        results = star.exchange(*frames[3])
        assert [port for port, _ in results] == [1, 2, 3, 4]
        packets = [Packet.unpack(UdpFrame.unpack(frame).payload) for _, frame in [*results, *star.exchange(*frames[1])]]
        assert [packet.header.racks for packet in packets] == [0b111] * 5
        for packet in packets:
            assert np.array_equal(packet.payload, aggregate(op, words))


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    profile = MODEL_PROFILES[_MODEL]
    text, changed = _EGRESS_PORT.subn(rf"\g<1>{MODELS[profile.chip].exit:#x}:", assembly_of(profile))
    assert changed == 1
    return assemble(profile, text, tmp_path_factory.mktemp("assembled"))


_IN_ONE_PASS = [name for name, profile in MODEL_PROFILES.items() if profile.passes == 1]


@pytest.fixture(
    scope="module", params=[_PROFILE, *(pytest.param(name, marks=pytest.mark.long) for name in _IN_ONE_PASS)]
)
def loop(request: pytest.FixtureRequest) -> Iterator[Loop]:
    build = request.getfixturevalue("build") if request.param == _MODEL else None
    with open_loop(request.param, build) as loop:
        for worker in (3, 4):
            loop.control.add_host(worker_host(worker))
        yield loop


@pytest.mark.long
@pytest.mark.timeout(0)
def test_partial_sums_on_model_match_reference(build: Path) -> None:
    with model_target(_MODEL, build) as target:
        star = Star(target)
        for _ in star.scope():
            check_sums_within_one_pipe(star)


@pytest.mark.parametrize("seed", range(2))
def test_partial_sums_lost_or_reordered_give_exact_sums(loop: Loop, seed: int) -> None:
    rng = random.Random(seed)
    loop.jobs += 1
    whole = one_pipe_job(loop.jobs, 0x7A660000 + loop.jobs, loop.control.capabilities.ops)
    loop.control.admit(whole)
    (part,) = whole.pipe_sums
    of_rack, of_all = (Job(one, loop.accumulator_words, SERVER) for one in (part, whole))
    senders = [(of_rack, 0), (of_rack, 1), (of_all, 1), (of_all, 2)]
    words = [of_rack.words(chunk) + of_all.words(chunk + _CHUNKS)[1:] for chunk in range(_CHUNKS)]
    found = 0
    for step in range(30 * _CHUNKS):
        if loop.waiting and rng.random() < 0.5:
            number, fate = rng.randrange(len(loop.waiting)), rng.random()
            if fate < 0.2:  # it arrives once more later
                loop.waiting.append(loop.waiting[number])
            if fate < 0.9:
                left = loop.next_pass(number)
            else:
                loop.waiting.pop(number)
                left = []
        else:
            chunk = min(_CHUNKS - 1, max(0, step // 30 + rng.choice((0, 0, 0, 1, -1))))
            place = Place(0, chunk, chunk % 2, chunk // 2 % 2)
            sender = rng.randrange(len(senders))
            job, bit = senders[sender]
            left = loop.enter(*job.contribution(bit, words[chunk][sender], place, checksum=rng.random() < 0.5))
        for packet in results(left):
            found += 1
            assert packet.header.racks == 0b111
            assert np.array_equal(packet.payload, aggregate(LaneOp.ADD32, words[packet.header.chunk]))
    loop.control.remove(whole)
    loop.waiting.clear()
    assert found
