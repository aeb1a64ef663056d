# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Interface between the suite and a switch under test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lanesum.protocol import LaneOp
from lanesum_fabric.program.capabilities import ControlledSwitch
from tests.reference.slots import SlotTable
from tests.reference.switch import PortFrame

PORTS = (0, 1, 2, 3, 4, 5, 7, 8)  # port 6 is a recirculation port of Tofino 2
DEVICE_ID = 1
_TICK_US = 1024


class Clock:
    """Clock that stands still until a test advances it, in whole ticks, so that all switches read the same time.

    Args:
        tick_ns: nanoseconds of a tick on the switch under test.
    """

    def __init__(self, tick_ns: int = _TICK_US * 1000) -> None:
        self._tick_ns = tick_ns
        self._ticks = 0

    def advance(self, ticks: int) -> None:
        self._ticks += ticks

    def microseconds(self) -> int:
        return self._ticks * _TICK_US

    def nanoseconds(self) -> int:
        return self._ticks * self._tick_ns


class Queues:
    """Packets waiting at each port, set by a test."""

    def __init__(self) -> None:
        self.depths: dict[int, int] = {}

    def __call__(self, port: int) -> int:
        return self.depths.get(port, 0)


class Target(Protocol):
    """A running switch.

    Attributes:
        name: as test ids name it.
        accumulator_words: words per packet.
        num_schedules: randomized schedules that it runs in reasonable time.
        min_frame_bytes: length of the shortest frame that its ports accept.
        trailer_bytes: bytes behind a frame that the parser sees, of the frame check.
        ops: lane operations of its program, from the P4Info.
        clock: None in real time, or where time stands still.
        stopped: time stands still.
        queue_depth: all queues are empty in real time.
        slot_table: the decisions of its program in plain Python.
    """

    name: str
    accumulator_words: int
    num_schedules: int
    min_frame_bytes: int
    trailer_bytes: int
    ops: tuple[LaneOp, ...]
    clock: Clock | None
    stopped: bool
    queue_depth: Queues
    slot_table: type[SlotTable]

    @property
    def control(self) -> ControlledSwitch: ...

    def exchange(self, port: int, frame: bytes) -> list[PortFrame]:
        """Send one frame into ``port``; return every frame that leaves because of it, in any order."""

    def exchange_all(self, frames: Sequence[PortFrame]) -> list[PortFrame]:
        """Send many frames in order; return every frame that leaves."""

    def decisions(self) -> dict[str, int]:
        """Return the number of packets by decision, as ``P4RuntimeSwitch.decisions`` does."""

    def push_again(self) -> Target:
        """Push the program again; return the switch with empty tables and registers."""
