# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""IPv4 packets for the program checksums.p4."""

from __future__ import annotations

import struct


def plain_checksum(data: bytes) -> int:
    """Return the RFC 1071 checksum, summed word by word."""
    total = 0
    for word in struct.unpack(f">{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)):
        total += word
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(payload: bytes, source: int = 0x0A000001, port: int = 1000) -> bytes:
    """Return an IPv4 and UDP packet to 10.0.0.2 without a link-layer header."""
    length = 8 + len(payload)
    header = bytearray(struct.pack(">BBHHBBBBHII", 0x45, 0, 20 + length, 7, 0x40, 0, 64, 17, 0, source, 0x0A000002))
    header[10:12] = plain_checksum(bytes(header)).to_bytes(2, "big")
    return bytes(header) + struct.pack(">HHHH", port, 2000, length, 0) + payload
