# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Options of the UDP sockets of workers, servers and switch ports."""

from __future__ import annotations

import contextlib
import os
import socket
import struct

import pytest

from lanesum._internal.udp_socket import open_udp_socket

_ETH_P_IP = 0x0800
_ETHERNET_BYTES = 14
_MORE_FRAGMENTS_OR_OFFSET = 0x3FFF


def _checksum(data: bytes) -> int:
    total = sum(word for (word,) in struct.iter_unpack(">H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def _fragmentation_needed(sender: socket.socket, mtu: int) -> bytes:
    """Return an ICMP message (RFC 1191) that claims that the path of a connected socket has this MTU."""
    (near, near_port), (far, far_port) = sender.getsockname(), sender.getpeername()
    addresses = socket.inet_aton(near) + socket.inet_aton(far)
    quoted = struct.pack(">BBHHHBBH", 0x45, 0, 28, 0, 0x4000, 64, socket.IPPROTO_UDP, 0) + addresses
    rest = struct.pack(">HH", 0, mtu) + quoted + struct.pack(">HHHH", near_port, far_port, 8, 0)
    start = struct.pack(">BB", 3, 4)
    return start + struct.pack(">H", _checksum(start + bytes(2) + rest)) + rest


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for raw sockets")
def test_socket_after_forged_icmp_sends_whole_datagrams() -> None:
    with (
        open_udp_socket(("127.0.0.2", 0)) as receiver,
        open_udp_socket(("127.0.0.1", 0), peer=receiver.getsockname()) as sender,
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as forger,
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_IP)) as capture,
    ):
        capture.bind(("lo", _ETH_P_IP))
        capture.settimeout(60)
        # On loopback the kernel handles the message before sendto returns.
        forger.sendto(_fragmentation_needed(sender, mtu=600), ("127.0.0.1", 0))
        # The kernel reports the message once, in the next call on the socket.
        with contextlib.suppress(OSError):
            sender.send(b"")
        sender.send(bytes(1400))
        while True:
            packet = capture.recv(65536)[_ETHERNET_BYTES:]
            if packet[9] == socket.IPPROTO_UDP and len(packet) > 100:
                break
    assert len(packet) == 20 + 8 + 1400
    assert struct.unpack_from(">H", packet, 6)[0] & _MORE_FRAGMENTS_OR_OFFSET == 0
