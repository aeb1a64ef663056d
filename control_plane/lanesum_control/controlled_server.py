# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The aggregation servers as the controller needs them: in other processes, or in this one."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Protocol

from lanesum.server import ServerJob
from lanesum.server.client import ServerError, ServerStatus, ServerUnreachableError
from lanesum.server.served_job import Refusal
from lanesum_control.errors import AdmissionError
from lanesum_control.events import EventLog

SERVER = "server"


def server_name(number: int) -> str:
    """What events, counters and fault plans call a server: ``server``, ``server2``, ``server3`` and so on."""
    return f"{SERVER}{number + 1}" if number else SERVER


class UnservedError(AdmissionError, ServerError):
    """A job is not admitted, because the server named ``server`` is away or does not take it."""

    def __init__(self, what: str, next_step: str = "", *, server: str = "") -> None:
        super().__init__(what, next_step)
        self.server = server


class ControlledServer(Protocol):
    """Knows every job: it sums what no switch takes of its slots. Every method may raise ServerError, and be repeated.

    ``RemoteServer`` is one in another process; ``AggregationServer`` itself is one in this process.
    """

    def admit(self, job: ServerJob) -> None:
        """Serve ``job`` in place of whatever has its number under another tag."""

    def remove(self, job: int) -> None:
        """Forget a job; a number that is not known is no error."""

    def status(self) -> ServerStatus:
        """Instance, jobs and counters."""


class NoServer:
    """Nobody sums what switches do not take: for tests and benchmarks of a switch alone."""

    def admit(self, job: ServerJob) -> None:
        return

    def remove(self, job: int) -> None:
        return

    def status(self) -> ServerStatus:
        raise ServerError("There is no aggregation server.")


class ServerLink:
    """A server with the life around it. Not thread-safe: the controller's lock is around every call but ``look``.

    Args:
        name: in events.
        server: in this process or another one.
        events: told when it goes, comes back and is repaired.
    """

    def __init__(self, name: str, server: ControlledServer, events: EventLog) -> None:
        self.name = name
        self._server = server
        self._events = events
        self._instance: str | None = None
        self._down = False

    def admit(self, job: ServerJob) -> None:
        """Raises ServerError."""
        self._server.admit(job)

    def tell(self, job: ServerJob) -> None:
        """As ``admit``; a server that is away learns of the job when it is back."""
        try:
            self._server.admit(job)
        except ServerError as error:
            self.lost(error)

    def forget(self, job: int) -> None:
        """A server that is away loses the job, as a stranger, when it is back."""
        try:
            self._server.remove(job)
        except ServerError as error:
            self.lost(error)

    def look(self) -> ServerStatus:
        """Raises ServerError. Slow, and changes nothing: no lock is needed."""
        return self._server.status()

    def lost(self, error: ServerError) -> None:
        """It was away; said once."""
        if not self._down:
            self._events.add(self.name, f"lost: {error.what}")
        self._down = True

    def forgot_decisions(self, status: ServerStatus) -> bool:
        """It was started anew since ``teach`` met it, and decisions of jobs with a quorum are gone."""
        return self._instance not in (None, status.instance) and not status.durable

    def teach(self, status: ServerStatus, wanted: Mapping[int, ServerJob]) -> None:
        """Make a server that is like ``status`` serve exactly ``wanted``, by number."""
        held = status.jobs
        missing = [job for number, job in wanted.items() if number not in held or held[number].tag != job.tag]
        strangers = [number for number in held if number not in wanted]
        try:
            for job in missing:
                self._server.admit(job)
            for number in strangers:
                self._server.remove(number)
        except ServerError as error:
            self.lost(error)
            return
        done = [f"{len(missing)} jobs admitted again"] if missing else []
        done += [f"{len(strangers)} strangers removed"] if strangers else []
        if self._instance not in (None, status.instance):
            self._events.add(self.name, f"started again: {', '.join(done) or 'it knew all jobs'}")
        elif self._down or self._instance is None:
            self._events.add(self.name, f"connected: {', '.join(done) or 'all was right'}")
        elif done:
            self._events.add(self.name, f"repaired: {', '.join(done)}")
        self._down = False
        self._instance = status.instance


class ServerLinks:
    """All servers of the controller. Each has every job, and gets the contributions to its own slots.

    Args:
        servers: one or more, in the order of their numbers.
        events: see ``ServerLink``.
    """

    def __init__(self, servers: Sequence[ControlledServer], events: EventLog) -> None:
        links = [ServerLink(server_name(number), server, events) for number, server in enumerate(servers)]
        self._links = {link.name: link for link in links}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._links)

    def __getitem__(self, name: str) -> ServerLink:
        return self._links[name]

    def admit(self, job: ServerJob) -> None:
        """At all of them, because each sums slots that no other does.

        Raises UnservedError when one does not take it; nothing of the job is left at the others.
        """
        admitted: list[ServerLink] = []
        try:
            for link in self._links.values():
                self._admit_at(link, job)
                admitted.append(link)
        except BaseException:
            for link in admitted:
                link.forget(job.job)
            raise

    def _admit_at(self, link: ServerLink, job: ServerJob) -> None:
        try:
            link.admit(job)
        except ServerError as error:
            if isinstance(error, ServerUnreachableError):
                link.lost(error)
            share = f", which sums every {len(self._links)}th slot" if len(self._links) > 1 else ""
            raise UnservedError(
                f"The job needs the aggregation server {link.name}{share}: {error.what}",
                error.next_step,
                server=link.name,
            ) from error

    def tell(self, job: ServerJob) -> None:
        """See ``ServerLink.tell``."""
        for link in self._links.values():
            link.tell(job)

    def forget(self, job: int) -> None:
        """See ``ServerLink.forget``."""
        for link in self._links.values():
            link.forget(job)

    def look(self) -> dict[str, ServerStatus]:
        """By name, without those that are away. Slow, and changes nothing: no lock is needed."""
        found = {}
        for name, link in self._links.items():
            with contextlib.suppress(ServerError):
                found[name] = link.look()
        return found


def packets_as_of_a_switch(status: ServerStatus) -> dict[str, int]:
    """A server's counters under the names of a switch's: contributions, the accepted ones, what became of them."""
    refused = dict(status.refused)
    other_size = refused.pop(Refusal.SIZE.value, 0)
    accepted = sum(status.decisions.values())
    return {
        "aggregate": accepted + sum(refused.values()),
        "accept": accepted,
        "route_other_size": other_size,
        **status.decisions,
    }
