# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Event log: time, subject, event and repair."""

from __future__ import annotations

import collections
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Event:
    """An event.

    ``number`` grows by one; ``time`` is in seconds since 1970; ``whom`` is a switch, ``server`` or a job.
    """

    number: int
    time: float
    whom: str
    what: str

    def to_message(self) -> dict[str, Any]:
        return asdict(self)

    def line(self) -> str:
        """Return one line of text: local time, subject and event."""
        return f"{time.strftime('%H:%M:%S', time.localtime(self.time))} {self.whom}: {self.what}"


class EventLog:
    """The last thousand events. Thread-safe.

    Args:
        clock: returns seconds since 1970.
        listener: called for every event, for a log on the terminal.
    """

    def __init__(
        self, clock: Callable[[], float] = time.time, listener: Callable[[Event], None] = lambda _event: None
    ) -> None:
        self._clock = clock
        self._listener = listener
        self._events: collections.deque[Event] = collections.deque(maxlen=_KEPT)
        self._next = 1
        self._lock = threading.Lock()

    def add(self, whom: str, what: str) -> None:
        with self._lock:
            event = Event(self._next, self._clock(), whom, what)
            self._next += 1
            self._events.append(event)
        self._listener(event)

    def since(self, number: int = 0) -> list[Event]:
        """Return the events after ``number``, oldest first."""
        with self._lock:
            return [event for event in self._events if event.number > number]
