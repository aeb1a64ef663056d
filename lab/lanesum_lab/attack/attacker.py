# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Somebody at a port of a switch who has seen everything that a job sends: its tag, epochs, addresses and slots."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from lanesum.protocol.frames import UdpFrame, ipv4_int
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import ETHERNET_BYTES, IPV4_BYTES, UDP_BYTES, UDP_PORT, Flag, Kind
from lanesum.transport.ticket import JobTicket

LANESUM_AT = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES
_NOBODY = 0xCB007100  # 203.0.113.0/24, RFC 5737: addresses that no controller names
_FULL = 1 << 32


@dataclass(frozen=True, slots=True)
class Host:
    """A host on the wire. ``ip`` as an int, ``mac`` six bytes."""

    mac: bytes
    ip: int
    udp_port: int = UDP_PORT


@dataclass(slots=True)
class Loot:
    """What the attacker knows of its victim.

    Attributes:
        tickets: of all workers of the job.
        macs: their hosts', in the same order.
        server_mac, gateway_mac: of the aggregation server and of the switch.
        frames: captured contributions, as they were on the wire, with UDP checksums or without.
    """

    tickets: tuple[JobTicket, ...]
    macs: tuple[bytes, ...]
    server_mac: bytes
    gateway_mac: bytes
    frames: list[bytes] = field(default_factory=list)

    def capture(self, frame: bytes) -> None:
        """Keep a contribution that was on its way to a switch; what goes past all switches is of less use."""
        if not Header.unpack(frame[LANESUM_AT:]).flags & Flag.BYPASS:
            self.frames.append(frame)

    @property
    def workers(self) -> list[Host]:
        return [
            Host(mac, ipv4_int(ticket.local[0]), ticket.local[1])
            for ticket, mac in zip(self.tickets, self.macs, strict=True)
        ]

    @property
    def server(self) -> Host:
        ip, port = self.tickets[0].server
        return Host(self.server_mac, ipv4_int(ip), port)


class Attacker:
    """Makes frames for one port.

    Args:
        loot: what is known of the victim; ``loot.frames`` must not be empty.
        own: the host that the attacker's port belongs to.
        ticket: a ticket of the attacker's own: of another job, or an old one of the victim's.
    """

    def __init__(self, loot: Loot, own: Host, ticket: JobTicket | None = None) -> None:
        self.loot = loot
        self.own = own
        self.ticket = ticket

    def captured(self, dice: random.Random) -> bytes:
        return dice.choice(self.loot.frames)

    def header(self, dice: random.Random) -> Header:
        """Of a captured contribution."""
        return Header.unpack(self.captured(dice)[LANESUM_AT:])

    def words(self, dice: random.Random, header: Header) -> bytes:
        """A contribution with other words, of the right number for the operation and the flags."""
        header.kind = Kind.CONTRIBUTION
        wide = header.flags & Flag.UPPER
        size = self.loot.tickets[0].accumulator_words
        number = size if wide else LaneOp(header.op).shape.uplink_words(size)
        return Packet(header, np.frombuffer(dice.randbytes(4 * number), np.uint32)).pack()

    def to_server(self, source: Host, payload: bytes, dice: random.Random) -> bytes:
        server = self.loot.server
        return UdpFrame(
            source.mac, self.loot.gateway_mac, source.ip, server.ip, source.udp_port, server.udp_port, payload
        ).pack(checksum=dice.random() < 0.5)

    def to_worker(self, source: Host, payload: bytes, dice: random.Random) -> bytes:
        worker = dice.choice(self.loot.workers)
        return UdpFrame(
            source.mac, self.loot.gateway_mac, source.ip, worker.ip, UDP_PORT, worker.udp_port, payload
        ).pack(checksum=dice.random() < 0.5)

    def answer(self, dice: random.Random, kind: Kind, flags: int = 0) -> bytes:
        """What a worker might take for the answer to one of its contributions."""
        header, ticket = self.header(dice), self.loot.tickets[0]
        header.kind, header.flags = kind, flags
        if kind is Kind.RESULT:
            header.workers, header.racks = (1 << ticket.workers) - 1, 0
            header.fan_in_workers = ticket.workers
            return Packet(header, np.frombuffer(dice.randbytes(4 * ticket.accumulator_words), np.uint32)).pack()
        header.workers, header.racks = dice.randrange(_FULL), dice.randrange(_FULL)
        return Packet(header, np.zeros(0, np.uint32)).pack()

    def nobody(self, dice: random.Random) -> Host:
        return Host(self.own.mac, _NOBODY + dice.randrange(256), dice.choice(self.loot.workers).udp_port)

    def own_ticket(self) -> JobTicket:
        assert self.ticket is not None, "this kind of attack needs a ticket of the attacker's own"
        return self.ticket
