# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A port whose link has the faults of a plan."""

from __future__ import annotations

import heapq
import itertools
import select
import threading
import time

from lanesum_switch.faults.injector import FaultInjector
from lanesum_switch.faults.plan import DOWN, UP, Direction
from lanesum_switch.ports.deadline_timer import DeadlineTimer
from lanesum_switch.ports.port import Port


class FaultyPort:
    """Puts an injector between a switch and any of its ports, for both directions.

    Args:
        port: the port as it is without faults; closed together with this one.
        injector: of the link that the port belongs to.
        inbound: what direction frames have that come in here: up everywhere but at the server's port.

    Frames that are late wait in here; a timer beside the port's own descriptor wakes whoever polls.
    """

    def __init__(self, port: Port, injector: FaultInjector, *, inbound: Direction = UP) -> None:
        self._port = port
        self._injector = injector
        self._inbound: Direction = inbound
        self._outbound: Direction = DOWN if inbound == UP else UP
        self._late: list[tuple[float, int, Direction, bytes]] = []
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
        """Frames that have come through the link by now; those for the link whose time has come go out."""
        with self._lock:
            arrived = self._pass(self._inbound, self._port.receive_batch())
            self._arm()
            return arrived

    def send(self, frame: bytes) -> None:
        """Send a frame as the link has it: now, later, twice, damaged, or not at all."""
        with self._lock:
            held = self._pass(self._outbound, [frame])
            # Inbound frames whose time came meanwhile are for the polling thread.
            for inbound in held:
                self._hold(0.0, self._inbound, inbound)
            self._arm()

    def backlog(self) -> int:
        """Frames that wait at the port itself; those that are late wait on the link."""
        backlog = getattr(self._port, "backlog", None)
        return 0 if backlog is None else int(backlog())

    def _pass(self, direction: Direction, frames: list[bytes]) -> list[bytes]:
        """Take ``frames`` to the injector, send what is due outwards, and return what is due inwards."""
        now = time.monotonic()
        for frame in frames:
            for due, data in self._injector.apply(direction, frame, now):
                self._hold(due, direction, data)
        due_inbound = []
        while self._late and self._late[0][0] <= now:
            _, _, towards, data = heapq.heappop(self._late)
            if towards == self._inbound:
                due_inbound.append(data)
            else:
                self._port.send(data)
        return due_inbound

    def _hold(self, due: float, direction: Direction, data: bytes) -> None:
        heapq.heappush(self._late, (due, next(self._order), direction, data))

    def _arm(self) -> None:
        """Wake up for the first frame that is late. Setting the timer also ends what it says now."""
        first = self._late[0][0] if self._late else None
        if first != self._armed:
            self._timer.set(first)
            self._armed = first

    def close(self) -> None:
        """Close the port; frames that were late are lost. Idempotent."""
        with self._lock:
            self._late.clear()
            self._poll.close()
            self._timer.close()
            self._port.close()
            self._injector.ledger.close()
