# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The program for Tofino beside the program for BMv2: both send the same frames, packet by packet.

::

                    +-> p4src/tofino as p4c printed it, TofinoSwitch  -+
    random packets -+                                                  +-> the same frames
                    +-> p4src/bmv2, EmbeddedSwitch                    -+
"""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections.abc import Iterator

import pytest

from lanesum_control.switches.client import SwitchConnection
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_fabric.program.switch_job import HostPort, SwitchJob
from lanesum_fabric.tofino.chips import PROFILES
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime import P4RuntimeServer
from tests.reference.switch import PortFrame

from .control import SwitchUnderTest
from .in_process import EmbeddedTarget
from .schedule import Plan, Schedule
from .star import Star
from .target import DEVICE_ID, Target
from .targets import TARGETS, open_target
from .test_random_packets import Traffic
from .test_schedules import run_randomly

pytestmark = pytest.mark.long


# BMv2's program has no build for packets of several passes.
ONE_PASS_PROFILES = [profile.name for profile in PROFILES if profile.passes == 1]


class Bmv2Program:
    """The twin: BMv2's program, with the same table entries and frames."""

    def __init__(self, switch: EmbeddedSwitch, control: SwitchUnderTest) -> None:
        self.switch = switch
        self.control = control

    def process(self, port: int, frame: bytes) -> list[PortFrame]:
        return [(out.port, out.frame) for out in self.switch.process(port, frame)]

    def add_host(self, host: HostPort) -> None:
        self.control.add_host(host)

    def admit(self, job: SwitchJob) -> None:
        self.control.admit(job)

    def modify(self, old: SwitchJob, new: SwitchJob) -> None:
        self.control.modify(old, new)

    def remove(self, job: SwitchJob) -> None:
        self.control.remove(job)

    def set_congestion(self, port: int, depth: int | None) -> None:
        self.control.set_congestion(port, depth)

    def decisions(self) -> dict[str, int]:
        """Return no counts: the rest of the suite compares them with the reference."""
        return {}


class Beside(Star):
    """The star with the other program as twin."""

    def __init__(self, target: Target, bmv2: Bmv2Program) -> None:
        self.bmv2 = bmv2
        super().__init__(target)

    def _start_twin(self) -> None:
        self.twin = self.bmv2  # type: ignore[assignment]


@contextlib.contextmanager
def bmv2_program(beside: EmbeddedTarget) -> Iterator[Bmv2Program]:
    clock = beside.clock
    switch = EmbeddedSwitch(clock=lambda: clock.microseconds() * 1000, queue_depth=beside.queue_depth)
    with tempfile.TemporaryDirectory(prefix="lanesum-") as folder:
        address = f"unix:{folder}/p4runtime"
        with P4RuntimeServer(switch, address, DEVICE_ID), SwitchConnection(address, device_id=DEVICE_ID) as connection:
            pipeline = bmv2_pipeline(beside.accumulator_words)
            yield Bmv2Program(switch, SwitchUnderTest.with_pipeline(connection, pipeline))


@pytest.fixture(scope="module", params=ONE_PASS_PROFILES)
def beside(request: pytest.FixtureRequest) -> Iterator[Beside]:
    with open_target(request.param) as target:
        assert isinstance(target, EmbeddedTarget)
        with bmv2_program(target) as other:
            yield Beside(target, other)


def test_targets_contain_every_profile() -> None:
    """The suite leaves out targets without a build."""
    assert {profile.name for profile in PROFILES} < set(TARGETS)


@pytest.mark.parametrize("seed", range(12))
def test_programs_with_random_schedules_send_the_same(beside: Beside, seed: int) -> None:
    """Rounds of one job over a network that loses, duplicates and reorders packets, around the wrap of epochs."""
    rng = random.Random(seed)
    rounds = tuple((rng.choice(beside.target.ops), rng.randrange(1, 6)) for _ in range(4))
    first = rng.choice((0, 1, (1 << 32) - 2, (1 << 31) - 1))
    plan = Plan(rng.randrange(1, 6), rng.randrange(1, 5), rounds, first, seed)
    for _ in beside.scope():
        schedule = Schedule(beside, plan)
        run_randomly(schedule, rng, loss=0.05, duplication=0.1)
        assert schedule.results >= plan.workers * len(schedule.places)


@pytest.mark.parametrize("seed", range(12))
def test_programs_with_several_jobs_send_the_same(beside: Beside, seed: int) -> None:
    """Jobs in all roles on overlapping slots: replays, collisions, leases, answers of upper switches, damage.

    Where the programs differ by design (docs/tofino-design.md), ``test_random_packets`` compares this one with its
    own model.
    """
    for _ in beside.scope():
        traffic = Traffic(beside, random.Random(seed), agreeing=True)
        for _ in range(60):
            beside.exchange(*traffic.packet())
            traffic.disturb()
