# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Memory that a service holds for callers without identity, in bytes of its heaps."""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from lanesum.cli.signals import limit_heaps
from lanesum.errors import LanesumError
from lanesum.rpc.caller import Caller
from lanesum.rpc.serving import JsonService
from tests.raw_http2 import CONTINUATION, HEADERS, RawPeer, frame, headers
from tests.waiting import wait_until

PATH = b"/test.Service/Echo"
BOUND_BYTES = 64 << 20
# A field of headers in one byte, and in five: gRPC holds each in 64 bytes or more.
FIELDS = {"indexed": (b"\x40\x01a\x01b", b"\xbe" * 8000), "literal": (b"", b"\0\x01a\x01b" * 1600)}


class _Heaps(ctypes.Structure):
    """``struct mallinfo2`` of glibc."""

    _fields_ = [
        *((name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks")),
        *((name, ctypes.c_size_t) for name in ("uordblks", "fordblks", "keepcost")),
    ]


def held_bytes() -> int:
    """Return the bytes that this process has allocated."""
    read = ctypes.CDLL(None).mallinfo2
    read.restype = _Heaps
    heaps = read()
    return int(heaps.uordblks + heaps.hblkhd)


def serve() -> None:
    """Serve callers, of which none is known; print the held bytes for each line of standard input.

    After the line ``stop`` the event loop stands still until ``go``.
    """
    limit_heaps()
    go = threading.Event()

    def refuse(*_: object) -> Caller:
        raise LanesumError("No token.")

    with JsonService(
        "127.0.0.1:0", "test.Service", {"Echo": lambda message, _: message}, owner="test", authenticate=refuse
    ) as service:
        before = held_bytes()
        print(service.address, flush=True)
        for line in sys.stdin:
            if line == "stop\n":
                service._loop.call_soon_threadsafe(go.wait)
            if line == "go\n":
                go.set()
            print(held_bytes() - before, flush=True)
        go.set()


class Service:
    """A service in a process of its own."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", __name__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self._read()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def held_bytes(self, order: str = "") -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()
        return int(self._read())

    def close(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0


@pytest.fixture
def service() -> Iterator[Service]:
    try:
        ctypes.CDLL(None).mallinfo2  # noqa: B018
    except AttributeError:
        pytest.skip("the C library has no mallinfo2")
    running = Service()
    yield running
    running.close()


@pytest.mark.parametrize("kind", FIELDS)
def test_headers_without_an_end_hold_bounded_memory(service: Service, kind: str) -> None:
    """Each connection stays below the bound for one, which was the only one; 16 of them held 130 to 260 MiB."""
    first, more = FIELDS[kind]
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(RawPeer(service.address)) for _ in range(16)]
        for peer in peers:
            with contextlib.suppress(OSError):
                peer.send(frame(HEADERS, 0, 1, first + more))
                for _ in range(18):
                    peer.send(frame(CONTINUATION, 0, 1, more))
        # At most one keeps all its bytes; the service has to close the others.
        wait_until(lambda: sum(peer.is_closed(timeout_s=0.01) for peer in peers) >= 15)
        wait_until(lambda: service.held_bytes() <= BOUND_BYTES)
        time.sleep(0.2)
        assert service.held_bytes() <= BOUND_BYTES
    wait_until(lambda: service.held_bytes() <= BOUND_BYTES // 8)


def test_calls_with_many_headers_hold_bounded_memory(service: Service) -> None:
    """Calls wait for an event loop that is behind; 512 of them held 120 MiB."""
    fields = ((b"a", b"b"),) * 1800
    calls = b"".join(headers(PATH, 1 + 2 * number, fields) for number in range(28))
    service.held_bytes("stop")
    with contextlib.ExitStack() as stack:
        for _ in range(24):
            peer = stack.enter_context(RawPeer(service.address))
            with contextlib.suppress(OSError):
                peer.send(calls)
            time.sleep(0.02)
        assert service.held_bytes() <= BOUND_BYTES
    time.sleep(0.2)
    assert service.held_bytes("go") <= BOUND_BYTES
    wait_until(lambda: service.held_bytes() <= BOUND_BYTES // 8)


if __name__ == "__main__":
    serve()
