# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of the reference switch: twin of ``p4src/bmv2/parser.p4``, ``checksums.p4``, ``classify.p4``, ``deparser.p4``.

The code is for reading beside the P4 source, not for speed.
"""

from __future__ import annotations

import functools
import operator
import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from lanesum.aggregation.combine import Words
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import (
    FIRST_OWNER,
    HEADER_BYTES,
    IPV4_BYTES,
    UDP_BYTES,
    UDP_PORT,
    VERSION,
    WORD_BYTES,
    Flag,
    Kind,
)
from lanesum_fabric.program.switch_job import BROADCAST_MAC, SWITCH_MAC
from lanesum_switch.frames import ETHERTYPE_ARP, ETHERTYPE_IPV4, PROTOCOL_UDP, internet_checksum, udp_checksum

_MORE_FRAGMENTS_OR_OFFSET = 0x3FFF
_FRAGMENT_OFFSET = 0x1FFF
_WITHOUT_OPTIONS = 5
_ARP_OF_IPV4 = (1, ETHERTYPE_IPV4, 6, 4)  # Ethernet, IPv4 and the lengths of their addresses
VLAN_TYPES = (0x8100, 0x88A8)  # IEEE 802.1Q, IEEE 802.1ad
QUOTED_BYTES = 8  # of a datagram in an ICMP message (RFC 792)
ALL_OPS = frozenset(LaneOp)
_ANSWERS = frozenset(VERSION << 4 | kind for kind in (Kind.RESULT, Kind.PENDING, Kind.CONFLICT))


@dataclass(slots=True)
class _WireHeader:
    """A header: its fields in order, in network byte order."""

    LAYOUT: ClassVar[struct.Struct]

    def pack(self) -> bytes:
        return self.LAYOUT.pack(*_fields_of(self.__slots__)(self))


@functools.cache
def _fields_of(names: tuple[str, ...]) -> Callable[[_WireHeader], tuple[Any, ...]]:
    """Return a function that reads all fields; ``dataclasses.astuple`` would deep-copy them."""
    return operator.attrgetter(*names)


@dataclass(slots=True)
class Ethernet(_WireHeader):
    LAYOUT: ClassVar = struct.Struct(">6s6sH")
    destination: bytes
    source: bytes
    ether_type: int


@dataclass(slots=True)
class Arp(_WireHeader):
    """IPv4 over Ethernet only (RFC 826)."""

    LAYOUT: ClassVar = struct.Struct(">HHBBH6sI6sI")
    hardware_type: int
    protocol_type: int
    hardware_length: int
    protocol_length: int
    operation: int
    sender_mac: bytes
    sender_ip: int
    target_mac: bytes
    target_ip: int


@dataclass(slots=True)
class Ipv4(_WireHeader):
    """The IPv4 header (RFC 791) without options, which stay in the rest of the frame."""

    LAYOUT: ClassVar = struct.Struct(">BBHHHBBHII")
    version_ihl: int
    dscp_ecn: int
    total_length: int
    identification: int
    flags_fragment_offset: int
    ttl: int
    protocol: int
    checksum: int
    source: int
    destination: int

    @property
    def version(self) -> int:
        return self.version_ihl >> 4

    @property
    def ihl(self) -> int:
        return self.version_ihl & 0xF

    @property
    def is_fragment(self) -> bool:
        return bool(self.flags_fragment_offset & _MORE_FRAGMENTS_OR_OFFSET)

    def fresh_checksum(self) -> int:
        """Return the correct checksum of these 20 bytes."""
        before, self.checksum = self.checksum, 0
        fresh = internet_checksum(self.pack())
        self.checksum = before
        return fresh


@dataclass(slots=True)
class Udp(_WireHeader):
    LAYOUT: ClassVar = struct.Struct(">HHHH")
    source_port: int
    destination_port: int
    length: int
    checksum: int


@dataclass(slots=True)
class Frame:
    """A parsed frame.

    Attributes:
        datagram: the first eight bytes behind the IPv4 header of other protocols than UDP, where ICMP may quote them.
        words: codes or lanes, uint32; None where the parser does not read them.
        rest: the bytes after the parsed headers.
        parse_failed: the frame ends within a header.
        built: the switch made the frame, and computes its checksums before it leaves.
    """

    ethernet: Ethernet | None = None
    arp: Arp | None = None
    ipv4: Ipv4 | None = None
    udp: Udp | None = None
    datagram: bytes = b""
    lanesum: Header | None = None
    words: Words | None = None
    rest: bytes = b""
    parse_failed: bool = False
    built: bool = False

    @property
    def bad_header(self) -> bool:
        """The Ethernet type is IPv4 or ARP, but the header is none, or is an ARP header that no host sends."""
        arp, ipv4 = self.arp, self.ipv4
        if arp is not None:
            form = (arp.hardware_type, arp.protocol_type, arp.hardware_length, arp.protocol_length)
            return form != _ARP_OF_IPV4 or bool(arp.sender_mac[0] & 1)
        return ipv4 is not None and (ipv4.version != 4 or ipv4.ihl < _WITHOUT_OPTIONS)

    @property
    def checksum_error(self) -> bool:
        """A checksum is wrong. Headers with options and payloads that are not parsed are not verified."""
        ipv4, udp = self.ipv4, self.udp
        if ipv4 is None or ipv4.ihl != _WITHOUT_OPTIONS:
            return False
        if ipv4.checksum != ipv4.fresh_checksum():
            return True
        if udp is None or self.words is None or udp.checksum == 0:
            return False
        pseudo_header = struct.pack(">IIHH", ipv4.source, ipv4.destination, PROTOCOL_UDP, udp.length)
        return internet_checksum(pseudo_header + self._datagram()) != 0

    @property
    def is_answer(self) -> bool:
        """The frame has a lanesum packet to workers."""
        return self.lanesum is not None and self.lanesum.version == VERSION and self.lanesum.kind != Kind.CONTRIBUTION

    def _datagram(self) -> bytes:
        assert self.udp is not None and self.lanesum is not None
        return self.udp.pack() + self.lanesum.pack() + self._words()

    def _words(self) -> bytes:
        return b"" if self.words is None else self.words.astype(">u4").tobytes()

    def copy(self) -> Frame:
        """Return a copy with headers of its own."""
        headers = {name: getattr(self, name) for name in ("ethernet", "arp", "ipv4", "udp", "lanesum")}
        return replace(self, **{name: replace(header) for name, header in headers.items() if header is not None})

    def complete_checksums(self) -> None:
        """Set the IPv4 and UDP checksums of a frame that the switch built."""
        assert self.ipv4 is not None and self.udp is not None
        self.ipv4.checksum = self.ipv4.fresh_checksum()
        self.udp.checksum = 0
        self.udp.checksum = udp_checksum(self.ipv4.source, self.ipv4.destination, self._datagram())

    def deparse(self) -> bytes:
        """Return the bytes: headers in wire order, then the rest."""
        headers = [self.ethernet, self.arp, self.ipv4, self.udp, self.lanesum]
        packed = b"".join(header.pack() for header in headers if header is not None)
        return packed + self.datagram + self._words() + self.rest


def amended(checksum: int, *changes: tuple[int, int]) -> int:
    """Return ``checksum`` after changes of 16-bit words, each (old, new) (RFC 1624, equation 3)."""
    total = (~checksum & 0xFFFF) + sum((~old & 0xFFFF) + new for old, new in changes)
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def amended_udp(checksum: int, *changes: tuple[int, int]) -> int:
    """Return the UDP checksum after changes; 0, which means no checksum, stays 0 and does not result (RFC 768)."""
    return amended(checksum, *changes) or 0xFFFF if checksum else 0


class _TooShort(Exception):
    """The frame ends within a header."""


_H = TypeVar("_H", Ethernet, Arp, Ipv4, Udp)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.rest = data

    def take(self, size: int) -> bytes:
        if len(self.rest) < size:
            raise _TooShort
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def lookahead(self) -> int:
        """Return the next byte without consuming it."""
        if not self.rest:
            raise _TooShort
        return self.rest[0]

    def extract(self, kind: type[_H]) -> _H:
        return kind(*kind.LAYOUT.unpack(self.take(kind.LAYOUT.size)))


def words_of(
    header: Header, accumulator_words: int, ops: Collection[int] = ALL_OPS, *, shortens: bool = True
) -> int | None:
    """Return the number of payload words of a packet whose words the switch reads, else None.

    The switch sums contributions of ``accumulator_words`` accumulator words with an operation in ``ops``. One that
    shortens results reads the results of an upper switch that name an owner, to verify their checksums first.
    """
    if shortens and header.version == VERSION and header.kind == Kind.RESULT and header.spare >= FIRST_OWNER:
        return accumulator_words if header.flags & Flag.UPPER and header.words == accumulator_words else None
    if header.version != VERSION or header.kind != Kind.CONTRIBUTION or header.op not in ops:
        return None
    # A partial sum has accumulator words already.
    wide = header.flags & Flag.UPPER
    expected = accumulator_words if wide else LaneOp(header.op).shape.uplink_words(accumulator_words)
    return expected if header.words == expected else None


def _begins_like_an_answer(udp: Udp, reader: _Reader) -> bool:
    """Return True for a datagram from lanesum's port that begins like an answer.

    Answers have any destination port; the parser reads no other datagrams from that port.
    """
    if udp.source_port != UDP_PORT or udp.length < UDP_BYTES + HEADER_BYTES:
        return False
    return reader.lookahead() in _ANSWERS


def parse(
    data: bytes,
    accumulator_words: int,
    ops: Collection[int] = ALL_OPS,
    *,
    icmp: bool = True,
    shortens: bool = True,
) -> Frame:
    """Return the frame parsed up to the lanesum header, and its words if the switch reads them, see ``words_of``.

    ``icmp``: also the bytes that ICMP messages quote.
    """
    frame, reader = Frame(), _Reader(data)
    try:
        _parse(frame, reader, accumulator_words, ops, icmp, shortens)
    except _TooShort:
        frame.parse_failed = True
    frame.rest = reader.rest
    return frame


def _parse(
    frame: Frame, reader: _Reader, accumulator_words: int, ops: Collection[int], icmp: bool, shortens: bool
) -> None:
    frame.ethernet = reader.extract(Ethernet)
    if frame.ethernet.ether_type == ETHERTYPE_ARP:
        frame.arp = reader.extract(Arp)
    if frame.ethernet.ether_type != ETHERTYPE_IPV4:
        return
    frame.ipv4 = reader.extract(Ipv4)
    # Packets with IPv4 options and fragments are routed only: their UDP header is elsewhere.
    if frame.ipv4.ihl != _WITHOUT_OPTIONS:
        return
    if frame.ipv4.is_fragment or frame.ipv4.protocol != PROTOCOL_UDP:
        first = not frame.ipv4.flags_fragment_offset & _FRAGMENT_OFFSET
        if icmp and first and frame.ipv4.total_length >= IPV4_BYTES + QUOTED_BYTES:
            frame.datagram = reader.take(QUOTED_BYTES)
        return
    frame.udp = reader.extract(Udp)
    if frame.udp.destination_port != UDP_PORT and not _begins_like_an_answer(frame.udp, reader):
        return
    frame.lanesum = Header.unpack(reader.take(HEADER_BYTES))
    words = words_of(frame.lanesum, accumulator_words, ops, shortens=shortens)
    if words is not None:
        frame.words = np.frombuffer(reader.take(words * WORD_BYTES), ">u4").astype(np.uint32)


def classification(frame: Frame, round_word_bits: int) -> str:
    """Return the action of table ``classify`` for a frame; rounds have less than two to ``round_word_bits`` words."""
    if frame.parse_failed or frame.bad_header:
        return "drop_malformed"
    ethernet = frame.ethernet
    assert ethernet is not None
    if ethernet.ether_type in VLAN_TYPES:
        return "drop_tagged"
    if ethernet.destination not in (SWITCH_MAC, BROADCAST_MAC):
        return "drop_misdirected"
    if frame.checksum_error:
        return "drop_corrupt"
    if frame.arp is not None:
        return "answer_arp"
    if ethernet.destination != SWITCH_MAC:
        return "drop_misdirected"
    header, ipv4, udp = frame.lanesum, frame.ipv4, frame.udp
    if header is None or header.version != VERSION:
        return "drop_unknown" if ipv4 is None else "route"
    assert ipv4 is not None and udp is not None
    summed = frame.words is not None and header.racks >> round_word_bits == 0
    return _lanesum_classification(header, ipv4, udp, summed)


def _lanesum_classification(header: Header, ipv4: Ipv4, udp: Udp, shape_matches: bool) -> str:
    udp_length = UDP_BYTES + HEADER_BYTES + header.words * WORD_BYTES
    if udp.length != udp_length or ipv4.total_length != IPV4_BYTES + udp_length:
        return "drop_malformed"
    if header.kind == Kind.CONTRIBUTION:
        if header.flags & (Flag.BYPASS | Flag.PARTIAL):
            return "route_past"
        return "aggregate" if shape_matches else "route_other_size"
    if header.kind not in (Kind.RESULT, Kind.PENDING, Kind.CONFLICT):
        return "drop_malformed"
    return "descend_or_route" if header.flags & Flag.UPPER else "route"
