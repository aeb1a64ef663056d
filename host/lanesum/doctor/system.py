# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of what the kernel grants."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from lanesum._internal.udp_socket import BUFFER_BYTES, open_udp_socket
from lanesum.doctor.finding import Finding, note, ok, problem
from lanesum.protocol.spec import MAX_WORKERS
from lanesum.transport.constants import DEFAULT_WINDOW
from lanesum.transport.path_check import buffer_bytes
from lanesum.transport.ticket import JobTicket

_LOOPBACK = ("127.0.0.1", 0)
# linux/udp.h
_UDP_SEGMENT, _UDP_GRO = 103, 104
_OFFLOADS = (("UDP GSO", _UDP_SEGMENT, 1400, "4.18"), ("UDP GRO", _UDP_GRO, 1, "5.0"))
_BUFFERS = (
    ("receive buffer", socket.SO_RCVBUF, "net.core.rmem_max"),
    ("send buffer", socket.SO_SNDBUF, "net.core.wmem_max"),
)


def sockets() -> Iterator[Finding]:
    """Whether a worker's socket can be opened, and what of its buffers the kernel grants."""
    try:
        with open_udp_socket(_LOOPBACK) as sock:
            granted = {name: sock.getsockopt(socket.SOL_SOCKET, option) for name, option, _ in _BUFFERS}
    except OSError as error:
        yield problem(
            "UDP socket",
            f"Cannot be opened on {_LOOPBACK[0]}: {error.strerror}.",
            "Bring loopback up (ip link set lo up) and let this process use IPv4.",
        )
        return
    yield ok("UDP socket", f"Can be opened on {_LOOPBACK[0]}.")
    # The default job of a worker; its buffers hold a window of results.
    ticket = JobTicket(job=0, tag=0, worker=0, workers=MAX_WORKERS, slots=DEFAULT_WINDOW)
    worker = buffer_bytes(ticket, DEFAULT_WINDOW)
    for name, _, setting in _BUFFERS:
        yield _buffer(name, setting, granted[name], worker)


def _buffer(name: str, setting: str, granted: int, worker: int) -> Finding:
    """``worker``: bytes that the windows of a worker take; those of all workers of a job meet at the server."""
    server = worker * MAX_WORKERS
    sysctl = f"As root: sysctl -w {setting}={max(BUFFER_BYTES, -(-server // 2))}"
    if granted < worker:
        what = f"{granted:,} bytes are granted; the default window of {DEFAULT_WINDOW} packets takes {worker:,}."
        return problem(name, what, f"{sysctl}, or take a smaller window.")
    windows = min(granted // worker, MAX_WORKERS)
    if granted < server:
        what = (
            f"{granted:,} bytes are granted: default windows of {windows} workers. A server loses packets of jobs with "
            "more workers when they come at once."
        )
        return note(name, what, f"{sysctl}.")
    return ok(name, f"{granted:,} bytes are granted: default windows of {windows} workers, as many as a level has.")


def offload() -> Iterator[Finding]:
    """Whether the kernel takes and gives many datagrams at once."""
    for name, option, value, since in _OFFLOADS:
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.setsockopt(socket.IPPROTO_UDP, option, value)
        except OSError as error:
            yield note(
                name, f"The kernel does not have it ({error.strerror}): packets go one by one.", f"Linux {since}."
            )
        else:
            yield ok(name, "The kernel has it.")
