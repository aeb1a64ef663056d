# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The interface of a switch port, and a port in memory."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

from lanesum_switch.api import SwitchError


class PortError(SwitchError):
    """A port cannot be opened or has failed."""


class Port(Protocol):
    """A port. ``PortRunner`` receives in one thread; any thread may send.

    A port may also have the methods ``backlog() -> int``, the number of frames that wait to be sent (``backlog_of``),
    and ``is_up() -> bool``, True while its link is up (``link_of``).
    """

    def fileno(self) -> int:
        """Return a descriptor that polls readable while frames wait."""

    def receive_batch(self) -> list[bytes]:
        """Return waiting frames, a bounded number of them; never block."""

    def send(self, frame: bytes) -> None:
        """Send a frame or drop it; never block, and do not raise for a dropped frame."""

    def close(self) -> None:
        """Close the descriptor; idempotent."""


def backlog_of(port: Port | None) -> int:
    """Return the number of frames that wait to be sent; 0 for a port without ``backlog``, and for no port."""
    backlog = getattr(port, "backlog", None)
    return 0 if backlog is None else int(backlog())


def link_of(port: Port) -> Callable[[], bool] | None:
    """Return the function that tells whether a port's link is up; None for a port without a link of its own."""
    is_up: Callable[[], bool] | None = getattr(port, "is_up", None)
    return is_up


_BATCH = 64


class MemoryPort:
    """A port in memory: a program puts frames in and reads the frames that the switch sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self._waiting: deque[bytes] = deque()
        self._arrived = threading.Condition()
        self._event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def put(self, frame: bytes) -> None:
        """Make a frame arrive at the port."""
        self._waiting.append(frame)
        os.eventfd_write(self._event, 1)

    def wait_sent(self, count: int, timeout_s: float = 120.0) -> list[bytes]:
        """Wait for ``count`` sent frames and return all frames sent so far. Raises TimeoutError."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.sent) >= count, timeout_s):
                raise TimeoutError(f"The switch sent {len(self.sent)} frames in {timeout_s} s, expected {count}.")
            return list(self.sent)

    def fileno(self) -> int:
        return self._event

    def receive_batch(self) -> list[bytes]:
        """Return waiting frames, at most 64."""
        frames: list[bytes] = []
        while self._waiting and len(frames) < _BATCH:
            frames.append(self._waiting.popleft())
        if not self._waiting:
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._event)
            if self._waiting:  # a frame arrived while the event was cleared
                os.eventfd_write(self._event, 1)
        return frames

    def send(self, frame: bytes) -> None:
        with self._arrived:
            self.sent.append(frame)
            self._arrived.notify_all()

    def close(self) -> None:
        """Close the event descriptor; idempotent."""
        if self._event >= 0:
            os.close(self._event)
            self._event = -1
