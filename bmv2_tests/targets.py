# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The switches that the suite runs against: the reference model, the embedded switch and BMv2."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from typing import Protocol

from lanesum.aggregation.slots import SlotTable
from lanesum.errors import ConfigurationError
from lanesum.protocol import LaneOp
from lanesum_control.client import SwitchConnection
from lanesum_control.model import ControlledSwitch
from lanesum_control.pipelines import bmv2_pipeline, tofino_pipeline
from lanesum_control.switch import P4RuntimeSwitch
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime import P4RuntimeServer
from lanesum_switch.reference.switch import PortFrame, ReferenceSwitch
from lanesum_switch.reference.tofino_slots import TofinoSlotTable
from lanesum_switch.tna.switch import TofinoSwitch

PORTS = (0, 1, 2, 3, 4, 5, 7, 8)  # 6 turns packets around in Tofino 2
DEVICE_ID = 1
# Profiles of the program for Tofino by the target's name.
TOFINO_PROFILES = {
    "tofino": "tofino1-w32",
    "tofino-wide": "tofino1-w256",
    "tofino2": "tofino2-w64",
    "tofino2-wide": "tofino2-w256",
}
# Ticks. The chip's time begins with its program; until a lease is over, entries that nobody ever had look taken.
_OUTLASTS_LEASES = 1 << 16


class Clock:
    """Time that stands still until a test lets it pass. In whole ticks, so that all switches see the same of it."""

    def __init__(self) -> None:
        self._ticks = 0

    def advance(self, ticks: int) -> None:
        self._ticks += ticks

    def microseconds(self) -> int:
        return self._ticks * 1024

    def nanoseconds(self) -> int:
        return self.microseconds() * 1000


class Queues:
    """Packets that wait at each port, as a test says."""

    def __init__(self) -> None:
        self.depths: dict[int, int] = {}

    def __call__(self, port: int) -> int:
        return self.depths.get(port, 0)


class Target(Protocol):
    """A running switch with frames at hand."""

    name: str
    accumulator_words: int
    schedules: int  # randomized schedules that it can run in reasonable time
    shortest_frame: int  # what its ports accept
    ops: tuple[LaneOp, ...]  # lane operations that its program has, as its P4Info says
    clock: Clock | None  # None: real time
    queue_depth: Queues  # where the clock is real, they are always empty
    entries: type[SlotTable]  # how its program decides, in plain Python

    @property
    def control(self) -> ControlledSwitch: ...

    def exchange(self, port: int, frame: bytes) -> list[PortFrame]:
        """Send one frame into ``port``; everything that leaves because of it, in no particular order."""

    def exchange_all(self, frames: Sequence[PortFrame]) -> list[PortFrame]:
        """The same for many frames, sent in order."""

    def decisions(self) -> dict[str, int]:
        """Packets by what was done with them, as ``P4RuntimeSwitch.decisions``."""

    def pushed_again(self) -> Target:
        """The same switch after its program was pushed once more: empty tables, empty registers."""


class _InMemoryTarget:
    shortest_frame = 0
    entries: type[SlotTable] = SlotTable
    clock: Clock
    queue_depth: Queues

    @property
    def control(self) -> ControlledSwitch:
        raise NotImplementedError

    @property
    def ops(self) -> tuple[LaneOp, ...]:
        return self.control.capabilities.of_these(LaneOp)

    def exchange(self, port: int, frame: bytes) -> list[PortFrame]:
        raise NotImplementedError

    def exchange_all(self, frames: Sequence[PortFrame]) -> list[PortFrame]:
        return [out for port, frame in frames for out in self.exchange(port, frame)]


class ReferenceTarget(_InMemoryTarget):
    """The readable model."""

    name = "reference"
    schedules = 40

    def __init__(self, accumulator_words: int) -> None:
        self.accumulator_words = accumulator_words
        self.clock, self.queue_depth = Clock(), Queues()
        self._start()

    @property
    def control(self) -> ReferenceSwitch:
        return self._switch

    def _start(self) -> None:
        self._switch = ReferenceSwitch(
            self.accumulator_words, clock=self.clock.microseconds, queue_depth=self.queue_depth
        )

    def pushed_again(self) -> ReferenceTarget:
        self._start()
        return self

    def exchange(self, port: int, frame: bytes) -> list[PortFrame]:
        return self._switch.process(port, frame)

    def decisions(self) -> dict[str, int]:
        return self.control.decisions()


