# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""BMv2 as a target: ``simple_switch_grpc`` in a network namespace of its own, raw sockets on veth pairs."""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from lanesum.aggregation.slots import SlotTable
from lanesum.protocol import LaneOp
from lanesum.protocol.frames import UdpFrame
from lanesum.protocol.spec import ETHERNET_BYTES
from lanesum_control.client import SwitchConnection
from lanesum_control.model import SWITCH_MAC, HostPort
from lanesum_control.p4info import P4InfoNames
from lanesum_control.pipelines import bmv2_pipeline
from lanesum_control.switch import P4RuntimeSwitch
from lanesum_lab.targets import SwitchProcess, bmv2
from lanesum_lab.veth import end, inside, obstacle, raw_sockets, switch_interface, veth_namespace
from lanesum_switch.reference.switch import PortFrame

from .targets import DEVICE_ID, PORTS, Clock, Queues

_FRAME_BYTES = 65536

_START_TIMEOUT_S = 20.0
_SENTINEL_TIMEOUT_S = 5.0
# Where a fault table may eat the sentinel, silence has to do: BMv2 answers within a millisecond.
_QUIET_S = 0.05
# BMv2 holds 64 packets per egress port and drops what comes beyond.
_BATCH = 16

_SENTINEL_SOURCE = HostPort(0, 0x0AFFFE01, bytes.fromhex("02000000fe01"))
_SENTINEL_NETWORK = 0x0AFFFF00
_DISCARD_PORT = 9

_runs = itertools.count()


def missing() -> str | None:
    """Why BMv2 cannot run here; None where it can."""
    if shutil.which(bmv2.PROGRAM) is None:
        return f"{bmv2.PROGRAM} is not on PATH"
    return obstacle() or None


class _Control(P4RuntimeSwitch):
    """Remembers the ports that lose packets: no sentinel can be trusted there."""

    def __init__(self, connection: SwitchConnection, names: P4InfoNames, recirculation: tuple[int, ...] = ()) -> None:
        super().__init__(connection, names, recirculation)
        self.lossy: set[tuple[int, bool]] = set()

    def set_fault(self, port: int, *, ingress: bool, share: float) -> None:
        super().set_fault(port, ingress=ingress, share=share)
        self.lossy.discard((port, ingress))
        if share > 0:
            self.lossy.add((port, ingress))


class Bmv2Target:
    """A running ``simple_switch_grpc``.

    Everything that a frame causes has left the switch once a packet sent after it has left through every port: BMv2
    has one ingress thread, and its egress threads keep the order of each port.
    """

    name = "bmv2"
    schedules = 5
    shortest_frame = ETHERNET_BYTES  # a raw socket sends nothing shorter
    clock: Clock | None = None
    entries = SlotTable

    def __init__(self, control: _Control, sockets: dict[int, socket.socket], accumulator_words: int) -> None:
        self.control = control
        self.accumulator_words = accumulator_words
        self._sockets = sockets
        self._ports = {sock.fileno(): port for port, sock in sockets.items()}
        self._poll = select.poll()
        for sock in sockets.values():
            self._poll.register(sock, select.POLLIN)
        self.queue_depth = Queues()
        self._nonce = 0
        self._sentinels = 0
        for port in PORTS:
            control.add_host(HostPort(port, _SENTINEL_NETWORK + port, bytes([2, 0, 0, 0, 0xFF, port])))

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
            # Ports are read one after another, so a sentinel only speaks for the port that it came in at.
            for ingress in sorted({port for port, _ in batch}):
                out += self._flush(ingress)
        return out

    def decisions(self) -> dict[str, int]:
        """As the switch counts them, less the sentinels of this class."""
        counts = self.control.decisions()
        for name in ("route", "unknown_source", "forwarded"):
            counts[name] -= self._sentinels
        return counts

    def pushed_again(self) -> Bmv2Target:
        self.control.connection.push_pipeline(bmv2_pipeline(self.accumulator_words))
        return Bmv2Target(self.control, self._sockets, self.accumulator_words)

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
        self._sentinels += len(PORTS)
        out: list[PortFrame] = []
        awaited = set(PORTS)
        deadline = time.monotonic() + _SENTINEL_TIMEOUT_S
        while awaited:
            received = self._receive(deadline - time.monotonic())
            assert received, f"BMv2 sent no sentinel to ports {sorted(awaited)} within {_SENTINEL_TIMEOUT_S} s"
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
        """One frame of every port that has any; empty after ``timeout_s``."""
        ready = self._poll.poll(max(0.0, timeout_s) * 1000)
        return [(self._ports[fd], self._sockets[self._ports[fd]].recv(_FRAME_BYTES)) for fd, _ in ready]


@contextlib.contextmanager
def bmv2_target(accumulator_words: int) -> Iterator[Bmv2Target]:
    """Start BMv2 in a fresh namespace; process, namespace and links are gone afterwards, whatever happened."""
    with contextlib.ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="lanesum-")))
        namespace = cleanup.enter_context(veth_namespace(f"lanesum-{os.getpid()}-{next(_runs)}", PORTS))
        sockets = cleanup.enter_context(raw_sockets(namespace, PORTS))
        address = f"unix:{folder}/p4runtime"
        log = cleanup.enter_context((folder / "log").open("w"))
        interfaces = {port: switch_interface(port) for port in PORTS}
        switch = SwitchProcess(name="s1", topology="star4", p4runtime=address, interfaces=interfaces)
        command = inside(namespace, bmv2.command(switch))
        # In a session of its own: Ctrl-C is for us, and we end the switch after the tests have cleaned up on it.
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder, start_new_session=True)
        cleanup.callback(end, process)
        connection = cleanup.enter_context(
            SwitchConnection(address, device_id=DEVICE_ID, timeout_s=_START_TIMEOUT_S),
        )
        control = _Control.with_pipeline(connection, bmv2_pipeline(accumulator_words))
        yield Bmv2Target(control, sockets, accumulator_words)
