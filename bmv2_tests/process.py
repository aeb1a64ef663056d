# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Targets with a process of their own, such as BMv2: in a network namespace, with raw sockets on veth pairs."""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from lanesum.protocol import LaneOp
from lanesum.protocol.spec import ETHERNET_BYTES
from lanesum_control.switches.client import SwitchConnection
from lanesum_fabric.program.p4info import P4InfoNames
from lanesum_fabric.program.pipelines import CompiledPipeline
from lanesum_fabric.program.switch_job import SWITCH_MAC, HostPort
from lanesum_lab.targets import SwitchProcess, SwitchTarget
from lanesum_lab.veth import end, inside, raw_sockets, switch_interface, veth_namespace
from lanesum_switch.frames import UdpFrame
from tests.reference import slot_table_of
from tests.reference.slots import SlotTable
from tests.reference.switch import PortFrame

from .control import SwitchUnderTest
from .target import DEVICE_ID, PORTS, Clock, Queues

_FRAME_BYTES = 65536

_START_TIMEOUT_S = 120.0
_SENTINEL_TIMEOUT_S = 120.0
# A fault table may drop the sentinel: then wait until no frame arrives for so long. BMv2 answers within a millisecond.
_QUIET_S = 0.05
# BMv2 holds 64 packets per egress port and drops further ones.
_BATCH = 16

_SENTINEL_SOURCE = HostPort(0, 0x0AFFFE01, bytes.fromhex("02000000fe01"))
_SENTINEL_NETWORK = 0x0AFFFF00
_DISCARD_PORT = 9

_runs = itertools.count()


class _Control(SwitchUnderTest):
    """Controller of the switch that records the ports with faults: sentinels can be lost there."""

    def __init__(self, connection: SwitchConnection, names: P4InfoNames, recirculation: tuple[int, ...] = ()) -> None:
        super().__init__(connection, names, recirculation)
        self.lossy: set[tuple[int, bool]] = set()

    def set_fault(self, port: int, *, ingress: bool, share: float) -> None:
        super().set_fault(port, ingress=ingress, share=share)
        self.lossy.discard((port, ingress))
        if share > 0:
            self.lossy.add((port, ingress))


class ProcessTarget:
    """A running switch process.

    Every frame that the switch sends because of a packet has left once a later packet, a sentinel, has left through
    every port: BMv2 has one ingress thread, and its egress threads keep the order of each port.
    """

    num_schedules = 5
    min_frame_bytes = ETHERNET_BYTES  # a raw socket sends nothing shorter
    trailer_bytes = 0
    clock: Clock | None = None
    stopped = False

    def __init__(
        self,
        name: str,
        connection: SwitchConnection,
        pipeline: CompiledPipeline,
        slot_table: type[SlotTable],
        sockets: dict[int, socket.socket],
    ) -> None:
        self.name = name
        self.accumulator_words = pipeline.accumulator_words
        self.slot_table = slot_table
        self.control = _Control.with_pipeline(connection, pipeline)
        self._pipeline = pipeline
        self._sockets = sockets
        self._ports = {sock.fileno(): port for port, sock in sockets.items()}
        self._poll = select.poll()
        for sock in sockets.values():
            self._poll.register(sock, select.POLLIN)
        self.queue_depth = Queues()
        self._nonce = 0
        self._num_sentinels = 0
        for port in PORTS:
            self.control.add_host(HostPort(port, _SENTINEL_NETWORK + port, bytes([2, 0, 0, 0, 0xFF, port])))

    @property
    def ops(self) -> tuple[LaneOp, ...]:
        return self.control.capabilities.of_these(LaneOp)

    def exchange(self, port: int, frame: bytes) -> list[PortFrame]:
        return self.exchange_all([(port, frame)])

    def exchange_all(self, frames: Sequence[PortFrame]) -> list[PortFrame]:
        out: list[PortFrame] = []
        for start in range(0, len(frames), _BATCH):
            batch = frames[start : start + _BATCH]
            for port, frame in batch:
                self._sockets[port].send(frame)
            # The switch reads its ports one after another: a sentinel follows only the packets of its own ingress port.
            for ingress in sorted({port for port, _ in batch}):
                out += self._flush(ingress)
        return out

    def decisions(self) -> dict[str, int]:
        """Return the switch's counts, less the sentinels."""
        counts = self.control.decisions()
        for name in ("route", "unknown_source", "forwarded"):
            counts[name] -= self._num_sentinels
        return counts

    def push_again(self) -> ProcessTarget:
        return ProcessTarget(self.name, self.control.connection, self._pipeline, self.slot_table, self._sockets)

    def _flush(self, ingress: int) -> list[PortFrame]:
        if self.control.lossy:
            return self._until_quiet()
        self._nonce += 1
        mark = b"sentinel" + self._nonce.to_bytes(8, "big")
        for port in PORTS:
            destination = _SENTINEL_NETWORK + port
            source = _SENTINEL_SOURCE
            sentinel = UdpFrame(source.mac, SWITCH_MAC, source.ip, destination, _DISCARD_PORT, _DISCARD_PORT, mark)
            self._sockets[ingress].send(sentinel.pack())
        self._num_sentinels += len(PORTS)
        out: list[PortFrame] = []
        awaited = set(PORTS)
        deadline = time.monotonic() + _SENTINEL_TIMEOUT_S
        while awaited:
            received = self._receive(deadline - time.monotonic())
            assert received, f"{self.name} sent no sentinel to ports {sorted(awaited)} within {_SENTINEL_TIMEOUT_S} s"
            for port, frame in received:
                if frame.endswith(mark):
                    awaited.remove(port)
                else:
                    out.append((port, frame))
        return out

    def _until_quiet(self) -> list[PortFrame]:
        out: list[PortFrame] = []
        while received := self._receive(_QUIET_S):
            out += received
        return out

    def _receive(self, timeout_s: float) -> list[PortFrame]:
        """Return one frame of every port that has one; an empty list after ``timeout_s``."""
        ready = self._poll.poll(max(0.0, timeout_s) * 1000)
        return [(self._ports[fd], self._sockets[self._ports[fd]].recv(_FRAME_BYTES)) for fd, _ in ready]


@contextlib.contextmanager
def process_target(name: str, record: SwitchTarget, pipeline: CompiledPipeline) -> Iterator[ProcessTarget]:
    """Start the switch in a new namespace; process, namespace and links are removed at the end, also after errors."""
    with contextlib.ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="lanesum-")))
        namespace = cleanup.enter_context(veth_namespace(f"lanesum-{os.getpid()}-{next(_runs)}", PORTS))
        sockets = cleanup.enter_context(raw_sockets(namespace, PORTS))
        address = f"unix:{folder}/p4runtime"
        log = cleanup.enter_context((folder / "log").open("w"))
        interfaces = {port: switch_interface(port) for port in PORTS}
        switch = SwitchProcess(name="s1", topology="star4", p4runtime=address, interfaces=interfaces)
        command = inside(namespace, record.command(switch))
        # In a session of its own: Ctrl-C ends the tests first, which then clean up on the switch and end it.
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder, start_new_session=True)
        cleanup.callback(end, process)
        connection = cleanup.enter_context(
            SwitchConnection(address, device_id=DEVICE_ID, timeout_s=_START_TIMEOUT_S),
        )
        yield ProcessTarget(name, connection, pipeline, slot_table_of(record), sockets)