class EmbeddedTarget(_InMemoryTarget):
    """The compiled program in the embedded switch, programmed through a real P4Runtime server."""

    name = "embedded"
    schedules = 40

    def __init__(
        self,
        switch: EmbeddedSwitch,
        control: P4RuntimeSwitch,
        accumulator_words: int,
        clock: Clock,
        queue_depth: Queues,
    ) -> None:
        self.clock = clock
        self.queue_depth = queue_depth
        self.switch = switch
        self._control = control
        self.accumulator_words = accumulator_words

    @property
    def control(self) -> P4RuntimeSwitch:
        return self._control

    def exchange(self, port: int, frame: bytes) -> list[PortFrame]:
        return [(out.port, out.frame) for out in self.switch.process(port, frame)]

    def pushed_again(self) -> EmbeddedTarget:
        self.control.connection.push_pipeline(bmv2_pipeline(self.accumulator_words))
        return EmbeddedTarget(self.switch, self.control, self.accumulator_words, self.clock, self.queue_depth)

    def decisions(self) -> dict[str, int]:
        return self.control.decisions()


@contextlib.contextmanager
def embedded_target(accumulator_words: int) -> Iterator[EmbeddedTarget]:
    """The embedded switch behind a P4Runtime server on a socket of its own."""
    clock, queue_depth = Clock(), Queues()
    switch = EmbeddedSwitch(clock=clock.nanoseconds, queue_depth=queue_depth)
    with tempfile.TemporaryDirectory(prefix="lanesum-") as folder:
        address = f"unix:{folder}/p4runtime"
        with P4RuntimeServer(switch, address, DEVICE_ID), SwitchConnection(address, device_id=DEVICE_ID) as connection:
            control = P4RuntimeSwitch.with_pipeline(connection, bmv2_pipeline(accumulator_words))
            yield EmbeddedTarget(switch, control, accumulator_words, clock, queue_depth)


def tofino_is_built(name: str = "tofino") -> bool:
    """Whether the program of the target of that name is there: it is committed with its build."""
    try:
        tofino_pipeline(TOFINO_PROFILES[name])
    except ConfigurationError:
        return False
    return True


class TofinoClock(Clock):
    """The chip counts ticks of 2**20 ns."""

    def nanoseconds(self) -> int:
        return self._ticks << 20


class TofinoTarget(EmbeddedTarget):
    """The TNA program in the embedded switch, programmed through a real P4Runtime server."""

    schedules = 10
    entries = TofinoSlotTable

    def __init__(
        self, name: str, switch: EmbeddedSwitch, control: P4RuntimeSwitch, accumulator_words: int, clock: Clock,
        queue_depth: Queues,
    ) -> None:  # fmt: skip
        super().__init__(switch, control, accumulator_words, clock, queue_depth)
        self.name = name

    def pushed_again(self) -> TofinoTarget:
        pipeline = tofino_pipeline(TOFINO_PROFILES[self.name])
        control = P4RuntimeSwitch.with_pipeline(self.control.connection, pipeline)
        self.clock.advance(_OUTLASTS_LEASES)
        return TofinoTarget(self.name, self.switch, control, self.accumulator_words, self.clock, self.queue_depth)


@contextlib.contextmanager
def tofino_target(name: str = "tofino") -> Iterator[TofinoTarget]:
    """The switch that runs TNA programs, behind a P4Runtime server on a socket of its own."""
    clock, queue_depth = TofinoClock(), Queues()
    switch = TofinoSwitch(clock=clock.nanoseconds, queue_depth=queue_depth)
    with tempfile.TemporaryDirectory(prefix="lanesum-") as folder:
        address = f"unix:{folder}/p4runtime"
        with P4RuntimeServer(switch, address, DEVICE_ID), SwitchConnection(address, device_id=DEVICE_ID) as connection:
            pipeline = tofino_pipeline(TOFINO_PROFILES[name])
            control = P4RuntimeSwitch.with_pipeline(connection, pipeline)
            clock.advance(_OUTLASTS_LEASES)
            yield TofinoTarget(name, switch, control, pipeline.accumulator_words, clock, queue_depth)
