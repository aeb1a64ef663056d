# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Echo requests (RFC 792): loss, round-trip time, and the largest packet that a path carries both ways.

Those with a limited TTL expire at a switch on the path, which may report it.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanesum._internal.udp_socket import IP_MTU_DISCOVER

PROBES = 10
_GAP_S, _WAIT_S = 0.01, 0.5  # a switch reports at most one expired packet for each port in 1 ms
_TTL = 64
_SIZE_PROBES = 2  # one may be lost
_ECHO, _ECHO_REPLY, _TIME_EXCEEDED = 8, 0, 11
_ICMP = struct.Struct(">BBHHH")
_IPV4_BYTES = 20
_IP_PMTUDISC_PROBE = 3  # linux/in.h: do not fragment


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers to ``sent`` echo requests: their round-trip times in seconds by IPv4 address of the sender."""

    sent: int
    times: Mapping[str, list[float]]

    def of(self, ip: str) -> list[float]:
        """Return the round-trip times of one sender."""
        return self.times.get(ip, [])


def in_us(times: list[float]) -> str:
    """Return the range of one or more round-trip times."""
    return f"RTT {1e6 * min(times):,.0f} to {1e6 * max(times):,.0f} µs"


def probe(ip: str, packet_bytes: int = 0, ttl: int = _TTL) -> Answers:
    """Send 10 echo requests in IPv4 packets of ``packet_bytes``, at least 28, and return the answers. Raises OSError.

    Reports of switches need a raw socket, which is for root; without one, only replies of ``ip`` are received.
    """
    sock, number = _open()
    sent: dict[int, float] = {}
    answers: dict[int, tuple[str, float]] = {}
    with sock:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
        for sequence in range(ttl * PROBES, (ttl + 1) * PROBES):  # late answers to other requests have other numbers
            sent[sequence] = time.monotonic()
            sock.sendto(_request(number, sequence, packet_bytes), (ip, 0))
            _receive(sock, number, sent, answers, time.monotonic() + _GAP_S)
        _receive(sock, number, sent, answers, time.monotonic() + _WAIT_S)
    times: dict[str, list[float]] = {}
    for sender, seconds in answers.values():
        times.setdefault(sender, []).append(seconds)
    return Answers(len(sent), times)


def carried_bytes(ip: str, sizes: Sequence[int]) -> int | None:
    """Return the largest of ``sizes``, in bytes of IPv4, whose echo request and reply both arrive unfragmented.

    Each is at least 28, and fits the own interface. None if there is no reply at all: the host, or a filter, drops echo
    requests. Raises OSError.
    """
    sock, number = _open()
    sent: dict[int, float] = {}
    answers: dict[int, tuple[str, float]] = {}
    with sock:
        for _ in range(_SIZE_PROBES):
            for sequence, size in enumerate(sizes):
                sent.setdefault(sequence, time.monotonic())
                sock.sendto(_request(number, sequence, size), (ip, 0))
            _receive(sock, number, sent, answers, time.monotonic() + _WAIT_S)
    return max((sizes[sequence] for sequence, (sender, _) in answers.items() if sender == ip), default=None)


def _open() -> tuple[socket.socket, int | None]:
    """Return a socket that never fragments, and the number of its requests; None if the kernel numbers them."""
    try:
        sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        number: int | None = os.getpid() & 0xFFFF
    except PermissionError:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
        number = None
    sock.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, _IP_PMTUDISC_PROBE)
    return sock, number


def _request(number: int | None, sequence: int, packet_bytes: int) -> bytes:
    total = sum(struct.unpack(">4H", _ICMP.pack(_ECHO, 0, 0, number or 0, sequence)))
    checksum = ~(total + (total >> 16)) & 0xFFFF
    padding = bytes(max(0, packet_bytes - _IPV4_BYTES - _ICMP.size))
    return _ICMP.pack(_ECHO, 0, checksum, number or 0, sequence) + padding


def _receive(
    sock: socket.socket,
    number: int | None,
    sent: Mapping[int, float],
    answers: dict[int, tuple[str, float]],
    until: float,
) -> None:
    """Add answers until a time, or until all requests are answered."""
    while len(answers) < len(sent) and select.select([sock], [], [], max(0.0, until - time.monotonic()))[0]:
        data, (sender, _) = sock.recvfrom(1 << 16)
        sequence = answered(data, number)
        if sequence is not None and sequence in sent:
            answers.setdefault(sequence, (sender, time.monotonic() - sent[sequence]))


def answered(data: bytes, number: int | None) -> int | None:
    """Return the sequence number of the request with ``number`` that a message answers; None for other messages.

    ``data``: an IPv4 packet; without a number, the ICMP message alone.
    """
    message = data if number is None else data[_IPV4_BYTES:]
    if message[:1] == bytes([_TIME_EXCEEDED]):
        message = message[_ICMP.size + _IPV4_BYTES :]  # the quoted request
        expected = _ECHO
    else:
        expected = _ECHO_REPLY
    if len(message) < _ICMP.size:
        return None
    kind, _, _, whose, sequence = _ICMP.unpack_from(message)
    return sequence if kind == expected and number in (None, whose) else None
