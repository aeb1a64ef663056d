# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The lanesum switch in plain Python, frame by frame: a second, readable implementation of ``p4src/bmv2``.

Methods carry the names of the P4 controls, counted decisions those of the P4 actions. The conformance suite holds the
compiled program to this model, byte for byte.
"""

from __future__ import annotations

import enum
import random
from dataclasses import dataclass, replace

from lanesum.aggregation.combine import Words
from lanesum.aggregation.slots import Decision, SlotTable
from lanesum.protocol.spec import (
    DEFAULT_ACCUMULATOR_WORDS,
    HEADER_BYTES,
    IPV4_BYTES,
    UDP_BYTES,
    VERSION,
    WORD_BYTES,
    Flag,
    Kind,
)
from lanesum_control.errors import SwitchWriteError
from lanesum_control.model import FAULT_SCALE, SWITCH_MAC, HostPort, Member, SwitchJob
from lanesum_switch.reference_frame import Frame, parse

PortFrame = tuple[int, bytes]

DEFAULT_SLOTS = 1024
_ARP_REQUEST, _ARP_REPLY = 1, 2
_RESULT_TTL = 64
_CLASSIFICATIONS = ("drop_malformed", "answer_arp", "aggregate", "route_other_size", "route", "drop_unknown")
_ADMISSIONS = ("accept", "refuse_op", "refuse_slot")


class Verdict(enum.Enum):
    """What happens to the packet."""

    DROP = 0
    ROUTE = 1
    AGGREGATE = 2
    ARP = 3
    RESULT = 4
    REPLAY = 5
    PENDING = 6


_CLASSIFIED = {
    "drop_malformed": Verdict.DROP,
    "drop_unknown": Verdict.DROP,
    "answer_arp": Verdict.ARP,
    "aggregate": Verdict.AGGREGATE,
    "route_other_size": Verdict.ROUTE,
    "route": Verdict.ROUTE,
}
_DECIDED = {
    Decision.CLAIM_AND_COMPLETE: Verdict.RESULT,
    Decision.CONTRIBUTE_AND_COMPLETE: Verdict.RESULT,
    Decision.REPLAY: Verdict.REPLAY,
    Decision.REPORT_PENDING: Verdict.PENDING,
}
_MemberKey = tuple[int, int, int, int]  # ingress port, source, job, tag


@dataclass(frozen=True, slots=True)
class _Admission:
    """Action ``admit`` of table ``member``."""

    job: SwitchJob
    member: Member


class ReferenceSwitch:
    """Satisfies ``lanesum_control.model.ControlledSwitch``; frames go in through ``process``.

    Args:
        accumulator_words: words per packet, as the P4 program is compiled for one value.
        slots: slots of the whole switch.
        seed: of the fault table's dice.
    """

    def __init__(
        self, accumulator_words: int = DEFAULT_ACCUMULATOR_WORDS, *, slots: int = DEFAULT_SLOTS, seed: int = 0
    ) -> None:
        self._accumulator_words = accumulator_words
        self._number_of_slots = slots
        self._random = random.Random(seed)
        self._slots = SlotTable()
        self._forward: dict[int, HostPort] = {}
        self._member: dict[_MemberKey, _Admission] = {}
        self._receiver: dict[tuple[int, int], Member] = {}  # (job, replica)
        self._lookup: dict[int, bytes] = {}
        self._groups: dict[int, tuple[Member, ...]] = {}
        self._fault: dict[tuple[int, bool], int] = {}  # (port, ingress) -> share in FAULT_SCALE
        self._decisions = dict.fromkeys((*_CLASSIFICATIONS, *_ADMISSIONS, *(d.value for d in Decision)), 0)

    # What a controller does.

    @property
    def slots(self) -> int:
        return self._number_of_slots

    def add_host(self, host: HostPort) -> None:
        """Route to the host and answer ARP for it. Raises SwitchWriteError when its address is known already."""
        if host.ip in self._forward:
            raise SwitchWriteError(f"There is a route to {host.ip:#010x} already.")
        self._forward[host.ip] = host

    def admit(self, job: SwitchJob) -> None:
        """Program a job. Raises SwitchWriteError, with nothing changed, when a key of it is taken."""
        members = {self._member_key(job, member): _Admission(job, member) for member in job.members}
        receivers = {(job.job, member.replica): member for member in job.members}
        clash = members.keys() & self._member.keys() or receivers.keys() & self._receiver.keys()
        if clash or job.group in self._groups or (job.code_table is not None and job.job in self._lookup):
            raise SwitchWriteError(f"Job {job.job} clashes with one that is there already.")
        self._groups[job.group] = job.members
        self._receiver |= receivers
        if job.code_table is not None:
            self._lookup[job.job] = job.code_table
        self._member |= members

    def remove(self, job: SwitchJob) -> None:
        """Take a job out again; what is gone already is fine."""
        for member in job.members:
            self._member.pop(self._member_key(job, member), None)
            self._receiver.pop((job.job, member.replica), None)
        if job.code_table is not None:
            self._lookup.pop(job.job, None)
        self._groups.pop(job.group, None)

    def set_fault(self, port: int, *, ingress: bool, share: float) -> None:
        """Lose ``share`` (0 to 1) of a port's packets; 0 ends it."""
        self._fault[port, ingress] = round(share * FAULT_SCALE)

    def decisions(self) -> dict[str, int]:
        """Packets by what was done with them, as ``P4RuntimeSwitch.decisions`` counts."""
        return dict(self._decisions)

    @staticmethod
    def _member_key(job: SwitchJob, member: Member) -> _MemberKey:
        return member.host.port, member.host.ip, job.job, job.tag

    # What a packet meets.

    def process(self, port: int, data: bytes) -> list[PortFrame]:
        """Run one packet; returns what leaves, with its egress port."""
        if self._lost(port, ingress=True):
            return []
        frame = parse(data, self._accumulator_words)
        verdict = self._classify(frame)
        if verdict is Verdict.AGGREGATE:
            verdict, copies = self._aggregate(port, frame)
            if copies is not None:
                return self._egress(copies)
        if verdict is Verdict.ROUTE:
            return self._egress(self._route(frame))
        if verdict is Verdict.ARP:
            return self._egress(self._arp(port, frame))
        return []

    def _lost(self, port: int, *, ingress: bool) -> bool:
        return self._random.randrange(FAULT_SCALE) < self._fault.get((port, ingress), 0)

    def _classify(self, frame: Frame) -> Verdict:
        name = self._classification(frame)
        self._decisions[name] += 1
        return _CLASSIFIED[name]

    @staticmethod
    def _classification(frame: Frame) -> str:
        if frame.parse_failed or frame.no_ipv4 or frame.checksum_error:
            return "drop_malformed"
        if frame.arp is not None:
            return "answer_arp"
        header, ipv4, udp = frame.lanesum, frame.ipv4, frame.udp
        if header is not None and header.version == VERSION:
            assert ipv4 is not None and udp is not None
            udp_length = UDP_BYTES + HEADER_BYTES + header.words * WORD_BYTES
            length_matches = udp.length == udp_length and ipv4.total_length == IPV4_BYTES + udp_length
            if length_matches and header.kind == Kind.CONTRIBUTION:
                return "route_other_size" if frame.words is None else "aggregate"
            return "route" if length_matches and header.kind in (Kind.RESULT, Kind.PENDING) else "drop_malformed"
        return "drop_unknown" if ipv4 is None else "route"

    def _membership(self, port: int, frame: Frame) -> _Admission | None:
        header, ipv4 = frame.lanesum, frame.ipv4
        assert header is not None and ipv4 is not None
        admission = self._member.get((port, ipv4.source, header.job, header.tag))
        if admission is None:
            return None
        if header.slot >= admission.job.slot_count:
            name = "refuse_slot"
        elif header.op not in admission.job.ops:
            name = "refuse_op"
        else:
            name = "accept"
        self._decisions[name] += 1
        return admission if name == "accept" else None

    def _aggregate(self, port: int, frame: Frame) -> tuple[Verdict, list[tuple[int, Frame]] | None]:
        """Membership, slots, lanes and result; without copies the verdict says what else to do."""
        header, words = frame.lanesum, frame.words
        assert header is not None and words is not None
        admission = self._membership(port, frame)
        if admission is None:
            return Verdict.ROUTE, None
        job = admission.job
        decision, entry = self._slots.contribute(
            header,
            words,
            slot=job.slot_base + header.slot,
            worker=1 << admission.member.worker,
            fan_in=job.fan_in,
            code_table=self._lookup.get(job.job),
        )
        self._decisions[decision.value] += 1
        verdict = _DECIDED.get(decision, Verdict.DROP)
        if verdict is Verdict.DROP:
            return verdict, None
        kind = Kind.PENDING if verdict is Verdict.PENDING else Kind.RESULT
        self._turn_around(frame, kind, entry.words, workers=entry.workers, fan_in=job.fan_in)
        if verdict is Verdict.RESULT:
            return verdict, self._multicast(job, frame)
        header.flags = Flag.RESEND
        return verdict, [(port, frame)]

    @staticmethod
    def _turn_around(frame: Frame, kind: Kind, words: Words, *, workers: int, fan_in: int) -> None:
        """The answer comes from whom the worker wrote to."""
        ethernet, ipv4, udp, header = frame.ethernet, frame.ipv4, frame.udp, frame.lanesum
        assert ethernet is not None and ipv4 is not None and udp is not None and header is not None
        frame.words = words[:0] if kind is Kind.PENDING else words
        ethernet.source, ethernet.destination = ethernet.destination, ethernet.source
        header.kind, header.flags = kind, 0
        header.workers, header.fan_in_workers, header.words = workers, fan_in, len(frame.words)
        udp.source_port, udp.destination_port = udp.destination_port, udp.source_port
        udp.length = UDP_BYTES + HEADER_BYTES + WORD_BYTES * len(frame.words)
        udp.checksum = 0  # "no checksum" (RFC 768): the payload is new
        ipv4.source, ipv4.destination = ipv4.destination, ipv4.source
        ipv4.ttl, ipv4.total_length = _RESULT_TTL, IPV4_BYTES + udp.length
        ipv4.checksum = ipv4.fresh_checksum()

    def _multicast(self, job: SwitchJob, frame: Frame) -> list[tuple[int, Frame]]:
        """One copy for each replica of the job's group, addressed to it."""
        return [
            (member.host.port, self._receive(frame, self._receiver[job.job, member.replica]))
            for member in self._groups.get(job.group, ())
            if (job.job, member.replica) in self._receiver
        ]

    @staticmethod
    def _receive(frame: Frame, receiver: Member) -> Frame:
        assert frame.ethernet is not None and frame.ipv4 is not None and frame.udp is not None
        copy = replace(
            frame,
            ethernet=replace(frame.ethernet, destination=receiver.host.mac),
            ipv4=replace(frame.ipv4, destination=receiver.host.ip),
            udp=replace(frame.udp, destination_port=receiver.udp_port),
        )
        assert copy.ipv4 is not None
        copy.ipv4.checksum = copy.ipv4.fresh_checksum()
        return copy

    def _route(self, frame: Frame) -> list[tuple[int, Frame]]:
        ethernet, ipv4 = frame.ethernet, frame.ipv4
        assert ethernet is not None and ipv4 is not None
        host = self._forward.get(ipv4.destination)
        if ipv4.ttl <= 1 or host is None:
            return []
        ethernet.source, ethernet.destination = SWITCH_MAC, host.mac
        ipv4.ttl -= 1
        # RFC 1624, equation 3: the word of TTL and protocol shrinks by 0x0100, options need not be read.
        total = (~ipv4.checksum & 0xFFFF) + 0xFEFF
        ipv4.checksum = ~(total + (total >> 16)) & 0xFFFF
        return [(host.port, frame)]

    def _arp(self, port: int, frame: Frame) -> list[tuple[int, Frame]]:
        ethernet, arp = frame.ethernet, frame.arp
        assert ethernet is not None and arp is not None
        if arp.operation != _ARP_REQUEST or arp.target_ip not in self._forward:
            return []
        ethernet.destination, ethernet.source = arp.sender_mac, SWITCH_MAC
        arp.operation = _ARP_REPLY
        arp.target_mac, arp.sender_mac = arp.sender_mac, SWITCH_MAC
        arp.target_ip, arp.sender_ip = arp.sender_ip, arp.target_ip
        return [(port, frame)]

    def _egress(self, copies: list[tuple[int, Frame]]) -> list[PortFrame]:
        return [(port, frame.deparse()) for port, frame in copies if not self._lost(port, ingress=False)]
