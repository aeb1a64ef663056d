# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""An admitted job: the frames of its members, and the frames that a switch must send, field by field."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from lanesum.protocol import Header, Kind, LaneOp, Packet
from lanesum.protocol.spec import UDP_PORT, Flag
from lanesum_fabric.program.switch_job import SWITCH_MAC, HostPort, Member, Role, SwitchJob
from lanesum_switch.frames import UdpFrame, internet_checksum
from tests.reference.switch import PortFrame

from .oracle import Words, random_words

ROUND_WORDS = 0x01020304  # longer than the rounds of these tests
_NOTHING = np.zeros(0, np.uint32)


@dataclass(frozen=True)
class Place:
    """A chunk's slot entry, and its round."""

    epoch: int = 0
    chunk: int = 0
    slot: int = 0
    shadow: int = 0
    op: LaneOp = LaneOp.ADD32
    round_words: int = ROUND_WORDS
    spare: int = 0


FIRST = Place()


@dataclass(frozen=True)
class Job:
    """A job at one switch, with the server as the next hop."""

    switch_job: SwitchJob
    accumulator_words: int
    server: HostPort

    @property
    def members(self) -> tuple[Member, ...]:
        return self.switch_job.members

    @property
    def all_members(self) -> int:
        """Bitmap of all members."""
        return (1 << len(self.members)) - 1

    @property
    def upper(self) -> bool:
        return bool(self.switch_job.role & Role.UPPER)

    def header(self, place: Place, **fields: int) -> Header:
        values: dict[str, int] = {
            "job": self.switch_job.job, "tag": self.switch_job.tag, "epoch": place.epoch, "chunk": place.chunk,
            "slot": place.slot, "shadow": place.shadow, "op": place.op, "spare": place.spare,
        }  # fmt: skip
        return Header(**{**values, **fields})

    def words(self, seed: int, op: LaneOp = LaneOp.ADD32) -> list[Words]:
        """Return random contributions, one per member."""
        rng = np.random.default_rng(seed)
        return [random_words(rng, op, self.accumulator_words, len(self.members)) for _ in self.members]

    def datagram(self, worker: int, payload: bytes, host: int = 0) -> UdpFrame:
        """Return a datagram from a member's host to the aggregation server, with the switch as first hop."""
        member = self.members[worker]
        source = member.hosts[host]
        return UdpFrame(source.mac, SWITCH_MAC, source.ip, self.server.ip, member.udp_port, UDP_PORT, payload)

    def contribution(
        self, worker: int, words: Words, place: Place = FIRST, *, host: int = 0, checksum: bool = False, **fields: int
    ) -> PortFrame:
        """Return ingress port and frame of a contribution; ``checksum``: with a UDP checksum, as kernels send it."""
        member = self.members[worker]
        values = {"workers": 1 << worker, "fan_in_workers": worker, "racks": place.round_words}
        if member.aggregate:
            values["flags"] = Flag.UPPER
        header = self.header(place, **{**values, **fields})
        frame = self.datagram(worker, Packet(header, words).pack(), host)
        return member.hosts[host].port, frame.pack(checksum=checksum)

    def _contributors(self, bitmap: int) -> dict[str, int]:
        """Return the header fields that name contributors."""
        fan_in = self.switch_job.fan_in
        if self.upper:
            return {"racks": bitmap, "fan_in_racks": fan_in, "workers": 0, "fan_in_workers": 0}
        return {"workers": bitmap, "fan_in_workers": fan_in, "racks": 0, "fan_in_racks": 0}

    def _answer(
        self, worker: int, place: Place, words: Words, *, host: int = 0, flags: int, **fields: int
    ) -> PortFrame:
        member = self.members[worker]
        receiver = member.hosts[host]
        header = self.header(place, flags=flags | (Flag.UPPER if self.upper else 0), **fields)
        payload = Packet(header, words).pack()
        frame = UdpFrame(
            SWITCH_MAC, receiver.mac, self.server.ip, receiver.ip, UDP_PORT, member.udp_port, payload
        )  # fmt: skip
        return receiver.port, frame.pack(checksum=True)

    def _to_all(self, place: Place, words: Words, **fields: int) -> list[PortFrame]:
        return sorted(self._answer(worker, place, words, **fields) for worker in range(len(self.members)))

    def result(self, words: Words, place: Place = FIRST, *, flags: int = 0) -> list[PortFrame]:
        """Return the frames of a completed chunk: one copy for each member."""
        return self._to_all(place, words, kind=Kind.RESULT, flags=flags, **self._contributors(self.all_members))

    def shortened(self, words: Words, place: Place, owner: int | None, *, flags: int = 0) -> list[PortFrame]:
        """Return the frames of a completed chunk of a scattered round: words for ``owner``, the header for others."""
        fields = {"kind": Kind.RESULT, "flags": flags, **self._contributors(self.all_members)}
        members = range(len(self.members))
        return sorted(self._answer(one, place, words if one == owner else _NOTHING, **fields) for one in members)

    def replay(
        self, worker: int, words: Words, place: Place = FIRST, *, host: int = 0, flags: int = 0
    ) -> list[PortFrame]:
        """Return the answer to a duplicate of a complete chunk: the same result, to the sender alone."""
        names = self._contributors(self.all_members)
        flags |= Flag.RETRANSMISSION
        return [self._answer(worker, place, words, host=host, kind=Kind.RESULT, flags=flags, **names)]

    def pending(self, contributors: Iterable[int], place: Place = FIRST) -> list[PortFrame]:
        """Return the answers to a duplicate of an incomplete chunk: its contributors, to all members."""
        names = self._contributors(sum(1 << contributor for contributor in contributors))
        return self._to_all(place, _NOTHING, kind=Kind.PENDING, flags=Flag.RETRANSMISSION, **names)

    def conflict(self, worker: int, place: Place, owner: Place) -> list[PortFrame]:
        """Return the answers to a contribution to ``place`` in conflict with ``owner``: both shapes, to all members."""
        fields = {
            "op": owner.op, "fan_in_racks": place.op, "racks": owner.round_words, "workers": place.round_words,
            "fan_in_workers": worker,
        }  # fmt: skip
        return self._to_all(place, _NOTHING, kind=Kind.CONFLICT, flags=0, **fields)

    def ascended(
        self,
        worker: int,
        words: Words,
        place: Place = FIRST,
        *,
        bitmap: int | None = None,
        host: int = 0,
        flags: int = 0,
    ) -> list[PortFrame]:
        """Return the rack's sum on its way to the server, from the address of ``worker``."""
        names = self._contributors(self.all_members if bitmap is None else bitmap)
        names["workers"], names["racks"] = names["workers"] | names["racks"], place.round_words
        header = self.header(place, flags=flags | Flag.UPPER, **names)
        frame = self.datagram(worker, Packet(header, words).pack(), host).pack(checksum=True)
        return routed(frame, self.server)


def routed(frame: bytes, to: HostPort) -> list[PortFrame]:
    """Return ``frame`` after one hop to ``to``, otherwise unchanged; only for frames without IPv4 options."""
    hop = bytearray(frame)
    hop[0:12] = to.mac + SWITCH_MAC
    hop[22] -= 1
    hop[24:26] = bytes(2)
    hop[24:26] = internet_checksum(bytes(hop[14:34])).to_bytes(2, "big")
    return [(to.port, bytes(hop))]
