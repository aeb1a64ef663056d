# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Attacker on a switch port that has captured all packets of a job: its tag, epochs, addresses and slots."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import ETHERNET_BYTES, IPV4_BYTES, UDP_BYTES, UDP_PORT, Flag, Kind
from lanesum.transport.ticket import JobTicket
from lanesum_switch.frames import UdpFrame, ipv4_int

LANESUM_AT = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES
_UNASSIGNED_NETWORK = 0xCB007100  # 203.0.113.0/24 (RFC 5737): addresses that no controller assigns
_FULL = 1 << 32


@dataclass(frozen=True, slots=True)
class Host:
    """Addresses of a host: ``ip`` as an int, ``mac`` as six bytes."""

    mac: bytes
    ip: int
    udp_port: int = UDP_PORT


@dataclass(slots=True)
class CapturedTraffic:
    """Packets and addresses that an attacker has captured of a job.

    Attributes:
        tickets: tickets of all workers of the job.
        macs: MAC addresses of their hosts, in the same order.
        server_mac, gateway_mac: MAC addresses of the aggregation server and of the switch.
        frames: captured contributions, with UDP checksums or without.
    """

    tickets: tuple[JobTicket, ...]
    macs: tuple[bytes, ...]
    server_mac: bytes
    gateway_mac: bytes
    frames: list[bytes] = field(default_factory=list)

    def capture(self, frame: bytes) -> None:
        """Keep a contribution unless it bypasses the switches."""
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
    """Makes frames for one switch port.

    Args:
        traffic: captured traffic of the attacked job; ``traffic.frames`` must not be empty.
        own: host at the attacker's port.
        ticket: ticket of the attacker: of another job, or an earlier one of the attacked job.
    """

    def __init__(self, traffic: CapturedTraffic, own: Host, ticket: JobTicket | None = None) -> None:
        self.traffic = traffic
        self.own = own
        self.ticket = ticket

    def captured_frame(self, rng: random.Random) -> bytes:
        return rng.choice(self.traffic.frames)

    def header(self, rng: random.Random) -> Header:
        """Return the header of a captured contribution."""
        return Header.unpack(self.captured_frame(rng)[LANESUM_AT:])

    def words(self, rng: random.Random, header: Header) -> bytes:
        """Return a contribution with random words, as many as the operation and the flags require."""
        header.kind = Kind.CONTRIBUTION
        wide = header.flags & Flag.UPPER
        size = self.traffic.tickets[0].accumulator_words
        number = size if wide else LaneOp(header.op).shape.uplink_words(size)
        return Packet(header, np.frombuffer(rng.randbytes(4 * number), np.uint32)).pack()

    def to_server(self, source: Host, payload: bytes, rng: random.Random) -> bytes:
        server = self.traffic.server
        return UdpFrame(
            source.mac, self.traffic.gateway_mac, source.ip, server.ip, source.udp_port, server.udp_port, payload
        ).pack(checksum=rng.random() < 0.5)

    def to_worker(self, source: Host, payload: bytes, rng: random.Random) -> bytes:
        worker = rng.choice(self.traffic.workers)
        return UdpFrame(
            source.mac, self.traffic.gateway_mac, source.ip, worker.ip, UDP_PORT, worker.udp_port, payload
        ).pack(checksum=rng.random() < 0.5)

    def answer(self, rng: random.Random, kind: Kind, flags: int = 0) -> bytes:
        """Return a packet that looks like the answer to a worker's contribution."""
        header, ticket = self.header(rng), self.traffic.tickets[0]
        header.kind, header.flags = kind, flags
        if kind is Kind.RESULT:
            header.workers, header.racks = (1 << ticket.workers) - 1, 0
            header.fan_in_workers = ticket.workers
            return Packet(header, np.frombuffer(rng.randbytes(4 * ticket.accumulator_words), np.uint32)).pack()
        header.workers, header.racks = rng.randrange(_FULL), rng.randrange(_FULL)
        return Packet(header, np.zeros(0, np.uint32)).pack()

    def unassigned_host(self, rng: random.Random) -> Host:
        return Host(self.own.mac, _UNASSIGNED_NETWORK + rng.randrange(256), rng.choice(self.traffic.workers).udp_port)

    def own_ticket(self) -> JobTicket:
        assert self.ticket is not None, "this kind of attack needs a ticket of the attacker's own"
        return self.ticket
