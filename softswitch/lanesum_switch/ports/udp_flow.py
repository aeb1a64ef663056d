# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ethernet, IPv4 and UDP headers around the datagrams of ports on UDP sockets (RFC 768, RFC 791)."""

from __future__ import annotations

from lanesum._internal.udp_socket import Address
from lanesum.protocol.frames import UdpFrame, internet_checksum, ipv4_int, udp_checksum, udp_prefix
from lanesum.protocol.spec import ETHERNET_BYTES, IPV4_BYTES, UDP_BYTES

_UDP_AT = ETHERNET_BYTES + IPV4_BYTES
_PAYLOAD_AT = _UDP_AT + UDP_BYTES
_PLAIN_IPV4 = b"\x08\x00\x45"


class UdpFlow:
    """Encapsulation of the datagrams between two addresses in Ethernet frames.

    Args:
        source, destination: IPv4 address and UDP port.
        source_mac, destination_mac: six bytes.
        checksums: write UDP checksums and drop frames with a wrong one, as a host's kernel does. Otherwise frames
            have UDP checksum 0: loopback corrupts no datagram unless a fault plan does.
    """

    def __init__(
        self, source: Address, destination: Address, source_mac: bytes, destination_mac: bytes, *, checksums: bool
    ) -> None:
        self._frame = UdpFrame(
            source_mac,
            destination_mac,
            ipv4_int(source[0]),
            ipv4_int(destination[0]),
            source[1],
            destination[1],
            b"",
        )
        self._checksums = checksums
        self._prefixes: dict[int, bytes] = {}
        # Destination address and port of frames to the source.
        self._source_ip = self._frame.source_ip.to_bytes(4, "big")
        self._source_port = source[1].to_bytes(2, "big")

    def frame(self, payload: bytes) -> bytes:
        """Return the frame of a datagram from source to destination."""
        size = len(payload)
        prefix = self._prefixes.get(size)
        if prefix is None:
            prefix = self._prefixes[size] = udp_prefix(self._frame, size)
        if not self._checksums:
            return prefix + payload
        checksum = udp_checksum(self._frame.source_ip, self._frame.destination_ip, prefix[_UDP_AT:] + payload)
        return prefix[: _PAYLOAD_AT - 2] + checksum.to_bytes(2, "big") + payload

    def payload(self, frame: bytes) -> bytes | None:
        """Return the UDP payload of a frame to the source; None for any other frame and for a corrupted one."""
        if frame[30:34] != self._source_ip or frame[36:38] != self._source_port or frame[12:15] != _PLAIN_IPV4:
            return None
        end = _UDP_AT + int.from_bytes(frame[38:40], "big")
        if end < _PAYLOAD_AT or end > len(frame) or (self._checksums and not intact(frame[:end])):
            return None
        return frame[_PAYLOAD_AT:end]


def intact(frame: bytes) -> bool:
    """Return True if the IPv4 and UDP checksums of a frame hold; UDP checksum 0 holds.

    ``frame`` ends with the datagram.
    """
    if internet_checksum(frame[ETHERNET_BYTES:_UDP_AT]) != 0:
        return False
    if frame[_PAYLOAD_AT - 2 : _PAYLOAD_AT] == b"\x00\x00":
        return True
    source, destination = int.from_bytes(frame[26:30], "big"), int.from_bytes(frame[30:34], "big")
    return udp_checksum(source, destination, frame[_UDP_AT:]) == 0xFFFF
