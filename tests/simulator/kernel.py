# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Frames as a host's kernel handles them: Ethernet, IPv4 and UDP headers, checksums made and verified.

An implementation independent of ``lanesum_switch.frames``, so that an error there is found.
"""

from __future__ import annotations

import functools
import struct
from typing import NamedTuple

_ETHERNET = struct.Struct(">6s6sH")
_IPV4 = struct.Struct(">BBHHHBBHII")
_UDP = struct.Struct(">HHHH")
PREFIX_BYTES = _ETHERNET.size + _IPV4.size + _UDP.size
_IPV4_TYPE, _UDP_PROTOCOL = 0x0800, 17
_DONT_FRAGMENT, _FRAGMENT = 0x4000, 0x3FFF
_ECN = 3
_TTL = 64


class Endpoint(NamedTuple):
    """Addresses of a host: ``ip`` as an int, ``mac`` as six bytes."""

    ip: int
    mac: bytes


class Datagram(NamedTuple):
    """A datagram as a kernel delivers it to a socket."""

    source_ip: int
    source_port: int
    port: int
    payload: bytes
    congested: bool = False


def _sum(data: bytes) -> int:
    """Return the one's complement sum of big-endian 16-bit words; an odd byte is padded."""
    if len(data) % 2:
        data += b"\0"
    # The number that the bytes form, modulo 2^16 - 1, is the folded sum; only 0 has two forms.
    total = int.from_bytes(data, "big")
    return total % 0xFFFF or (0xFFFF if total else 0)


@functools.lru_cache(maxsize=4096)
def _prefix(source: Endpoint, destination: Endpoint, source_port: int, port: int, size: int) -> tuple[bytes, int]:
    """Return all bytes before the UDP checksum, and the sum of its pseudo header."""
    length = _UDP.size + size
    fields = [
        0x45, 0, _IPV4.size + length, 0, _DONT_FRAGMENT, _TTL, _UDP_PROTOCOL, 0, source.ip, destination.ip
    ]  # fmt: skip
    fields[7] = 0xFFFF - _sum(_IPV4.pack(*fields))
    head = _ETHERNET.pack(destination.mac, source.mac, _IPV4_TYPE) + _IPV4.pack(*fields)
    pseudo = struct.pack(">IIHH", source.ip, destination.ip, _UDP_PROTOCOL, length)
    ports = struct.pack(">HHH", source_port, port, length)
    return head + ports, _sum(pseudo + ports)


def pack(source: Endpoint, destination: Endpoint, source_port: int, port: int, payload: bytes) -> bytes:
    """Return the frame of a datagram; ``destination.mac`` is that of the next hop."""
    head, total = _prefix(source, destination, source_port, port, len(payload))
    total += _sum(payload)
    checksum = 0xFFFF - (total % 0xFFFF or 0xFFFF)
    return head + struct.pack(">H", checksum or 0xFFFF) + payload


def unpack(frame: bytes, host: Endpoint) -> Datagram | None:
    """Return the datagram in a frame; None if the kernel drops it."""
    if len(frame) < PREFIX_BYTES:
        return None
    destination, _, ether_type = _ETHERNET.unpack_from(frame)
    begin = _ETHERNET.size
    (version_ihl, ecn, length, _, fragment, _, protocol, _, source_ip, destination_ip) = _IPV4.unpack_from(frame, begin)
    if destination != host.mac or ether_type != _IPV4_TYPE or destination_ip != host.ip:
        return None
    header_bytes = (version_ihl & 0xF) * 4
    if version_ihl >> 4 != 4 or header_bytes < _IPV4.size or not header_bytes + _UDP.size <= length:
        return None
    if len(frame) < begin + length or _sum(frame[begin : begin + header_bytes]) != 0xFFFF:
        return None
    if protocol != _UDP_PROTOCOL or fragment & _FRAGMENT:
        return None
    segment = frame[begin + header_bytes : begin + length]
    source_port, port, udp_length, checksum = _UDP.unpack_from(segment)
    if not _UDP.size <= udp_length <= len(segment):
        return None
    segment = segment[:udp_length]
    if checksum:
        pseudo = struct.pack(">IIHH", source_ip, destination_ip, _UDP_PROTOCOL, udp_length)
        if (_sum(pseudo) + _sum(segment)) % 0xFFFF:
            return None
    return Datagram(source_ip, source_port, port, segment[_UDP.size :], ecn & _ECN == _ECN)


def damage(frame: bytes, value: int) -> bytes:
    """Change one byte behind the Ethernet header that a checksum covers."""
    behind = _ETHERNET.size
    at = behind + (value >> 8) % (len(frame) - behind)
    damaged = frame[:at] + bytes([frame[at] ^ (value & 0xFF or 1)]) + frame[at + 1 :]
    # Without a checksum no receiver would notice, and the words stay unchanged.
    return frame if damaged[PREFIX_BYTES - 2 : PREFIX_BYTES] == b"\0\0" else damaged


def flip(frame: bytes, bit: int) -> bytes:
    """Change a bit of the payload, as a memory behind the checksum would; the checksum fits the changed bytes."""
    at = PREFIX_BYTES + bit // 8
    flipped = frame[: PREFIX_BYTES - 2] + b"\0\0" + frame[PREFIX_BYTES:at]
    flipped += bytes([frame[at] ^ 1 << bit % 8]) + frame[at + 1 :]
    begin = _ETHERNET.size + _IPV4.size
    pseudo = frame[begin - 8 : begin] + struct.pack(">HH", _UDP_PROTOCOL, len(frame) - begin)
    checksum = 0xFFFF - ((_sum(pseudo) + _sum(flipped[begin:])) % 0xFFFF or 0xFFFF)
    return flipped[: PREFIX_BYTES - 2] + struct.pack(">H", checksum or 0xFFFF) + flipped[PREFIX_BYTES:]


def mark(frame: bytes) -> bytes:
    """Return the frame with IPv4 ECN 3, the mark of congestion."""
    begin = _ETHERNET.size
    fields = list(_IPV4.unpack_from(frame, begin))
    fields[1] |= _ECN
    fields[7] = 0
    fields[7] = 0xFFFF - _sum(_IPV4.pack(*fields))
    return frame[:begin] + _IPV4.pack(*fields) + frame[begin + _IPV4.size :]


def is_marked(frame: bytes) -> bool:
    """Return True if the frame has the mark of congestion."""
    return frame[_ETHERNET.size + 1] & _ECN == _ECN
