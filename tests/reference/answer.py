# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packets that the reference switch makes of a contribution, and marks: twin of ``p4src/bmv2/result.p4``."""

from __future__ import annotations

from lanesum.aggregation.combine import Words
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import FIRST_OWNER, HEADER_BYTES, IPV4_BYTES, UDP_BYTES, WORD_BYTES, Flag, Kind
from lanesum_fabric.program.switch_job import Member, Role, Station, SwitchJob
from tests.reference.frame import Frame, Ipv4, amended, amended_udp
from tests.reference.slots import Entry

RESULT_TTL = 64
CONGESTION_EXPERIENCED = 3  # RFC 3168
_ECN_CAPABLE = (1, 2)


def result(frame: Frame, station: Station, job: SwitchJob, entry: Entry, *, ecn: bool, again: bool) -> None:
    """Turn the frame into the result of a complete entry; ``again`` for a replayed result."""
    header = _header(frame)
    collision = bool(entry.collision or header.flags & Flag.COLLISION)
    _turn_around(frame, station, Kind.RESULT, entry.words)
    _name_contributors(header, job, entry)
    header.flags = _flags(job, retransmission=again or entry.retransmission, ecn=entry.ecn or ecn, collision=collision)


def pending(frame: Frame, station: Station, job: SwitchJob, entry: Entry) -> None:
    """Turn the frame into a pending answer, which names the contributors so far."""
    header = _header(frame)
    _turn_around(frame, station, Kind.PENDING, entry.words[:0])
    _name_contributors(header, job, entry)
    header.flags = _flags(job, retransmission=True, ecn=False, collision=False)


def conflict(frame: Frame, station: Station, job: SwitchJob, entry: Entry) -> None:
    """Turn the frame into a conflict answer: operation and round size of the entry's owner and of the sender."""
    header, owner = _header(frame), entry.owner
    assert owner is not None
    _turn_around(frame, station, Kind.CONFLICT, entry.words[:0])
    header.workers, header.racks = header.racks, owner.round_words
    header.fan_in_racks, header.op = header.op, owner.op
    header.flags = _flags(job, retransmission=False, ecn=False, collision=False)


def ascend(frame: Frame, job: SwitchJob, entry: Entry, *, ecn: bool, again: bool) -> None:
    """Turn the frame into the partial sum of all members, from the sender's address to the server."""
    header = _header(frame)
    collision = bool(entry.collision or header.flags & Flag.COLLISION)
    put_words(frame, entry.words)
    round_words = header.racks
    _name_contributors(header, job, entry)
    header.workers, header.racks = entry.workers, round_words
    header.flags = Flag.UPPER | _flags(
        job, retransmission=again or entry.retransmission, ecn=entry.ecn or ecn, collision=collision
    )
    if job.role_bits & Role.PARTIAL:
        header.flags |= Flag.PARTIAL


def receive(frame: Frame, receiver: Member) -> Frame:
    """Return the copy for one receiver."""
    copy = frame.copy()
    ethernet, ipv4, udp = copy.ethernet, copy.ipv4, copy.udp
    assert ethernet is not None and ipv4 is not None and udp is not None
    if not copy.built:
        ip = receiver.host.ip
        udp.checksum = amended_udp(
            udp.checksum,
            (ipv4.destination >> 16, ip >> 16),
            (ipv4.destination & 0xFFFF, ip & 0xFFFF),
            (udp.destination_port, receiver.udp_port),
        )
    ethernet.destination, ipv4.destination = receiver.host.mac, receiver.host.ip
    udp.destination_port = receiver.udp_port
    ipv4.checksum = ipv4.fresh_checksum()
    return copy


def set_class(ipv4: Ipv4, station: Station) -> None:
    """Set the DSCP of the switch's answers; the ECN field stays."""
    ipv4.dscp_ecn = station.answer_dscp << 2 | ipv4.dscp_ecn & 3


def _header(frame: Frame) -> Header:
    assert frame.lanesum is not None
    return frame.lanesum


def _turn_around(frame: Frame, station: Station, kind: Kind, words: Words) -> None:
    """Send the frame back from the address that the worker sent to, so that a connected socket accepts it."""
    ethernet, ipv4, udp = frame.ethernet, frame.ipv4, frame.udp
    assert ethernet is not None and ipv4 is not None and udp is not None
    put_words(frame, words)
    _header(frame).kind = kind
    ethernet.source, ethernet.destination = ethernet.destination, ethernet.source
    udp.source_port, udp.destination_port = udp.destination_port, udp.source_port
    ipv4.source, ipv4.destination = ipv4.destination, ipv4.source
    ipv4.ttl = RESULT_TTL
    set_class(ipv4, station)


def owner_replica(frame: Frame) -> int | None:
    """Return the replica of the chunk's owner that a result names; None if the result has to keep its words.

    It keeps them without words that the switch has read, and if it may get no other checksum.
    """
    header, udp = frame.lanesum, frame.udp
    assert header is not None and udp is not None
    if header.kind != Kind.RESULT or header.spare < FIRST_OWNER:
        return None
    return header.spare if frame.words is not None and (frame.built or udp.checksum != 0) else None


def put_words(frame: Frame, words: Words) -> None:
    """Give a frame other words, which the switch makes checksums of."""
    assert frame.ipv4 is not None and frame.udp is not None
    frame.words, frame.built = words, True
    _header(frame).words = len(words)
    frame.udp.length = UDP_BYTES + HEADER_BYTES + WORD_BYTES * len(words)
    frame.ipv4.total_length = IPV4_BYTES + frame.udp.length


def _name_contributors(header: Header, job: SwitchJob, entry: Entry) -> None:
    """Set the contributor bitmaps: an upper switch names racks, any other switch names workers."""
    upper = bool(job.role & Role.UPPER)
    header.workers, header.racks = (0, entry.workers) if upper else (entry.workers, 0)
    header.fan_in_workers, header.fan_in_racks = (0, job.fan_in) if upper else (job.fan_in, 0)


def _flags(job: SwitchJob, *, retransmission: bool, ecn: bool, collision: bool) -> int:
    flags = Flag.UPPER if job.role & Role.UPPER else Flag(0)
    for condition, flag in ((retransmission, Flag.RETRANSMISSION), (ecn, Flag.ECN), (collision, Flag.COLLISION)):
        if condition:
            flags |= flag
    return flags


def mark_collision(frame: Frame) -> None:
    """Set the collision flag, by which the server and the workers see why the switch did not sum."""
    _add_flag(frame, Flag.COLLISION)


def mark_congestion(frame: Frame) -> str:
    """Set the ECN flag of an answer, or CE in the IPv4 header of an ECN-capable packet (RFC 3168).

    Returns the decision; empty for other packets.
    """
    ipv4 = frame.ipv4
    if frame.is_answer:
        _add_flag(frame, Flag.ECN)
        return "mark_answer"
    if ipv4 is not None and ipv4.dscp_ecn & 3 in _ECN_CAPABLE:
        before, ipv4.dscp_ecn = ipv4.dscp_ecn, ipv4.dscp_ecn | CONGESTION_EXPERIENCED
        ipv4.checksum = amended(ipv4.checksum, (before, ipv4.dscp_ecn))
        return "mark_packet"
    return ""


def _add_flag(frame: Frame, flag: Flag) -> None:
    header, udp = frame.lanesum, frame.udp
    assert header is not None and udp is not None
    before, header.flags = header.flags, header.flags | flag
    udp.checksum = amended_udp(udp.checksum, (before, header.flags))
