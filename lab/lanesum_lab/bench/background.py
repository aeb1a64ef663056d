# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Background traffic beside a job: a greedy TCP flow, and an echo that measures the queueing delay."""

from __future__ import annotations

import contextlib
import fcntl
import socket
import threading
import time
from dataclasses import dataclass

from lanesum_lab.bench.agents import Progress

_PORT = 5201
_ECHO_S = 0.01
_ECHO_BYTES = 64
_NOTE_S = 0.02
_WRITE = bytes(1 << 16)
_SIOCOUTQ = 0x5411  # socket(7), tcp(7)


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """Task of about ``seconds``. ``bulk``: with the TCP flow, otherwise only the echo."""

    seconds: float
    bulk: bool


@dataclass(frozen=True, slots=True)
class BackgroundDone:
    """Measurements of the background traffic.

    Attributes:
        acknowledged: bytes that the TCP receiver got; None without a flow.
        echoes: (time sent, seconds until the answer) of every answered echo.
        silent: number of echoes without an answer.
    """

    acknowledged: Progress | None
    echoes: tuple[tuple[float, float], ...]
    silent: int


class Receiver:
    """Receive the flow and send echoes back."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("", _PORT))
        self._echo = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._echo.bind(("", _PORT))
        for target in (self._take, self._answer):
            threading.Thread(target=target, daemon=True).start()

    def _take(self) -> None:
        while True:
            peer, _ = self._listener.accept()
            with peer, contextlib.suppress(ConnectionError):
                while peer.recv(len(_WRITE)):
                    pass

    def _answer(self) -> None:
        while True:
            data, peer = self._echo.recvfrom(_ECHO_BYTES)
            self._echo.sendto(data, peer)


class Sender:
    """Carry out tasks towards a ``Receiver`` at ``address``."""

    def __init__(self, address: str) -> None:
        self._address = address

    def work(self, task: BackgroundTask) -> BackgroundDone:
        """Run flow and echo at the same time."""
        end = time.monotonic() + task.seconds
        noted: list[tuple[float, float]] = []
        flow = threading.Thread(target=self._flow, args=(end, noted))
        if task.bulk:
            flow.start()
        echoes, silent = self._echoes(end)
        if not task.bulk:
            return BackgroundDone(None, echoes, silent)
        flow.join()
        times, amounts = zip(*noted, strict=True)
        return BackgroundDone(Progress(times, amounts), echoes, silent)

    def _flow(self, end: float, noted: list[tuple[float, float]]) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
            # A congestion control that reacts to ECN marks (RFC 3168).
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
            sock.connect((self._address, _PORT))
            sock.settimeout(_NOTE_S)
            sent = 0
            while (now := time.monotonic()) < end:
                if not noted or now - noted[-1][0] >= _NOTE_S:
                    waiting = int.from_bytes(fcntl.ioctl(sock, _SIOCOUTQ, bytes(4)), "little", signed=True)
                    noted.append((now, sent - waiting))
                with contextlib.suppress(TimeoutError):
                    sent += sock.send(_WRITE)
            # Discard queued data, which would disturb the next measurement.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, (1).to_bytes(4, "little") + bytes(4))

    def _echoes(self, end: float) -> tuple[tuple[tuple[float, float], ...], int]:
        came: list[tuple[float, float]] = []
        sent_at: dict[int, float] = {}
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.connect((self._address, _PORT))
            next_at = time.monotonic()
            while (now := time.monotonic()) < end:
                if now >= next_at:
                    number = len(sent_at)
                    sent_at[number] = now
                    sock.send(number.to_bytes(8, "big").ljust(_ECHO_BYTES))
                    next_at += _ECHO_S
                sock.settimeout(max(1e-4, min(next_at, end) - now))
                with contextlib.suppress(TimeoutError, ConnectionRefusedError):
                    number = int.from_bytes(sock.recv(_ECHO_BYTES)[:8], "big")
                    came.append((sent_at[number], time.monotonic() - sent_at[number]))
            answered = {at for at, _ in came}
            # The last echoes had no time to return.
            longest = max((delay for _, delay in came), default=0.0)
            silent = sum(1 for at in sent_at.values() if at not in answered and at < end - longest)
        return tuple(came), silent
