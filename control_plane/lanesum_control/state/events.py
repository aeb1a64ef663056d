# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Event log and audit log: time, subject, event, and the caller that caused it, in the controller's state."""

from __future__ import annotations

import hashlib
import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lanesum.rpc.caller import UNAUTHENTICATED, Caller
from lanesum.rpc.controller import one_line
from lanesum_control.errors import StoreError
from lanesum_control.state.store import Store

MAX_ANSWERED = 1000  # events of one answer
CONTROLLER = "controller"  # subject of the events of no other part
logger = logging.getLogger(__name__)


def date(seconds: float) -> str:
    """Return a time, in seconds since 1970, as date and time of UTC (ISO 8601)."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


@dataclass(frozen=True, slots=True)
class Event:
    """An event.

    Attributes:
        number: grows with every event, also over restarts of the controller; 0 if the event could not be stored.
        time: seconds since 1970.
        whom: a switch, a server, a job, or ``controller``.
        what: the event, one line.
        actor: ``Caller.label`` of the caller that caused it; empty for the controller itself and for callers without
            identity.
        source: address of that caller; empty for the controller itself.
    """

    number: int
    time: float
    whom: str
    what: str
    actor: str = ""
    source: str = ""

    def to_message(self) -> dict[str, Any]:
        """Return the event as JSON fields; ``date`` is its time in ISO 8601."""
        return {**asdict(self), "date": date(self.time)}

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> Event:
        """Read the fields of ``to_message``; unknown ones of a later version are ignored."""
        return cls(**{name: message[name] for name in cls.__dataclass_fields__ if name in message})

    def line(self) -> str:
        """Return one line of text: date, subject, event and caller."""
        by = " at ".join(filter(None, (self.actor, self.source)))
        return f"{date(self.time)} {self.whom}: {self.what}{f' (by {by})' if by else ''}"


def log_event(event: Event) -> None:
    """Write an event to the log of this process; fields ``whom``, ``number``, ``actor`` and ``source``."""
    more = {"number": event.number, "actor": event.actor, "source": event.source}
    fields = {"whom": event.whom, **{name: value for name, value in more.items() if value}}
    logger.info("%s", event.what, extra={"fields": fields})


class EventLog:
    """Events in ``store``, which keeps a bounded number of them. Thread-safe.

    Args:
        clock: returns seconds since 1970.
        listener: called for every event, for a log on the terminal.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], float] = time.time,
        listener: Callable[[Event], None] = lambda _event: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._listener = listener

    def now(self) -> float:
        """Return the time, in seconds since 1970."""
        return self._clock()

    def add(self, whom: str, what: str, by: Caller = UNAUTHENTICATED) -> None:
        """Store an event that ``by`` caused. Inside a transaction of the store the event is part of it.

        Otherwise it does not wait for the disk. If it cannot be stored, for example on a full disk, it is only logged,
        because a repair must go on.
        """
        now, whom, what, actor, source = self._clock(), *map(one_line, (whom, what, by.label, by.source))
        # A caller without identity has a new port for every call.
        party = _identity(by) if by.name else source.rpartition(":")[0]
        try:
            number = self._store.add_event(now, whom, what, actor, source, party)
        except StoreError as error:
            logger.error("An event is not stored: %s", error)
            number = 0
        self._listener(Event(number, now, whom, what, actor, source))

    def since(
        self, number: int = 0, *, since_s: float = 0.0, limit: int = sys.maxsize, of: Sequence[str] | None = None
    ) -> list[Event]:
        """Return the events after ``number`` and not before ``since_s``, oldest first; at most the first ``limit``.

        ``of``: those of these present jobs alone, since their admissions.
        """
        condition = f"WHERE number > ? AND time >= ? AND {_of(of)} ORDER BY number LIMIT ?"
        return self._events(condition, number, since_s, *(of or ()), limit)

    def latest(self, limit: int = MAX_ANSWERED, of: Sequence[str] | None = None) -> list[Event]:
        """Return the last ``limit`` events, oldest first; ``of`` as for ``since``."""
        return self._events(f"WHERE {_of(of)} ORDER BY number DESC LIMIT ?", *(of or ()), limit)[::-1]

    def admissions(self) -> dict[str, float]:
        """Return the time of admission by present job, as far as its event is kept."""
        return {event.whom: event.time for event in self._events("WHERE number IN (SELECT first_event FROM jobs)")}

    def removal_of(self, job: str) -> Event | None:
        """Return the event of the last removal of a job."""
        found = self._events("WHERE whom = ? AND what LIKE 'removed%' ORDER BY number DESC LIMIT 1", one_line(job))
        return found[0] if found else None

    def _events(self, condition: str, *values: object) -> list[Event]:
        return [Event(*row) for row in self._store.events(condition, values)]


def _identity(caller: Caller) -> str:
    """Return text of bounded length that no other role and name have. Names of jobs, and so of workers, may be long."""
    identity = f"{caller.role} {caller.name}"  # no role has a space
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()


def _of(jobs: Sequence[str] | None) -> str:
    """Return a condition with one parameter for each of the jobs; all events if None."""
    if jobs is None:
        return "TRUE"
    since_admission = "number >= (SELECT first_event FROM jobs WHERE jobs.name = whom)"
    return f"whom IN ({', '.join('?' for _ in jobs)}) AND {since_admission}"
