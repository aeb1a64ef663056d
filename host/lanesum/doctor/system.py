# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of sockets, socket buffers and UDP offload."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from lanesum._internal.udp_socket import BUFFER_BYTES, open_udp_socket
from lanesum.doctor.finding import Finding, note, ok, problem
from lanesum.errors import LanesumError
from lanesum.protocol.spec import MAX_WORKERS
from lanesum.protocol.steering import steer
from lanesum.server.loops import open_server_sockets
from lanesum.server.steering import default_threads
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


def steering() -> Iterator[Finding]:
    """Report the default number of threads of a server, and if the kernel steers packets to them by slot."""
    threads = default_threads()
    try:
        opened = open_server_sockets(_LOOPBACK, 2)
    except LanesumError:
        return  # see sockets
    refused = steer(opened)
    for sock in opened:
        sock.close()
    if refused is None:
        yield ok("server threads", f"{threads} by default; the kernel steers packets to them by slot.")
        return
    what = f"{threads} by default; the kernel refuses to steer packets to them by slot: {refused.strerror}."
    yield note("server threads", what, "Allow SO_ATTACH_REUSEPORT_CBPF (Linux 4.5, seccomp profile of the container).")


def sockets() -> Iterator[Finding]:
    """Check that a worker can open a socket, and report the buffers that the kernel grants."""
    try:
        with open_udp_socket(_LOOPBACK) as sock:
            granted = {name: sock.getsockopt(socket.SOL_SOCKET, option) for name, option, _ in _BUFFERS}
    except OSError as error:
        what = f"Cannot be opened on {_LOOPBACK[0]}: {error.strerror}."
        yield problem("UDP socket", what, "Bring loopback up (ip link set lo up) and let this process use IPv4.")
        return
    yield ok("UDP socket", f"Can be opened on {_LOOPBACK[0]}.")
    # A worker with a default job; its buffers hold one window of results.
    ticket = JobTicket(job=0, tag=0, worker=0, workers=MAX_WORKERS, slots=DEFAULT_WINDOW)
    worker = buffer_bytes(ticket, DEFAULT_WINDOW)
    for name, _, setting in _BUFFERS:
        yield _buffer(name, setting, granted[name], worker)


def _buffer(name: str, setting: str, granted: int, worker: int) -> Finding:
    """Compare a buffer with ``worker``, the bytes of one worker's window; a server receives those of all workers."""
    server = worker * MAX_WORKERS
    sysctl = f"As root: sysctl -w {setting}={max(BUFFER_BYTES, -(-server // 2))}"
    if granted < worker:
        what = f"{granted:,} bytes are granted; the default window of {DEFAULT_WINDOW} packets takes {worker:,}."
        return problem(name, what, f"{sysctl}, or take a smaller window.")
    windows = min(granted // worker, MAX_WORKERS)
    if granted < server:
        what = (
            f"{granted:,} bytes are granted: default windows of {windows} workers. A server may lose packets when more "
            "workers send at the same time."
        )
        return note(name, what, f"{sysctl}.")
    return ok(name, f"{granted:,} bytes are granted: default windows of {windows} workers, the limit of a level.")


def offload() -> Iterator[Finding]:
    """Report if the kernel supports UDP GSO and GRO."""
    for name, option, value, since in _OFFLOADS:
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.setsockopt(socket.IPPROTO_UDP, option, value)
        except OSError as error:
            yield note(
                name,
                f"Not supported by the kernel ({error.strerror}): one system call handles less data.",
                f"Use Linux {since} or later.",
            )
        else:
            yield ok(name, "Supported by the kernel.")
