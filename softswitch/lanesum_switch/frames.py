# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ethernet, IPv4 and UDP headers. On hosts the kernel adds them."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass, replace

from lanesum.protocol.spec import ETHERNET_BYTES, IPV4_BYTES, UDP_BYTES

ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_ARP = 0x0806
PROTOCOL_UDP = 17
DEFAULT_TTL = 64

_UDP_FRAME = struct.Struct(">6s6sH BBHHHBBHII HHHH")
_PREFIX_BYTES = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES
_DONT_FRAGMENT = 0x4000


def ipv4_int(address: str) -> int:
    """Convert a dotted quad to an int."""
    return int(ipaddress.IPv4Address(address))


def ipv4_text(address: int) -> str:
    """Convert an int to a dotted quad."""
    return str(ipaddress.IPv4Address(address))


def mac_bytes(mac: str) -> bytes:
    """Convert text such as ``02:00:00:00:00:01`` to six bytes."""
    return bytes.fromhex(mac.replace(":", ""))


def internet_checksum(data: bytes) -> int:
    """Return the one's complement checksum (RFC 1071) of an even number of bytes."""
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def udp_checksum(source_ip: int, destination_ip: int, datagram: bytes) -> int:
    """Return the checksum of ``datagram``, a UDP header with checksum 0 and its payload.

    It is never 0, which means "none": a sum of 0 is sent as 0xFFFF (RFC 768). For an undamaged datagram with its
    checksum filled in, the result is 0xFFFF.
    """
    pseudo_header = struct.pack(">IIHH", source_ip, destination_ip, PROTOCOL_UDP, len(datagram))
    return internet_checksum(pseudo_header + datagram + bytes(len(datagram) % 2)) or 0xFFFF


@dataclass(frozen=True, slots=True)
class UdpFrame:
    """One UDP datagram in an untagged Ethernet frame. Addresses are ints, MACs six bytes."""

    source_mac: bytes
    destination_mac: bytes
    source_ip: int
    destination_ip: int
    source_port: int
    destination_port: int
    payload: bytes
    ttl: int = DEFAULT_TTL

    def pack(self, *, checksum: bool = False) -> bytes:
        """Return the frame with its IPv4 checksum; without ``checksum`` the UDP checksum is 0 ("none", RFC 768)."""
        frame = udp_prefix(self, len(self.payload)) + self.payload
        if not checksum:
            return frame
        datagram = frame[ETHERNET_BYTES + IPV4_BYTES :]
        sum_ = udp_checksum(self.source_ip, self.destination_ip, datagram)
        return frame[: _PREFIX_BYTES - 2] + sum_.to_bytes(2, "big") + self.payload

    @classmethod
    def unpack(cls, frame: bytes) -> UdpFrame | None:
        """Return the datagram in ``frame``; None if it is no UDP over IPv4, or has fragments or IPv4 options.

        Ethernet padding after the IPv4 datagram is removed.
        """
        if len(frame) < _PREFIX_BYTES:
            return None
        (dst, src, ether_type, version_ihl, _, length, _, fragment, ttl, protocol, _, src_ip, dst_ip, src_port,
         dst_port, udp_length, _) = _UDP_FRAME.unpack_from(frame)  # fmt: skip
        if ether_type != ETHERTYPE_IPV4 or version_ihl != 0x45 or protocol != PROTOCOL_UDP or fragment & 0x3FFF:
            return None
        if udp_length < UDP_BYTES or length != udp_length + IPV4_BYTES or len(frame) < ETHERNET_BYTES + length:
            return None
        payload = bytes(frame[_PREFIX_BYTES : ETHERNET_BYTES + length])
        return cls(src, dst, src_ip, dst_ip, src_port, dst_port, payload, ttl)

    def with_payload(self, payload: bytes) -> UdpFrame:
        """Return the same frame with another payload."""
        return replace(self, payload=payload)


def udp_prefix(frame: UdpFrame, payload_bytes: int) -> bytes:
    """Return the 42 bytes before a payload of ``payload_bytes``; they are the same for every payload of that length."""
    udp_length = UDP_BYTES + payload_bytes
    fields = [
        frame.destination_mac, frame.source_mac, ETHERTYPE_IPV4, 0x45, 0, IPV4_BYTES + udp_length, 0, _DONT_FRAGMENT,
        frame.ttl, PROTOCOL_UDP, 0, frame.source_ip, frame.destination_ip, frame.source_port, frame.destination_port,
        udp_length, 0,
    ]  # fmt: skip
    header = _UDP_FRAME.pack(*fields)
    fields[10] = internet_checksum(header[ETHERNET_BYTES : ETHERNET_BYTES + IPV4_BYTES])
    return _UDP_FRAME.pack(*fields)
