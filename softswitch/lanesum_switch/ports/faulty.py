# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A port with the faults of a plan on its link."""

from __future__ import annotations

import contextlib
import ctypes
import heapq
import itertools
import os
import select
import threading
import time

from lanesum_switch.faults.injector import FaultInjector
from lanesum_switch.faults.plan import DOWN, UP, Direction
from lanesum_switch.ports.port import Port, backlog_of, link_of

_TIMER_ABSTIME = 1
_NANOSECONDS = 1_000_000_000


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Setting(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class DeadlineTimer:
    """A timer whose descriptor polls readable once ``time.monotonic()`` reaches the deadline. Thread-safe.

    It is timerfd_create(2), which the standard library has from Python 3.13 on.
    """

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        # The descriptor's flags have the values of open(2).
        self._descriptor: int = self._libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")

    def fileno(self) -> int:
        return self._descriptor

    def set(self, deadline: float | None) -> None:
        """Set the deadline; None disarms the timer."""
        value = _Timespec(0, 0)  # disarms
        if deadline is not None:
            # At least 1 ns, because 0 disarms the timer.
            value = _Timespec(*divmod(max(1, int(deadline * _NANOSECONDS)), _NANOSECONDS))
        setting = _Setting(_Timespec(0, 0), value)
        if self._libc.timerfd_settime(self._descriptor, _TIMER_ABSTIME, ctypes.byref(setting), None) != 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def close(self) -> None:
        """Close the descriptor; idempotent."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1


class FaultyPort:
    """A port that passes every frame of another port through a fault injector.

    Args:
        port: the port without faults; ``close`` closes it.
        inbound: direction of frames that arrive here: up, except at the server's port.

    Delayed frames wait here. The descriptor polls readable when the first of them is due.
    """

    def __init__(self, port: Port, injector: FaultInjector, *, inbound: Direction = UP) -> None:
        self._port = port
        self.is_up = link_of(port)
        self._injector = injector
        self._inbound: Direction = inbound
        self._outbound: Direction = DOWN if inbound == UP else UP
        self._delayed: list[tuple[float, int, Direction, bytes]] = []
        self._order = itertools.count()
        self._lock = threading.RLock()  # ``send`` comes from any thread
        self._timer = DeadlineTimer()
        self._armed: float | None = None
        self._poll = select.epoll()
        self._poll.register(port.fileno(), select.EPOLLIN)
        self._poll.register(self._timer.fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        return self._poll.fileno()

    def receive_batch(self) -> list[bytes]:
        """Return the frames that have passed the link, and send the outbound ones that are due."""
        with self._lock:
            arrived = self._pass(self._inbound, self._port.receive_batch())
            self._arm()
            return arrived

    def send(self, frame: bytes) -> None:
        """Send a frame as the plan says: now, later, twice, corrupted or not at all."""
        with self._lock:
            held = self._pass(self._outbound, [frame])
            # Inbound frames that are due meanwhile are for the polling thread.
            for inbound in held:
                self._hold(0.0, self._inbound, inbound)
            self._arm()

    def backlog(self) -> int:
        """Return the number of frames that wait at the port itself; delayed frames wait on the link."""
        return backlog_of(self._port)

    def _pass(self, direction: Direction, frames: list[bytes]) -> list[bytes]:
        """Pass ``frames`` through the injector, send the outbound frames that are due and return the inbound ones."""
        now = time.monotonic()
        for frame in frames:
            for due, data in self._injector.apply(direction, frame, now):
                self._hold(due, direction, data)
        due_inbound = []
        while self._delayed and self._delayed[0][0] <= now:
            _, _, direction, data = heapq.heappop(self._delayed)
            if direction == self._inbound:
                due_inbound.append(data)
            else:
                self._port.send(data)
        return due_inbound

    def _hold(self, due: float, direction: Direction, data: bytes) -> None:
        heapq.heappush(self._delayed, (due, next(self._order), direction, data))

    def _arm(self) -> None:
        """Set the timer to the first delayed frame; this also clears a timer that has expired."""
        first = self._delayed[0][0] if self._delayed else None
        if first != self._armed:
            self._timer.set(first)
            self._armed = first

    def close(self) -> None:
        """Close the port and drop delayed frames; idempotent."""
        with self._lock:
            self._delayed.clear()
            self._poll.close()
            self._timer.close()
            self._port.close()
            self._injector.counters.close()
