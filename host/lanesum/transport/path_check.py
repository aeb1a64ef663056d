# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of a session's paths before its first packet: path MTU and socket buffers."""

from __future__ import annotations

import contextlib
import ipaddress
import socket

from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import ETHERNET_MTU, HEADER_BYTES, WORD_BYTES
from lanesum.transport import echo
from lanesum.transport.ticket import JobTicket, name_racks

_IP_MTU = 14  # linux/in.h
_IP_AND_UDP_BYTES = 28
# Jumbo frames, Ethernet, PPPoE, tunnels of VXLAN, WireGuard and IPsec, the least of IPv6 and of IPv4.
_COMMON_MTUS = (9000, 1500, 1492, 1450, 1420, 1400, 1280, 576)
#: Largest packets of a job, which 64 KiB of joined packets hold seven of.
JUMBO_MTU = 9000
# A datagram takes more of a socket's buffer than its size: the kernel counts its own bookkeeping too, and rounds memory
# up to powers of two.
_BOOKKEEPING_BYTES = 1024
_MAX_BUFFER_REQUEST = 1 << 30
_BUFFERS = ((socket.SO_RCVBUF, "net.core.rmem_max"), (socket.SO_SNDBUF, "net.core.wmem_max"))


def largest_words(path_mtu: int, bitmaps: int = 0) -> int:
    """Return the most accumulator words whose results fit the path MTU, or a jumbo frame if that is smaller.

    ``bitmaps``: words that follow the sum. Multiples of 8 fill vector registers.
    """
    packet = min(path_mtu, JUMBO_MTU) - _IP_AND_UDP_BYTES
    return ((packet - HEADER_BYTES) // WORD_BYTES - bitmaps) // 8 * 8


def result_bytes(ticket: JobTicket) -> int:
    """Return the UDP payload of a job's largest packet.

    It is a result. If the job has racks and a quorum, the bitmaps of the contributors follow the words.
    """
    named = ticket.quorum and name_racks((worker, *place) for worker, place in enumerate(ticket.places))
    trailer_words = len(ticket.rack_members) if named else 0
    return HEADER_BYTES + (ticket.accumulator_words + trailer_words) * WORD_BYTES


def packet_bytes(ticket: JobTicket) -> int:
    """Return the bytes of IPv4 of a job's largest packet."""
    return result_bytes(ticket) + _IP_AND_UDP_BYTES


def buffer_bytes(ticket: JobTicket, window: int) -> int:
    """Return the socket buffer, as the kernel counts, that holds a window of the job's results."""
    return min(window, ticket.slots) * _packet_bytes(ticket)


def _packet_bytes(ticket: JobTicket) -> int:
    return 2 * result_bytes(ticket) + _BOOKKEEPING_BYTES


def check_path(ticket: JobTicket, descriptors: list[int], window: int | None) -> int:
    """Check the path MTU to every server, and the buffers of the sockets; return the window.

    ``window`` in packets; None for the job's slots, or fewer if the kernel's buffers do not hold as many packets.

    Raises ConfigurationError if packets of the job would be fragmented on their way to a server, or if the kernel
    grants buffers that do not hold a window of them. Loopback is a path as any other; its 65,535 bytes hold the largest
    packets.
    """
    for server in ticket.servers:
        _check_mtu(ticket, server)
    held = ticket.slots
    for descriptor in descriptors:
        with socket.fromfd(descriptor, socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for option, setting in _BUFFERS:
                held = min(held, _held_packets(sock, option, setting, ticket, window))
    return held if window is None else window


def path_mtu(host: str, server: Address) -> int:
    """Return the path MTU from an address of this host to a server, as far as the kernel has measured it."""
    # A socket of its own, because a socket drops its route with every option that may change it.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((host, 0))
        probe.connect(server)
        return probe.getsockopt(socket.IPPROTO_IP, _IP_MTU)


def measured_mtu(host: str, server: Address) -> int | None:
    """Return the largest packet that the path from an address of this host to a server and back carries.

    It is one of ``_COMMON_MTUS``, or what the kernel has for the path if that is smaller than all. None if packets stay
    on this host, where larger ones gain nothing. Without a reply to any echo request it is the kernel's path MTU, but
    no jumbo frame. Raises OSError without a route.
    """
    if host == server[0] or ipaddress.IPv4Address(host).is_loopback:
        return None
    known = path_mtu(host, server)
    sizes = [known, *_COMMON_MTUS] if known < JUMBO_MTU else _COMMON_MTUS
    sizes = [size for size in sizes if size <= known]
    with contextlib.suppress(OSError):  # the right to send echo requests
        carried = echo.carried_bytes(server[0], sizes)
        if carried is not None:
            return carried
    return min(known, ETHERNET_MTU)


def _check_mtu(ticket: JobTicket, server: Address) -> None:
    mtu = path_mtu(ticket.local[0], server)
    packet = packet_bytes(ticket)
    if packet > mtu:
        words = ticket.accumulator_words - -(-(packet - mtu) // WORD_BYTES)
        raise ConfigurationError(
            f"Job {ticket.label} has packets of {packet:,} bytes, and the path MTU from worker {ticket.worker} to "
            f"{server[0]} is {mtu:,} bytes: the packets would be fragmented.",
            "Raise the MTU of every device on the path, or give the job smaller packets: lanesum job admit --words "
            f"{words // 8 * 8}.",
        )


def _held_packets(sock: socket.socket, option: int, setting: str, ticket: JobTicket, window: int | None) -> int:
    """Ask for a buffer of a whole window; return the number of packets that the buffer holds."""
    packets = ticket.slots if window is None else min(window, ticket.slots)
    needed = buffer_bytes(ticket, packets)
    if sock.getsockopt(socket.SOL_SOCKET, option) >= needed:
        return packets
    # The kernel doubles the request, to have room for its bookkeeping.
    request = -(-needed // 2)
    sock.setsockopt(socket.SOL_SOCKET, option, min(request, _MAX_BUFFER_REQUEST))
    granted = sock.getsockopt(socket.SOL_SOCKET, option)
    held = granted // _packet_bytes(ticket)
    if held < (1 if window is None else packets):
        raise ConfigurationError(
            f"Worker {ticket.worker} of job {ticket.label}: {packets:,} packets of "
            f"{result_bytes(ticket):,} bytes need a socket buffer of {needed:,} bytes, and the kernel grants "
            f"{granted:,} bytes.",
            f"Run `sysctl -w {setting}={request}` as root, or choose a smaller window or smaller accumulator_words.",
        )
    return min(held, packets)
