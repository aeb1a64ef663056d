# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The reference switch: the lanesum program of ``p4src/bmv2`` in plain Python.

Methods have the names of the P4 controls, and counted decisions those of the P4 actions. The conformance suite checks
that the compiled program and this model send the same bytes.
"""

from __future__ import annotations

import enum
import random
import time
from collections.abc import Callable, Collection

import numpy as np

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import (
    DEFAULT_ACCUMULATOR_WORDS,
    VERSION,
    Flag,
)
from lanesum_fabric.program.capabilities import Capabilities
from lanesum_fabric.program.switch_job import FAULT_SCALE, SWITCH_MAC, HostPort, Member, Role, SwitchJob
from lanesum_fabric.tofino.chips import PIPES, pipe_of
from tests.reference import answer, icmp
from tests.reference.forwarding_state import Admission, ForwardingState
from tests.reference.frame import ALL_OPS, Frame, Ipv4, amended, classification, parse
from tests.reference.icmp import RedirectBound
from tests.reference.slots import Decision, SlotTable

PortFrame = tuple[int, bytes]
Copies = list[tuple[int, Frame]]

DEFAULT_SLOTS = 1024
_TICK_SHIFT = 10  # slots count time in 1,024 µs
_ARP_REQUEST, _ARP_REPLY = 1, 2


class PacketVerdict(enum.Enum):
    """The treatment of a packet."""

    DROP = 0
    ROUTE = 1
    AGGREGATE = 2
    ARP = 3
    DESCEND = 4
    RESULT = 5
    REPLAY = 6
    PENDING = 7
    CONFLICT = 8
    ASCEND = 9
    ICMP = 14
    COMBINE = 15


_CLASSIFIED = {
    "drop_malformed": PacketVerdict.DROP,
    "drop_corrupt": PacketVerdict.DROP,
    "drop_tagged": PacketVerdict.DROP,
    "drop_misdirected": PacketVerdict.DROP,
    "drop_unknown": PacketVerdict.DROP,
    "answer_arp": PacketVerdict.ARP,
    "aggregate": PacketVerdict.AGGREGATE,
    "route_past": PacketVerdict.ROUTE,
    "route_other_size": PacketVerdict.ROUTE,
    "descend_or_route": PacketVerdict.DESCEND,
    "route": PacketVerdict.ROUTE,
}
_ORIGINS = ("unknown_source", "genuine", "drop_spoofed", "drop_forged")
_ADMISSIONS = ("accept", "refuse_op", "refuse_slot", "not_a_member")
_HOPS = ("forwarded", "drop_expired", "drop_no_route", "redirect_expired", "redirect_no_route", "redirected")
_ARP_ANSWERS = ("replied", "drop_same_port", "drop_unknown_host")
_ICMP = ("answer_echo", "report", "drop_unreported", "drop_too_soon")
_DROPPED = {icmp.IcmpCause.EXPIRED: "expired", icmp.IcmpCause.NO_ROUTE: "no_route"}
_MARKS = ("mark_answer", "mark_packet")
_NO_WORDS = np.zeros(0, np.uint32)
_SHORTENED = ("keep_words", "shorten")
_DECIDED = {
    Decision.REPLAY: PacketVerdict.REPLAY,
    Decision.ASCEND_AGAIN: PacketVerdict.ASCEND,
    Decision.REPORT_PENDING: PacketVerdict.PENDING,
    Decision.REPORT_CONFLICT: PacketVerdict.CONFLICT,
    Decision.COLLIDE: PacketVerdict.ROUTE,
    Decision.PASS_LATE: PacketVerdict.ROUTE,
}
_COMPLETIONS = (Decision.CLAIM_AND_COMPLETE, Decision.CONTRIBUTE_AND_COMPLETE)


def _microseconds_from_now() -> Callable[[], int]:
    start = time.monotonic_ns()
    return lambda: (time.monotonic_ns() - start) // 1000


class ReferenceSwitch(ForwardingState):
    """A lanesum switch; implements ``lanesum_fabric.program.switch_job.ControlledSwitch``.

    Args:
        accumulator_words: accumulator words per packet; a P4 program is compiled for one value.
        slots: number of slots of a pipe. Jobs whose sums are not combined use those of pipe 0, wherever their members
            are: jobs of several pipes that share a range collide here, and not on a chip.
        seed: of the random numbers of ``set_fault``.
        clock: returns the time in microseconds; None for the time since the switch was made.
        queue_depth: returns the number of packets that wait at a port, for ``set_congestion``.
        ops: lane operations of the program; other contributions are routed, like those of another size.
        entries: the slots; None for unused ones.
        with_icmp: the program has control Icmp; without it, packets go to the CPU port.
        shortens: the program has control Shorten.
    """

    has_faults = True

    def __init__(
        self,
        accumulator_words: int = DEFAULT_ACCUMULATOR_WORDS,
        *,
        slots: int = DEFAULT_SLOTS,
        seed: int = 0,
        clock: Callable[[], int] | None = None,
        queue_depth: Callable[[int], int] = lambda port: 0,
        ops: Collection[LaneOp] = ALL_OPS,
        entries: SlotTable | None = None,
        with_icmp: bool = True,
        shortens: bool = True,
    ) -> None:
        super().__init__()
        self._ops = frozenset(ops)
        self._with_icmp = with_icmp
        self._shortens = shortens
        self._icmp_sent: dict[int, int] = {}  # port -> tick of the last message
        self._redirect_bound = RedirectBound()
        self._accumulator_words = accumulator_words
        self._number_of_slots = slots
        self._random = random.Random(seed)
        self._clock = clock or _microseconds_from_now()
        self._queue_depth = queue_depth
        self._slots = SlotTable() if entries is None else entries
        slot_decisions = (decision.value for decision in Decision)
        names = (*_CLASSIFIED, *_ORIGINS, *_ADMISSIONS, *slot_decisions, *_HOPS, *_ARP_ANSWERS, *_ICMP, *_MARKS)
        self._decisions = dict.fromkeys((*names, *_SHORTENED), 0)

    @property
    def slots(self) -> int:
        return self._number_of_slots

    @property
    def capabilities(self) -> Capabilities:
        pipes = frozenset(range(PIPES))
        redirects = not self._with_icmp
        return Capabilities(
            self._ops, icmp=self._with_icmp, redirects=redirects, combining_pipes=pipes, shortens=self._shortens
        )

    def decisions(self) -> dict[str, int]:
        """Return the number of packets by decision, as ``P4RuntimeSwitch.decisions`` does."""
        return dict(self._decisions)

    def process(self, port: int, data: bytes) -> list[PortFrame]:
        """Process a packet and return the packets that leave, as (egress port, frame)."""
        if self._lost(port, ingress=True):
            return []
        frame = self._parse(data)
        verdict = self._classify(frame)
        if frame.ipv4 is not None and verdict is not PacketVerdict.DROP:
            verdict = self._check_origin(port, frame, frame.ipv4, verdict)
        return self._egress(self._decide(port, frame, verdict, data))

    def _parse(self, data: bytes) -> Frame:
        return parse(data, self._accumulator_words, self._ops, icmp=self._with_icmp, shortens=self._shortens)

    def _decide(self, port: int, frame: Frame, verdict: PacketVerdict, data: bytes) -> Copies:
        """Return the frames to send for a classified frame."""
        copies: Copies = []
        if verdict is PacketVerdict.AGGREGATE:
            verdict, copies = self._aggregate(port, frame)
            if verdict is PacketVerdict.COMBINE:
                return self._combine(port, frame)
        elif verdict is PacketVerdict.DESCEND:
            verdict, copies = self._descend(port, frame)
        if verdict in (PacketVerdict.ROUTE, PacketVerdict.ASCEND):
            copies = self._route(port, frame, verdict, data)
        elif verdict is PacketVerdict.ARP:
            copies = self._arp(port, frame)
        return copies

    def _combine(self, port: int, frame: Frame) -> Copies:
        """Process a partial sum in the combining pipe, where it arrives without a check of its origin."""
        assert frame.ipv4 is not None
        frame.ipv4.ttl = (frame.ipv4.ttl - 1) % 256
        frame.complete_checksums()
        data = frame.deparse()
        again = self._parse(data)
        return self._decide(port, again, self._classify(again), data)

    def _count(self, name: str) -> str:
        self._decisions[name] += 1
        return name

    def _lost(self, port: int, *, ingress: bool) -> bool:
        return self._random.randrange(FAULT_SCALE) < self._fault.get((port, ingress), 0)

    def _classify(self, frame: Frame) -> PacketVerdict:
        return _CLASSIFIED[self._count(classification(frame, self._slots.ROUND_WORD_BITS))]

    def _check_origin(self, port: int, frame: Frame, ipv4: Ipv4, verdict: PacketVerdict) -> PacketVerdict:
        """Drop packets from a known address at another port, and packets of hosts with the flag of switches."""
        host, header = self._origin.get(ipv4.source), frame.lanesum
        upper = header is not None and header.version == VERSION and header.flags & Flag.UPPER
        if host is None:
            name = "unknown_source"
        elif host.port != port:
            name = "drop_spoofed"
        else:
            name = "drop_forged" if host.attached and upper else "genuine"
        self._count(name)
        return PacketVerdict.DROP if name.startswith("drop") else verdict

    def _membership(self, port: int, frame: Frame) -> Admission | None:
        header, ipv4, udp = frame.lanesum, frame.ipv4, frame.udp
        assert header is not None and ipv4 is not None and udp is not None
        aggregate = bool(header.flags & Flag.UPPER)
        admission = self._member.get((port, ipv4.source, udp.source_port, header.job, header.tag, aggregate))
        if admission is None:
            name = "not_a_member"
        elif header.slot >= admission.job.slot_count:
            name = "refuse_slot"
        elif header.op not in admission.job.ops:
            name = "refuse_op"
        else:
            name = "accept"
        self._count(name)
        return admission if name == "accept" else None

    def _aggregate(self, port: int, frame: Frame) -> tuple[PacketVerdict, Copies]:
        """Apply membership, slots, lanes and result."""
        header, words, ipv4 = frame.lanesum, frame.words, frame.ipv4
        assert header is not None and words is not None and ipv4 is not None
        admission = self._membership(port, frame)
        if admission is None:
            return PacketVerdict.ROUTE, []
        job = admission.job
        combined = bool(job.role & Role.COMBINED)
        pipe = pipe_of(port) if combined else job.combining_pipe or 0
        ecn = bool(header.flags & Flag.ECN) or ipv4.dscp_ecn & 3 == answer.CONGESTION_EXPERIENCED
        decision, entry = self._slots.contribute(
            header,
            words,
            slot=job.slot_base + header.slot + pipe * self.slots,
            worker=1 << admission.member.worker,
            fan_in=job.fan_in,
            code_table=self._lookup.get(job.job),
            ecn=ecn,
            now=self._clock() >> _TICK_SHIFT,
            ascend=bool(job.role & Role.ASCEND),
            shared=bool(job.role & Role.SHARED),
            quorum=bool(job.role & Role.QUORUM),
            lease=job.lease,
        )
        self._count(decision.value)
        verdict = _DECIDED.get(decision, PacketVerdict.DROP)
        if decision in _COMPLETIONS:
            verdict = PacketVerdict.ASCEND if job.role & Role.ASCEND else PacketVerdict.RESULT
        if decision is Decision.COLLIDE:
            answer.mark_collision(frame)
        elif verdict is PacketVerdict.ASCEND:
            answer.ascend(frame, job, entry, ecn=ecn, again=decision is Decision.ASCEND_AGAIN)
            return PacketVerdict.COMBINE if combined else verdict, []
        elif verdict is PacketVerdict.REPLAY:
            answer.result(frame, self._station, job, entry, ecn=ecn, again=True)
            return verdict, [(port, frame)]
        elif verdict in (PacketVerdict.RESULT, PacketVerdict.PENDING, PacketVerdict.CONFLICT):
            if verdict is PacketVerdict.RESULT:
                answer.result(frame, self._station, job, entry, ecn=ecn, again=False)
            elif verdict is PacketVerdict.PENDING:
                answer.pending(frame, self._station, job, entry)
            else:
                answer.conflict(frame, self._station, job, entry)
            return verdict, self._multicast(job, frame)
        return verdict, []

    def _multicast(self, job: SwitchJob, frame: Frame) -> Copies:
        """Return a copy for each replica of the job's group, addressed to it."""
        return [
            (member.host.port, self._shorten(answer.receive(frame, self._receiver[job.job, member.replica]), member))
            for member in self._groups.get(job.group, ())
            if (job.job, member.replica) in self._receiver
        ]

    def _shorten(self, copy: Frame, member: Member) -> Frame:
        """Take the words out of a copy of a result that names another worker as the owner of its chunk."""
        owner = answer.owner_replica(copy)
        if not self._shortens or member.aggregate or owner is None:
            return copy
        if self._count("keep_words" if owner == member.replica else "shorten") == "shorten":
            answer.put_words(copy, _NO_WORDS)
        return copy

    def _descend(self, port: int, frame: Frame) -> tuple[PacketVerdict, Copies]:
        """Multicast an answer of the upper switch to all workers of the job below; keep its flags."""
        ethernet, ipv4, header = frame.ethernet, frame.ipv4, frame.lanesum
        assert ethernet is not None and ipv4 is not None and header is not None
        job = self._descend_entries.get((port, header.job, header.tag))
        if job is None or ipv4.ttl <= 1:
            return PacketVerdict.ROUTE, []
        ethernet.source = ethernet.destination
        ipv4.ttl -= 1
        answer.set_class(ipv4, self._station)
        return PacketVerdict.DESCEND, self._multicast(job, frame)

    def _route(self, port: int, frame: Frame, verdict: PacketVerdict, data: bytes) -> Copies:
        ethernet, ipv4 = frame.ethernet, frame.ipv4
        assert ethernet is not None and ipv4 is not None
        speaks = self._with_icmp and self._station.ip != 0
        host = self._forward.get(ipv4.destination)
        if speaks and ipv4.destination == self._station.ip:
            cause = icmp.cause_at_switch(frame, ipv4)
        elif ipv4.ttl <= 1:
            cause = icmp.IcmpCause.EXPIRED
        elif host is None:
            cause = icmp.IcmpCause.NO_ROUTE
        else:
            return self._forward_to(host, frame)
        # A sum that ascends is no packet of its sender.
        reported = verdict is PacketVerdict.ROUTE
        if reported and not self._with_icmp and self._cpu_port not in (None, port):
            return self._redirect(port, cause, data)
        if cause in _DROPPED:
            self._count(f"drop_{_DROPPED[cause]}")
        return self._icmp(port, frame, cause) if speaks and reported else []

    def _redirect(self, port: int, cause: icmp.IcmpCause, data: bytes) -> Copies:
        """Send the packet to the CPU port as it came, within the bound of its port."""
        assert self._cpu_port is not None
        self._count(f"redirect_{_DROPPED[cause]}")
        if not self._redirect_bound.admits(port, self._clock() >> _TICK_SHIFT):
            self._count("drop_too_soon")
            return []
        self._count("redirected")
        return [(self._cpu_port, Frame(rest=data))]

    def _forward_to(self, host: HostPort, frame: Frame) -> Copies:
        ethernet, ipv4 = frame.ethernet, frame.ipv4
        assert ethernet is not None and ipv4 is not None
        self._count("forwarded")
        ethernet.source, ethernet.destination = SWITCH_MAC, host.mac
        ipv4.ttl -= 1
        # Only the word of TTL and protocol changes, by 0x0100.
        ipv4.checksum = amended(ipv4.checksum, (0x0100, 0))
        return [(host.port, frame)]

    def _icmp(self, port: int, frame: Frame, cause: icmp.IcmpCause) -> Copies:
        """Answer with an ICMP message, at most one per port and tick."""
        assert frame.ipv4 is not None
        now = self._clock() >> _TICK_SHIFT
        if not icmp.is_reportable(frame, frame.ipv4, cause):
            self._count("drop_unreported")
            return []
        if self._icmp_sent.get(port, 0) == now & 0xFFFFFFFF:
            self._count("drop_too_soon")
            return []
        self._count("answer_echo" if cause is icmp.IcmpCause.ECHO else "report")
        self._icmp_sent[port] = now & 0xFFFFFFFF
        icmp.message(frame, frame.ipv4, cause, self._station.ip)
        return [(port, frame)]

    def _arp(self, port: int, frame: Frame) -> Copies:
        ethernet, arp = frame.ethernet, frame.arp
        assert ethernet is not None and arp is not None
        host = self._forward.get(arp.target_ip)
        of_switch = self._with_icmp and arp.target_ip == self._station.ip != 0
        if arp.operation != _ARP_REQUEST or (host is None and not of_switch):
            self._count("drop_unknown_host")
            return []
        if host is not None and host.port == port:
            self._count("drop_same_port")
            return []
        self._count("replied")
        ethernet.destination, ethernet.source = arp.sender_mac, SWITCH_MAC
        arp.operation = _ARP_REPLY
        arp.target_mac, arp.sender_mac = arp.sender_mac, SWITCH_MAC
        arp.target_ip, arp.sender_ip = arp.sender_ip, arp.target_ip
        return [(port, frame)]

    def _egress(self, copies: Copies) -> list[PortFrame]:
        sent = []
        for port, frame in copies:
            if self._lost(port, ingress=False):
                continue
            if port in self._congestion and self._queue_depth(port) >= self._congestion[port]:
                mark = answer.mark_congestion(frame)
                if mark:
                    self._count(mark)
            if frame.built:
                frame.complete_checksums()
            sent.append((port, frame.deparse()))
        return sent
