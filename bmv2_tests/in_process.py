# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Targets in the test process: the reference model, and programs in the embedded switch."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence

from lanesum.protocol import LaneOp
from lanesum_control.switches.client import SwitchConnection
from lanesum_fabric.program.capabilities import ControlledSwitch
from lanesum_fabric.program.pipelines import CompiledPipeline
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime import P4RuntimeServer
from lanesum_switch.tna.switch import TofinoSwitch
from tests.reference.slots import SlotTable
from tests.reference.switch import PortFrame, ReferenceSwitch

from .control import SwitchUnderTest
from .target import DEVICE_ID, Clock, Queues

_TOFINO_TICK_NS = 1 << 20
# Ticks. Until one lease has passed since time 0, unused entries of Tofino's program look taken.
_OUTLASTS_LEASES = 1 << 16


class InProcessTarget:
    min_frame_bytes = 0
    trailer_bytes = 0
    num_schedules = 40
    stopped = False
    slot_table: type[SlotTable] = SlotTable

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


class ReferenceTarget(InProcessTarget):
    """The reference model."""

    name = "reference"

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

    def push_again(self) -> ReferenceTarget:
        self._start()
        return self

    def exchange(self, port: int, frame: bytes) -> list[PortFrame]:
        return self._switch.process(port, frame)

    def decisions(self) -> dict[str, int]:
        return self.control.decisions()


class EmbeddedTarget(InProcessTarget):
    """A compiled program in the embedded switch, programmed through a P4Runtime server."""

    def __init__(
        self,
        name: str,
        switch: EmbeddedSwitch,
        connection: SwitchConnection,
        pipeline: CompiledPipeline,
        slot_table: type[SlotTable],
        clock: Clock,
        queue_depth: Queues,
    ) -> None:
        self.name = name
        self.switch = switch
        self.accumulator_words = pipeline.accumulator_words
        self.slot_table = slot_table
        self.clock, self.queue_depth = clock, queue_depth
        if isinstance(switch, TofinoSwitch):
            self.num_schedules = 10
        self._pipeline = pipeline
        self._control = SwitchUnderTest.with_pipeline(connection, pipeline)
        clock.advance(_OUTLASTS_LEASES)

    @property
    def control(self) -> SwitchUnderTest:
        return self._control

    def exchange(self, port: int, frame: bytes) -> list[PortFrame]:
        out = [(packet.port, packet.frame) for packet in self.switch.process(port, frame)]
        assert self.switch.counts.program_errors == 0, f"{self.name} failed on port {port}: {frame.hex()}"
        return out

    def push_again(self) -> EmbeddedTarget:
        return EmbeddedTarget(
            self.name, self.switch, self.control.connection, self._pipeline, self.slot_table, self.clock,
            self.queue_depth,
        )  # fmt: skip

    def decisions(self) -> dict[str, int]:
        return self.control.decisions()


@contextlib.contextmanager
def embedded_target(
    name: str, device: type[EmbeddedSwitch], pipeline: CompiledPipeline, slot_table: type[SlotTable]
) -> Iterator[EmbeddedTarget]:
    """Start the embedded switch behind a P4Runtime server on a socket of its own."""
    clock = Clock(_TOFINO_TICK_NS) if issubclass(device, TofinoSwitch) else Clock()
    queue_depth = Queues()
    switch = device(clock=clock.nanoseconds, queue_depth=queue_depth)
    with tempfile.TemporaryDirectory(prefix="lanesum-") as folder:
        address = f"unix:{folder}/p4runtime"
        with P4RuntimeServer(switch, address, DEVICE_ID), SwitchConnection(address, device_id=DEVICE_ID) as connection:
            yield EmbeddedTarget(name, switch, connection, pipeline, slot_table, clock, queue_depth)
