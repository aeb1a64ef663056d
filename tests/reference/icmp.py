# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""ICMP messages of the reference switch (RFC 792), and the bound on packets that go to the CPU port instead.

Twins of ``p4src/bmv2/icmp.p4`` and ``p4src/tofino/redirect.p4``.
"""

from __future__ import annotations

import enum
import struct

from lanesum.protocol.spec import IPV4_BYTES
from lanesum_switch.frames import PROTOCOL_UDP, internet_checksum
from tests.reference.frame import QUOTED_BYTES, Frame, Ipv4, amended

PROTOCOL_ICMP = 1
_ECHO_REQUEST = b"\x08\x00"
_ERRORS = (3, 4, 5, 11, 12)  # types of messages that no message is sent about
_ICMP_BYTES = 8
_MORE_FRAGMENTS = 0x2000
_DO_NOT_FRAGMENT = 0x4000
_NETWORK_CONTROL = 48 << 2
_TTL = 64


class IcmpCause(enum.Enum):
    """Cause of a message; ``value``: its type and code."""

    ECHO = (0, 0)
    EXPIRED = (11, 0)
    NO_ROUTE = (3, 0)
    PROTOCOL = (3, 2)
    PORT = (3, 3)


def cause_at_switch(frame: Frame, ipv4: Ipv4) -> IcmpCause:
    """Return the message that a packet to the switch's own address causes."""
    if ipv4.protocol == PROTOCOL_UDP:
        return IcmpCause.PORT
    whole = not ipv4.flags_fragment_offset & _MORE_FRAGMENTS
    if ipv4.protocol == PROTOCOL_ICMP and frame.datagram[:2] == _ECHO_REQUEST and whole:
        return IcmpCause.ECHO
    return IcmpCause.PROTOCOL


def is_reportable(frame: Frame, ipv4: Ipv4, cause: IcmpCause) -> bool:
    """Return False for packets that a router sends no message about (RFC 1812, section 4.3.2.7), and short ones."""
    if frame.udp is None and not frame.datagram:
        return False
    if ipv4.source >> 29 == 7 or ipv4.source >> 24 == 0:  # multicast, reserved, broadcast; this network
        return False
    if ipv4.protocol != PROTOCOL_ICMP or cause is IcmpCause.ECHO:
        return True
    return cause is not IcmpCause.PROTOCOL and frame.datagram[0] not in _ERRORS


def message(frame: Frame, ipv4: Ipv4, cause: IcmpCause, own_ip: int) -> None:
    """Turn the frame into the message to its sender."""
    ethernet = frame.ethernet
    assert ethernet is not None
    if cause is IcmpCause.ECHO:
        (checksum,) = struct.unpack_from(">H", frame.datagram, 2)
        checksum = amended(checksum, (_ECHO_REQUEST[0] << 8, 0))
        frame.datagram = struct.pack(">HH", 0, checksum) + frame.datagram[4:]
    else:
        quote = ipv4.pack() + (frame.datagram if frame.udp is None else frame.udp.pack())
        head = struct.pack(">BBHI", *cause.value, 0, 0)
        checksum = internet_checksum(head + quote)
        frame.datagram = head[:2] + checksum.to_bytes(2, "big") + head[4:] + quote
        frame.udp, frame.lanesum, frame.words, frame.rest = None, None, None, b""
        ipv4.total_length = IPV4_BYTES + _ICMP_BYTES + IPV4_BYTES + QUOTED_BYTES
        ipv4.dscp_ecn, ipv4.protocol = _NETWORK_CONTROL, PROTOCOL_ICMP
        ipv4.identification, ipv4.flags_fragment_offset = 0, _DO_NOT_FRAGMENT
    ethernet.source, ethernet.destination = ethernet.destination, ethernet.source
    ipv4.source, ipv4.destination, ipv4.ttl = own_ip, ipv4.source, _TTL
    ipv4.checksum = ipv4.fresh_checksum()


REDIRECTS_PER_TICK = 16
_TICK_BITS = 16
_TICK_SHIFT = 4  # in ticks of the slots


class RedirectBound:
    """Packets that each port had redirected in its last tick with any."""

    def __init__(self) -> None:
        self._redirects: dict[int, tuple[int, int]] = {}  # port -> (tick, packets)

    def admits(self, port: int, now: int) -> bool:
        """Count a packet from ``port`` at ``now``, in ticks of the slots; return False if it is one too many."""
        tick = now >> _TICK_SHIFT & (1 << _TICK_BITS) - 1
        last, packets = self._redirects.get(port, (0, 0))
        if tick != last:
            packets = 0
        self._redirects[port] = tick, min(packets + 1, REDIRECTS_PER_TICK)
        return packets < REDIRECTS_PER_TICK
