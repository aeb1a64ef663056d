# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The same random entries and packets on the embedded switch and on BMv2: codes, packets and counts must agree.

Both switches take the same P4Runtime updates. Each packet enters both at the same port; what leaves is compared port
by port and byte by byte.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import select
import socket
import subprocess
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_lab.targets import SwitchProcess
from lanesum_lab.targets.bmv2 import command
from lanesum_lab.veth import end, inside, raw_sockets, switch_interface, veth_namespace
from lanesum_switch import EmbeddedSwitch, P4RuntimeServer
from lanesum_switch.ports.afpacket import AUXDATA, PACKET_AUXDATA, SOL_PACKET, with_tag
from tests.p4c_samples.compiled import CompiledProgram
from tests.p4c_samples.random_packets import MIN_FRAME_BYTES, PacketGenerator
from tests.softswitch.p4runtime.client import OK, Client
from tests.softswitch.p4runtime.fuzz import Fuzzer
from tests.softswitch.p4runtime.test_p4runtime_differential import comparable

PORTS = (0, 1, 2, 3)
PortFrame = tuple[int, bytes]

_FRAME_BYTES = 65536
_START_S = 60.0
# Limits of waiting for packets that the embedded switch has sent, and for packets that it has not.
_EXPECTED_S = 3.0
_SETTLE_S = 0.01

# Programs that read the time, queues or random numbers: their packets differ from run to run.
_UNSTABLE_FIELDS = {
    "ingress_global_timestamp",
    "egress_global_timestamp",
    "enq_timestamp",
    "enq_qdepth",
    "deq_timedelta",
    "deq_qdepth",
}
_UNSTABLE_PRIMITIVE = "modify_field_rng_uniform"

_SILENT = ("UNAVAILABLE", "DEADLINE_EXCEEDED")

_runs = itertools.count()


class PeerFailedError(Exception):
    """BMv2 aborted, does not answer, or cannot read its own entries."""


@dataclass(frozen=True)
class Effort:
    """Number of rounds of a comparison; in each, updates are written first and packets follow."""

    rounds: int = 3
    updates: int = 40
    packets: int = 25


class ComparedSwitch(Protocol):
    """A switch with a client of its P4Runtime server."""

    client: Client

    def exchange(self, port: int, frame: bytes, expected: int) -> list[PortFrame]:
        """Let a packet enter; return the packets that leave. ``expected`` of them are worth waiting for."""

    def ended(self) -> bool:
        """Return whether its process has ended."""


class Embedded:
    """The embedded switch, in this process."""

    def __init__(self, switch: EmbeddedSwitch, client: Client) -> None:
        self._switch = switch
        self.client = client

    def exchange(self, port: int, frame: bytes, expected: int = 0) -> list[PortFrame]:
        # A raw socket sends no frame that is shorter than an Ethernet header.
        sent = self._switch.process(port, frame)
        return [(out, data) for out, data in sent if out in PORTS and len(data) >= MIN_FRAME_BYTES]

    def ended(self) -> bool:
        return False


class Bmv2:
    """A running BMv2 with raw sockets at its ports."""

    def __init__(self, client: Client, sockets: dict[int, socket.socket], process: subprocess.Popen[bytes]) -> None:
        self.client = client
        self._sockets = sockets
        self._process = process
        self._ports = {sock.fileno(): port for port, sock in sockets.items()}
        self._poll = select.poll()
        for sock in sockets.values():
            sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            self._poll.register(sock, select.POLLIN)

    def exchange(self, port: int, frame: bytes, expected: int) -> list[PortFrame]:
        self._sockets[port].send(frame)
        out: list[PortFrame] = []
        deadline = time.monotonic() + _EXPECTED_S
        while len(out) < expected and (found := self._receive(deadline - time.monotonic())):
            out += found
        while found := self._receive(_SETTLE_S):
            out += found
        return out

    def ended(self) -> bool:
        return self._process.poll() is not None

    def _receive(self, timeout_s: float) -> list[PortFrame]:
        found = []
        for fd, _ in self._poll.poll(max(0.0, timeout_s) * 1000):
            sock = self._sockets[self._ports[fd]]
            frame, ancillary, _, _ = sock.recvmsg(_FRAME_BYTES, socket.CMSG_SPACE(AUXDATA.size))
            found.append((self._ports[fd], with_tag(frame, ancillary[0][2])))  # the kernel takes VLAN tags out
        return found


Pair = tuple[ComparedSwitch, ComparedSwitch]


@contextlib.contextmanager
def embedded() -> Iterator[Embedded]:
    """Serve an embedded switch without a program."""
    with tempfile.TemporaryDirectory() as folder:
        switch, address = EmbeddedSwitch(), f"unix:{folder}/p4runtime"
        with P4RuntimeServer(switch, address, device_id=1), contextlib.closing(Client(address)) as client:
            yield Embedded(switch, client)


