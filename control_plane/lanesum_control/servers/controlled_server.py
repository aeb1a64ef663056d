# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Aggregation servers as the controller uses them, in other processes or in this one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from lanesum.server import ServerJob
from lanesum.server.jobs import ServerStatus
from lanesum.server.served_job import Refusal
from lanesum_control.errors import AdmissionError
from lanesum_control.servers.remote_server import ServerError, ServerUnreachableError, WatchedServer
from lanesum_control.state.events import EventLog
from lanesum_control.threads import results

_LOOK_S = 2.0  # scrapes of metrics have a short limit


class UnservedError(AdmissionError, ServerError):
    """A job is not admitted, because the server named ``server`` is unreachable or refuses it."""

    def __init__(self, what: str, next_step: str = "", *, server: str = "") -> None:
        super().__init__(what, next_step)
        self.server = server


class ControlledServer(Protocol):
    """Server that has every job, and sums the contributions of its slots that no switch sums.

    Every method may raise ServerError, and may be repeated. ``RemoteServer`` is in another process;
    ``AggregationServer`` itself is in this process.
    """

    def admit(self, job: ServerJob) -> None:
        """Serve ``job``, replacing any job with its number and another tag."""

    def remove(self, job: int) -> None:
        """Remove a job; an unknown number is no error."""

    def status(self) -> ServerStatus:
        """Return instance, jobs and counters."""


class NoServer:
    """Server that sums nothing: for tests and benchmarks of a switch alone."""

    def admit(self, job: ServerJob) -> None:
        return

    def remove(self, job: int) -> None:
        return

    def status(self) -> ServerStatus:
        raise ServerError("There is no aggregation server.")


class ServerLink:
    """A server and its state. Not thread-safe: the controller's lock protects every call but ``look``.

    Args:
        server: the server, in this process or another one.
    """

    def __init__(self, name: str, server: ControlledServer, events: EventLog) -> None:
        self.name = name
        self._server = server
        self._events = events
        self._instance: str | None = None
        self._down = False

    def admit(self, job: ServerJob) -> None:
        """Admit a job. Raises ServerError."""
        self._server.admit(job)

    def tell(self, job: ServerJob) -> None:
        """Admit a job; an unreachable server gets it after its return."""
        try:
            self._server.admit(job)
        except ServerError as error:
            self.lost(error)

    def forget(self, job: int) -> None:
        """Remove a job; an unreachable server loses it after its return."""
        try:
            self._server.remove(job)
        except ServerError as error:
            self.lost(error)

    def look(self) -> ServerStatus:
        """Return the status. Raises ServerError. Slow, without side effects: needs no lock."""
        return self._server.status()

    def watch(self, changed: Callable[[], None]) -> None:
        """Call ``changed``, from any thread, when the outcome of ``look`` may be another one."""
        if isinstance(self._server, WatchedServer):
            self._server.watch(changed)

    def close(self) -> None:
        """End what ``watch`` began."""
        if isinstance(self._server, WatchedServer):
            self._server.close()

    def lost(self, error: ServerError) -> None:
        """Note an outage; logged once."""
        if not self._down:
            self._events.add(self.name, f"lost: {error.what}")
        self._down = True

    def forgot_decisions(self, status: ServerStatus) -> bool:
        """Return True if the server restarted since ``teach``, and decisions of jobs with a quorum are lost."""
        return self._instance not in (None, status.instance) and not status.durable

    def teach(self, status: ServerStatus, wanted: Mapping[int, ServerJob]) -> None:
        """Make a server with ``status`` serve exactly ``wanted``, by number."""
        held = status.jobs
        missing = [job for number, job in wanted.items() if number not in held or not _is_same(held[number], job)]
        unexpected = [number for number in held if number not in wanted]
        try:
            for job in missing:
                self._server.admit(job)
            for number in unexpected:
                self._server.remove(number)
        except ServerError as error:
            self.lost(error)
            return
        done = [f"{len(missing)} jobs admitted again"] if missing else []
        done += [f"{len(unexpected)} unexpected jobs removed"] if unexpected else []
        if self._instance not in (None, status.instance):
            self._events.add(self.name, f"restarted: {', '.join(done) or 'it had all jobs'}")
        elif self._down or self._instance is None:
            self._events.add(self.name, f"connected: {', '.join(done) or 'no differences'}")
        elif done:
            self._events.add(self.name, f"repaired: {', '.join(done)}")
        self._down = False
        self._instance = status.instance


def _is_same(held: ServerJob, job: ServerJob) -> bool:
    """Return True if a server need not admit ``job``. Nothing else of it changes under one tag."""
    return (held.tag, held.on_switches) == (job.tag, job.on_switches)


class ServerLinks:
    """All servers of the controller. Each has every job, and gets the contributions to its own slots.

    Args:
        servers: one or more, in the order of their numbers.
        events: see ``ServerLink``.
        names: names of the servers.
    """

    def __init__(self, servers: Sequence[ControlledServer], events: EventLog, names: Sequence[str]) -> None:
        links = [ServerLink(name, server, events) for name, server in zip(names, servers, strict=True)]
        self._links = {link.name: link for link in links}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._links)

    def __getitem__(self, name: str) -> ServerLink:
        return self._links[name]

    def admit(self, job: ServerJob) -> None:
        """Admit a job at all servers, because each sums slots that no other does.

        Raises UnservedError if one refuses it; then no server keeps the job.
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
            else:
                link.forget(job.job)  # a full disk may hold a part of its journal
            share = f", which sums every {len(self._links)}th slot" if len(self._links) > 1 else ""
            raise UnservedError(
                f"The job needs the aggregation server {link.name}{share}: {error.what}",
                error.next_step,
                server=link.name,
            ) from error

    def tell(self, job: ServerJob) -> None:
        """Do ``ServerLink.tell`` at all servers."""
        for link in self._links.values():
            link.tell(job)

    def forget(self, job: int) -> None:
        """Do ``ServerLink.forget`` at all servers."""
        for link in self._links.values():
            link.forget(job)

    def look(self) -> dict[str, ServerStatus]:
        """Return the status of all servers that answer soon, by name. Without side effects: needs no lock."""
        looks = {name: functools.partial(_status, link) for name, link in self._links.items()}
        return {name: status for name, status in results(looks, _LOOK_S).items() if status is not None}


def _status(link: ServerLink) -> ServerStatus | None:
    try:
        return link.look()
    except ServerError:
        return None


def packets_as_of_a_switch(status: ServerStatus) -> dict[str, int]:
    """Return a server's counters under the names of a switch: contributions, accepted ones, decisions."""
    refused = dict(status.refused)
    other_size = refused.pop(Refusal.SIZE.value, 0)
    accepted = sum(status.decisions.values())
    return {
        "aggregate": accepted + sum(refused.values()),
        "accept": accepted,
        "route_other_size": other_size,
        **status.decisions,
    }
