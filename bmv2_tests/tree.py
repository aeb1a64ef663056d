# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Two levels of switches, each with its twin, and the links between them.

::

                 server
                    |7
                +-------+
                | upper |
                +-------+
               0 |     | 1
               7 |     | 7          uplinks
            +------+ +------+
            | rack | | rack |       workers 0 1 2 at the left one, 3 4 5 at the right one
            +------+ +------+
             0 1 2    0 1 2
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lanesum.protocol import Header, LaneOp, Packet
from lanesum.protocol.spec import UDP_PORT
from lanesum_fabric.program.switch_job import SWITCH_MAC, HostPort, Member, Role, SwitchJob
from lanesum_switch.frames import UdpFrame, ipv4_int
from tests.reference.switch import PortFrame

from .jobs import Place
from .oracle import CODE_TABLE, Words, random_words
from .target import Target
from .twins import Twins

RACKS, ROWS = 2, 3
WORKERS = RACKS * ROWS
UPPER = RACKS  # number of the upper switch among the nodes
UPLINK = SERVER_PORT = 7
_SERVER_IP = ipv4_int("10.1.9.9")
_SERVER_MAC = bytes.fromhex("020000000999")
_UDP_PORT = 40000
ALL_RACKS = (1 << RACKS) - 1

# A frame that left the tree: (worker or SERVER, frame).
SERVER = -1
Arrival = tuple[int, bytes]
# A frame in flight to a switch: (node, its port, frame).
InFlight = tuple[int, int, bytes]


def _worker(worker: int) -> tuple[int, bytes]:
    return ipv4_int("10.1.0.1") + worker, bytes([2, 0, 0, 0, 3, worker])


@dataclass(frozen=True)
class TreeJob:
    """One job on all three switches."""

    parts: tuple[SwitchJob, ...]  # by node
    accumulator_words: int

    @property
    def number(self) -> int:
        return self.parts[UPPER].job

    def words(self, seed: int, op: LaneOp) -> list[Words]:
        rng = np.random.default_rng(seed)
        return [random_words(rng, op, self.accumulator_words, WORKERS) for _ in range(WORKERS)]

    def contribution(
        self, worker: int, words: Words, place: Place, *, checksum: bool = True, **fields: int
    ) -> InFlight:
        """Return a contribution in flight to the worker's rack switch."""
        ip, mac = _worker(worker)
        values: dict[str, int] = {
            "job": self.number, "tag": self.parts[UPPER].tag, "epoch": place.epoch, "chunk": place.chunk,
            "slot": place.slot, "shadow": place.shadow, "op": place.op, "racks": place.round_words,
            "workers": 1 << worker % ROWS, "fan_in_workers": worker, "spare": place.spare,
        }  # fmt: skip
        payload = Packet(Header(**{**values, **fields}), words).pack()
        frame = UdpFrame(mac, SWITCH_MAC, ip, _SERVER_IP, _UDP_PORT, UDP_PORT, payload)
        return worker // ROWS, worker % ROWS, frame.pack(checksum=checksum)


class Tree:
    """Three switches of one target."""

    def __init__(self, targets: list[Target]) -> None:
        self.nodes = [Twins(target) for target in targets]
        self.accumulator_words = targets[0].accumulator_words
        self.num_schedules = targets[0].num_schedules
        self.name = targets[0].name
        self.ops = targets[0].ops
        self._next_job = 1
        for number, node in enumerate(self.nodes):
            for worker in range(WORKERS):
                node.add_host(self._host(number, worker))
            attached = number == UPPER
            mac = _SERVER_MAC if attached else SWITCH_MAC
            node.add_host(HostPort(SERVER_PORT, _SERVER_IP, mac, attached=attached))

    @staticmethod
    def _host(node: int, worker: int) -> HostPort:
        """Return the entry of a worker's address at one of the switches."""
        ip, mac = _worker(worker)
        if node == UPPER:
            return HostPort(worker // ROWS, ip, SWITCH_MAC, attached=False)
        if node == worker // ROWS:
            return HostPort(worker % ROWS, ip, mac)
        return HostPort(UPLINK, ip, SWITCH_MAC, attached=False)

    def admit(self, *, slot_count: int = 4) -> TreeJob:
        number, self._next_job = self._next_job, self._next_job + 1
        tag = 0x7E000000 + number
        parts = []
        for node in range(RACKS):
            workers = range(node * ROWS, (node + 1) * ROWS)
            members = tuple(
                Member(worker % ROWS, (self._host(node, worker),), _UDP_PORT, numbers=(worker,)) for worker in workers
            )  # fmt: skip
            parts.append(self._part(number, tag, slot_count, members, Role.ASCEND, (UPLINK,)))
        members = tuple(
            Member(
                rack,
                tuple(self._host(UPPER, worker) for worker in range(rack * ROWS, (rack + 1) * ROWS)),
                _UDP_PORT,
                aggregate=True,
            )
            for rack in range(RACKS)
        )
        parts.append(self._part(number, tag, slot_count, members, Role.UPPER, ()))
        for node, part in zip(self.nodes, parts, strict=True):
            node.admit_job(part)
        return TreeJob(tuple(parts), self.accumulator_words)

    def _part(
        self, job: int, tag: int, slot_count: int, members: tuple[Member, ...], role: Role, uplinks: tuple[int, ...]
    ) -> SwitchJob:
        table = CODE_TABLE if any(op.shape.lookup for op in self.ops) else None
        return SwitchJob(job, tag, 0, slot_count, 1, members, self.ops, table, role, uplinks=uplinks)

    def scope(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.clean_up()

    def clean_up(self) -> None:
        for node in self.nodes:
            node.clean_up()

    def hop(self, in_flight: InFlight) -> tuple[list[InFlight], list[Arrival]]:
        """Deliver a frame to a switch; return the frames in flight to the next switch, and those that left the tree."""
        node, port, frame = in_flight
        on: list[InFlight] = []
        arrived: list[Arrival] = []
        for out_port, out in self.nodes[node].exchange(port, frame):
            if node == UPPER:
                if out_port == SERVER_PORT:
                    arrived.append((SERVER, out))
                else:
                    on.append((out_port, UPLINK, out))
            elif out_port == UPLINK:
                on.append((UPPER, node, out))
            else:
                arrived.append((node * ROWS + out_port, out))
        return on, arrived

    def carry(self, in_flight: InFlight) -> list[Arrival]:
        """Carry a frame through all switches without loss; return the frames that left, sorted by receiver."""
        queue, arrivals = [in_flight], []
        while queue:
            on, arrived = self.hop(queue.pop(0))
            queue += on
            arrivals += arrived
        return sorted(arrivals)


def answer_of(arrival: Arrival) -> Packet:
    """Return the packet in a worker's frame, after checking its addresses and ports."""
    worker, frame = arrival
    ip, mac = _worker(worker)
    datagram = UdpFrame.unpack(frame)
    assert datagram is not None
    assert (datagram.destination_mac, datagram.destination_ip, datagram.destination_port) == (mac, ip, _UDP_PORT)
    assert (datagram.source_ip, datagram.source_port) == (_SERVER_IP, UDP_PORT)
    return Packet.unpack(datagram.payload)


__all__ = [
    "ALL_RACKS",
    "RACKS",
    "ROWS",
    "SERVER",
    "SERVER_PORT",
    "UPLINK",
    "UPPER",
    "WORKERS",
    "Arrival",
    "InFlight",
    "PortFrame",
    "Tree",
    "TreeJob",
    "answer_of",
]  # fmt: skip