@contextlib.contextmanager
def bmv2() -> Iterator[Bmv2]:
    """Start a BMv2 without a program, in a network namespace of its own."""
    name = f"compare-{os.getpid()}-{next(_runs)}"
    with veth_namespace(name, PORTS), raw_sockets(name, PORTS) as sockets, tempfile.TemporaryDirectory() as folder:
        address = f"unix:{folder}/p4runtime"
        interfaces = {port: switch_interface(port) for port in PORTS}
        line = command(SwitchProcess(name="s1", topology="star4", p4runtime=address, interfaces=interfaces))
        with Path(folder, "log").open("wb") as log:
            process = subprocess.Popen(inside(name, line), stdout=log, stderr=log, cwd=folder)
        try:
            deadline = time.monotonic() + _START_S
            while not Path(folder, "p4runtime").exists():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"BMv2 did not start: {Path(folder, 'log').read_text()[-2000:]}")
                time.sleep(0.01)
            with contextlib.closing(Client(address)) as client:
                yield Bmv2(client, sockets, process)
        finally:
            end(process)


@contextlib.contextmanager
def embedded_and_bmv2() -> Iterator[Pair]:
    """Start the embedded switch and BMv2 without a program."""
    with embedded() as ours, bmv2() as theirs:
        yield ours, theirs


