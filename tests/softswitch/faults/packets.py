# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Frames and datagrams for tests of faults."""

from __future__ import annotations

import struct

from lanesum.protocol.packet import Header
from lanesum.protocol.spec import UDP_PORT, Kind
from lanesum_switch.frames import UdpFrame, internet_checksum, ipv4_int

WORKER, SERVER = ipv4_int("127.19.0.1"), ipv4_int("127.19.0.100")


def datagram(kind: Kind = Kind.CONTRIBUTION, *, epoch: int = 5, chunk: int = 0, tag: int = 7, spare: int = 0) -> bytes:
    """Return a lanesum packet of four words."""
    return Header(kind=kind, job=1, tag=tag, epoch=epoch, chunk=chunk, spare=spare, words=4).pack() + bytes(range(16))


def frame(payload: bytes | None = None, *, checksum: bool = True, port: int = UDP_PORT) -> bytes:
    """Return a frame from worker to server; its UDP checksum is computed here from RFC 768."""
    payload = datagram() if payload is None else payload
    packed = bytearray(UdpFrame(b"\2" * 6, b"\4" * 6, WORKER, SERVER, port, port, payload).pack())
    if checksum:
        udp_length = 8 + len(payload)
        pseudo = struct.pack(">IIBBH", WORKER, SERVER, 0, 17, udp_length)
        segment = pseudo + packed[34:42] + payload + bytes(len(payload) % 2)
        packed[40:42] = (internet_checksum(segment) or 0xFFFF).to_bytes(2, "big")
    return bytes(packed)