class _Updates(Fuzzer):
    """Random updates for any program, with values that packets have."""

    def __init__(self, program: CompiledProgram, seed: int, packets: PacketGenerator) -> None:
        super().__init__(program, seed)
        self._packets = packets
        self._made: list[Any] = []
        info = program.p4info
        # PI sends a field of type error, which has no width in the P4Info, to BMv2 as 0 bytes.
        self.tables = [table for table in info.tables if all(field.bitwidth for field in table.match_fields)]
        self.makers = [self.multicast, self.clone]
        self.makers += [self.table_entry] * 12 if self.tables else []
        self.makers += [self.member, self.member, self.group] if info.action_profiles else []
        self.makers += [self.counter] if info.counters else []

    def update(self) -> tuple[int, Any]:
        """Return a new update, or one of an entity that was written before: to change it, delete it, or repeat it."""
        if self._made and self.random.random() < 0.3:
            entity = p4rt.Entity()
            entity.CopyFrom(self.random.choice(self._made))
            return self.random.choice((p4rt.Update.INSERT, p4rt.Update.MODIFY, p4rt.Update.DELETE)), entity
        kind, entity = super().update()
        self._made.append(entity)
        return kind, entity

    def bytes_for(self, bits: int) -> bytes:
        value = self._packets.value(bits)
        self._packets.matched.append(value)
        if self.rarely(0.02):
            value = 1 << bits
        return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")

    def fill_match(self, kind: str, bits: int, message: Any) -> None:
        """Fill a match; those of ternary fields often overlap."""
        if kind != "ternary" or self.rarely():
            super().fill_match(kind, bits, message)
            return
        mask = self.random.choice(((1 << bits) - 1, 1, (1 << bits) - 1 & ~1 or 1, 1 << (bits - 1)))
        value = int.from_bytes(self.bytes_for(bits), "big") & mask
        message.mask, message.value = (one.to_bytes((bits + 7) // 8, "big") for one in (mask, value))

    def fill_entry(self, table: Any, entry: Any) -> None:
        """Fill an entry; of a table without a key, write the default one alone.

        BMv2 keeps the group that it made for a one-shot which it refuses.
        """
        super().fill_entry(table, entry)
        if not table.match_fields:
            entry.is_default_action = True
            entry.priority = 0
        elif entry.priority in (1, 2):
            # One for each match: among equal ones, P4Runtime leaves the choice to the switch.
            entry.priority = 1 + zlib.crc32(repr(entry.match).encode()) % (1 << 20)

    def replicas(self, message: Any) -> None:
        """Choose ports below 512: BMv2 loses other replicas of an instance that has a port beyond."""
        for port in self.random.sample((*PORTS, 300), self.random.randrange(4)):
            message.replicas.add(instance=self.random.randrange(3), egress_port=port)

    def rates(self, config: Any) -> None:
        """Leave meters without rates: colors then do not depend on the time."""


def is_unstable(program: CompiledProgram) -> bool:
    """Return whether packets of a program differ from run to run."""
    document = json.loads(program.json)
    del document["field_aliases"]
    return _names_unstable(document)


def _names_unstable(node: Any) -> bool:
    if isinstance(node, dict):
        return node.get("op") == _UNSTABLE_PRIMITIVE or any(map(_names_unstable, node.values()))
    if isinstance(node, list):
        is_field = len(node) == 2 and node[0] == "standard_metadata" and node[1] in _UNSTABLE_FIELDS
        return is_field or any(map(_names_unstable, node))
    return False


@dataclass
class Comparison:
    """Random updates and packets on two switches.

    Args:
        program: the program of both.
        seed: of all random choices.
        pair: starts both switches without a program: ours, then the other one.
        effort: number of updates and packets.

    Attributes:
        stale: packets that differ only because of fields that earlier packets left in invalid headers.
    """

    program: CompiledProgram
    seed: int
    pair: Callable[[], AbstractContextManager[Pair]]
    effort: Effort = Effort()
    stale: int = 0

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self._packets = PacketGenerator(self.program.json, self._rng)
        self._updates = _Updates(self.program, self.seed, self._packets)
        self._written: list[tuple[int, Any]] = []

    def run(self) -> str:
        """Return the first difference; empty if there is none. Raises PeerFailedError."""
        with self.pair() as (ours, theirs):
            codes = [switch.client.push(self.program.config()) for switch in (ours, theirs)]
            if (codes[0] == OK) != (codes[1] == OK):
                return f"push: {codes[0].code} and {codes[1].code}"
            rounds = self.effort.rounds if codes[0] == OK else 0
            return next(filter(None, (self._round(ours, theirs) for _ in range(rounds))), "")

    def _round(self, ours: ComparedSwitch, theirs: ComparedSwitch) -> str:
        for _ in range(self.effort.updates):
            if difference := self._write(ours, theirs):
                return difference
        for _ in range(self.effort.packets):
            port, frame = self._rng.choice(PORTS), self._packets.frame()
            if difference := _exchange(port, frame, ours, theirs):
                if theirs.ended():
                    raise PeerFailedError(f"it ended at the packet {frame.hex()} at port {port}")
                if self._differs_alone(port, frame):
                    return difference
                self.stale += 1
        # Counts of tables follow from the fields of packets.
        return "" if self.stale else _read(self.program, ours.client, theirs.client)

    def _write(self, ours: ComparedSwitch, theirs: ComparedSwitch) -> str:
        kind, entity = self._updates.update()
        self._written.append((kind, entity))
        codes = [switch.client.write((kind, entity)) for switch in (ours, theirs)]
        if codes[1].code in _SILENT:
            raise PeerFailedError(f"it answers an update by {codes[1].code}")
        return "" if codes[0] == codes[1] else f"update of type {kind}: {codes[0]} and {codes[1]}, of\n{entity}"

    def _differs_alone(self, port: int, frame: bytes) -> bool:
        """Return whether a packet also differs where it is the first one.

        BMv2 uses a packet's fields for the next one, so a program that reads a field of an invalid header reads what an
        earlier packet left there. A program with registers has other memory of earlier packets.
        """
        if json.loads(self.program.json).get("register_arrays"):
            return True
        with self.pair() as (ours, theirs):
            for switch in (ours, theirs):
                switch.client.push(self.program.config())
                for kind, entity in self._written:
                    switch.client.write((kind, entity))
            return bool(_exchange(port, frame, ours, theirs))


def _exchange(port: int, frame: bytes, ours: ComparedSwitch, theirs: ComparedSwitch) -> str:
    mine = ours.exchange(port, frame, 0)
    other = theirs.exchange(port, frame, len(mine))
    if _by_port(mine) == _by_port(other):
        return ""
    sent = [", ".join(f"{out}: {data.hex()}" for out, data in sorted(frames)) or "nothing" for frames in (mine, other)]
    return f"packet {frame.hex()} at port {port}:\n  {sent[0]}\n  {sent[1]}"


def _by_port(frames: Sequence[PortFrame]) -> dict[int, list[bytes]]:
    return {port: [data for out, data in frames if out == port] for port in {out for out, _ in frames}}


def _read(program: CompiledProgram, ours: Client, theirs: Client) -> str:
    requests = [p4rt.Entity() for _ in range(2)]
    requests[0].table_entry.SetInParent()
    requests[1].counter_entry.SetInParent()
    for counter in program.p4info.direct_counters:
        requests.append(p4rt.Entity())
        requests[-1].direct_counter_entry.table_entry.table_id = counter.direct_table_id
    for request in requests:
        (mine, code), (other, other_code) = (client.read(request) for client in (ours, theirs))
        if other_code == "INTERNAL":
            raise PeerFailedError(f"it cannot read {request}")
        if (comparable(mine), code) != (comparable(_canonical(program, other)), other_code):
            return f"read of\n{request}: {code} and {other_code}:\n{mine}\n{other}"
    return ""


def _canonical(program: CompiledProgram, entities: Sequence[Any]) -> list[Any]:
    """Clear the bits behind prefixes, which BMv2 keeps as the program has them in its entries."""
    widths = {
        (table.preamble.id, field.id): field.bitwidth for table in program.p4info.tables for field in table.match_fields
    }
    for entry in (entity.table_entry for entity in entities):
        for field in entry.match:
            if field.HasField("lpm"):
                free = widths[entry.table_id, field.field_id] - field.lpm.prefix_len
                value = int.from_bytes(field.lpm.value, "big") >> free << free
                field.lpm.value = value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")
    return list(entities)
