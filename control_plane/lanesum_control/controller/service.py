# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The controller as a gRPC service with JSON messages; ``lanesum.rpc.controller`` has the names of the methods."""

from __future__ import annotations

import dataclasses
import hashlib
import secrets
import time
from collections.abc import Callable
from typing import Any, TypeVar

from lanesum._internal.closing import Serving
from lanesum.errors import LanesumError
from lanesum.protocol.spec import VERSION
from lanesum.rpc import controller as rpc
from lanesum.rpc.caller import Caller, CallerRole
from lanesum.rpc.calls import RefusedError
from lanesum.rpc.json_grpc import STANDBY
from lanesum.rpc.serving import Handler, JsonService, Messages
from lanesum.rpc.tls import AccessError, import_grpc
from lanesum_control.controller.controller import Controller
from lanesum_control.controller.messages import (
    MAX_TEXT,
    fitting,
    job_message,
    job_of,
    name_of,
    number_of,
    text_of,
    ticket_of,
    worker_of,
)
from lanesum_control.errors import AdmissionError, NotLeaderError, StoreError
from lanesum_control.jobs.joining import MAX_NAMED
from lanesum_control.jobs.liveness import Gone
from lanesum_control.jobs.records import AdmittedJob, Job, JobRequest, Taken
from lanesum_control.jobs.worker_reports import read_counts, read_failed_chunks
from lanesum_control.observe.opentelemetry import CallSpans
from lanesum_control.observe.traces import read_trace
from lanesum_control.planner.quotas import TenantQuota
from lanesum_control.security.access import Access, sees
from lanesum_control.state.events import CONTROLLER, MAX_ANSWERED, date
from lanesum_fabric.topology.files import parse

_MAX_DESCRIPTION = 1 << 13  # length of the description of a worker's codec
_MAX_ABOUT = 1024  # workers in one question
_FIRST_PROTOCOL = 2  # of workers that name no version

# The others are frequent, and only of use with a ticket.
_AUDITED = (rpc.JOIN, *rpc.CHANGES, rpc.JOBS, rpc.COUNTERS, rpc.EVENTS, rpc.LIVE, rpc.TRACE, rpc.EXAMINE)

_Answer = TypeVar("_Answer")


class ControllerService(Serving):
    """Serves ``controller`` at ``address`` (``host:port`` or ``unix:path``; port 0 selects one, see ``port``).

    Args:
        controller: the controller; None for a standby until ``lead``, which refuses every call.
        address: address to listen at.
        access: rights of callers; all may call everything if None.
        credentials: for TLS; None for plain text.
        refusal: returns the reason why another controller should be called; empty while this one leads.
        spans: records joins, and changes of jobs.

    Raises ConfigurationError if the port is in use.
    """

    def __init__(
        self,
        controller: Controller | None,
        address: str,
        *,
        access: Access | None = None,
        credentials: Any = None,
        refusal: Callable[[], str] = str,
        spans: CallSpans | None = None,
    ) -> None:
        self._leading, self._refusal = controller, refusal
        self._spans = spans
        self._key = secrets.token_bytes(32)
        self._access = Access(self.present) if access is None else access
        handlers: dict[str, Handler] = {
            rpc.JOIN: self._join,
            rpc.READY: self._state,
            rpc.KEEPALIVE: self._state,
            rpc.RENEW: lambda message, _caller: self._controller.workers.renew(number_of(message, "job")),
            rpc.REPORT: self._report,
            rpc.ADMIT: self._admit,
            rpc.REMOVE: self._remove,
            rpc.RESIZE: self._resize,
            rpc.LEAVE: self._leave,
            rpc.EXTEND: self._extend,
            rpc.DRAIN: self._drain,
            rpc.UNDRAIN: self._undrain,
            rpc.DRAINS: lambda _message, _caller: {"drains": self._controller.drains()},
            rpc.TENANT: self._tenant,
            rpc.TENANTS: self._tenants,
            rpc.COMPARE: lambda message, _caller: self._controller.differences(
                parse(str(message.get("topology")), "topology")
            ),
            rpc.JOBS: self._jobs,
            rpc.COUNTERS: self._counters,
            rpc.EVENTS: self._events,
            rpc.LIVE: self._live,
            rpc.TRACE: self._trace,
            rpc.EXAMINE: lambda _message, _caller: self._controller.examine(),
        }
        streams = {rpc.WATCH: self._watch}
        self._service = JsonService(
            address,
            rpc.SERVICE,
            {method: self._guarded(method, handler) for method, handler in handlers.items()},
            owner="controller",
            streams={method: self._guarded(method, handler) for method, handler in streams.items()},
            # These may wait for the lock under which changes take turns: more threads would only wait for it.
            slow=(rpc.JOIN, *rpc.CHANGES),
            credentials=credentials,
            authenticate=self._access.authenticate,
            is_revoked=self._access.is_revoked,
        )
        self.address, self.port = self._service.address, self._service.port
        if controller is None:
            self._service.set_health(is_serving=False)

    def lead(self, controller: Controller) -> None:
        """Answer calls from now on."""
        self._leading = controller
        self._service.set_health(is_serving=True)

    def change_leadership(self, leads: bool) -> None:
        """Stop or continue to be the service of the controller that leads; see ``Workers.suspend``."""
        if self._leading is not None:
            change = self._leading.workers.resume if leads else self._leading.workers.suspend
            change()
            self._service.set_health(is_serving=leads)

    def present(self) -> list[Job]:
        """Return the admitted jobs, see ``Controller.present``; none at a standby."""
        return [] if self._leading is None else self._leading.present()

    @property
    def _controller(self) -> Controller:
        """The controller. Raises RefusedError at a standby, and after the end of the leadership."""
        why = self._refusal()
        if why or self._leading is None:
            raise _not_leading(why or "It is a standby that begins to lead.")
        return self._leading

    def _guarded(self, method: str, handler: Callable[..., _Answer]) -> Callable[..., _Answer]:
        """Return ``handler`` for callers with access, with an event for every call of ``_AUDITED`` that is refused."""

        def handle(message: dict[str, Any], caller: Caller, *more: Any) -> _Answer:
            controller = self._controller
            try:
                self._access.check(caller, method, message)
                return handler(message, caller, *more)
            except LanesumError as error:
                is_repeatable = isinstance(error, StoreError) and method not in rpc.CHANGES
                if isinstance(error, NotLeaderError) or (is_repeatable and controller.has_standbys):
                    raise _not_leading(str(error)) from error
                if method in _AUDITED:
                    job = job_of(method, message)
                    whom = job if isinstance(job, str) else CONTROLLER
                    controller.events.add(whom, f"refused: {method}: {error.what}", caller)
                if isinstance(error, AccessError):
                    codes = import_grpc().StatusCode
                    code = codes.PERMISSION_DENIED if caller.name else codes.UNAUTHENTICATED
                    raise RefusedError(code, str(error)) from error
                raise

        if (spans := self._spans) is None or method not in (rpc.JOIN, *rpc.CHANGES):
            return handle

        def handle_with_span(message: dict[str, Any], caller: Caller, *more: Any) -> _Answer:
            with spans.open(method, job_of(method, message), caller):
                return handle(message, caller, *more)

        return handle_with_span

    def _join(self, message: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Join. ``worker``: number or host.

        Optional: ``claimant``, ``origin``, ``description``, ``take_over``, ``protocol``.
        """
        protocol = message.get("protocol", _FIRST_PROTOCOL)
        if protocol != VERSION:
            raise AdmissionError(
                f"The worker uses protocol version {protocol!r}, and the controller version {VERSION}.",
                "Install the same version of lanesum at all hosts.",
            )
        claimant = text_of(message, "claimant") or ""
        origin = rpc.one_line(message.get("origin") or "an unknown process")
        taken = Taken(claimant, origin, text_of(message, "description", _MAX_DESCRIPTION))
        take_over = message.get("take_over") is True
        name = name_of(message)
        ticket = self._controller.join(name, worker_of(message), taken, take_over=take_over, caller=caller)
        return {"ticket": ticket.to_json(), "host": self._controller.job(name).request.workers[ticket.worker]}

    def _state(self, message: dict[str, Any], _caller: Caller) -> dict[str, Any]:
        """Return the state of ``worker`` with a ticket of ``job`` and ``tag``.

        Optional: ``claimant``, ``description``, ``about``, ``counts``, ``trace``, ``failed_chunks``. With ``clock`` the
        answer has the time, with which a worker compares its clock, and with ``about`` the ``addresses`` of the first
        of these workers.
        """
        about = message.get("about") or []
        if not isinstance(about, list) or len(about) > _MAX_ABOUT or not all(type(one) is int for one in about):
            raise AdmissionError(f"about = {about!r} is no list of at most {_MAX_ABOUT} workers.")
        claimant, description = text_of(message, "claimant"), text_of(message, "description", _MAX_DESCRIPTION)
        counts = None if message.get("counts") is None else read_counts(message["counts"])
        trace = None if message.get("trace") is None else read_trace(message["trace"])
        failed_chunks = read_failed_chunks(message.get("failed_chunks") or [])
        state = self._controller.workers.state(
            *ticket_of(message), claimant, description, about, counts, trace, failed_chunks
        )
        if about and state["state"] not in rpc.OVER:
            state["addresses"] = self._controller.addresses(ticket_of(message)[0], about[:MAX_NAMED])
        return {**state, "time_s": time.time()} if message.get("clock") is True else state

    def _watch(self, message: dict[str, Any], _caller: Caller, wake: Callable[[], None]) -> Messages:
        """Return the states of ``worker`` with a ticket of ``job`` and ``tag`` of ``claimant``, as they change."""
        return self._controller.workers.watch(*ticket_of(message), text_of(message, "claimant") or "", wake)

    def _report(self, message: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Store that ``worker`` of ``claimant`` fails or leaves: ``kind`` and ``cause``."""
        kind = message.get("kind")
        if kind not in (rpc.FAILED, rpc.LEFT):
            raise AdmissionError(f"kind = {kind!r} is neither {rpc.FAILED!r} nor {rpc.LEFT!r}.")
        gone = Gone(kind, rpc.one_line(message.get("cause")))
        self._controller.workers.report(*ticket_of(message), text_of(message, "claimant") or "", gone, caller)
        return {}

    def _admit(self, message: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Admit a job of the other fields; ``take_over``: in the place of one of this name.

        ``addresses``, those of the workers' processes, may take the place of ``workers``. ``path_mtu``: smallest path
        MTU that the workers measured.
        """
        fields = dict(message)
        take_over = fields.pop("take_over", False) is True
        addresses, path_mtu = fields.pop("addresses", None), fields.pop("path_mtu", None)
        if path_mtu is not None and type(path_mtu) is not int:
            raise AdmissionError(f"path_mtu = {path_mtu!r} is no number of bytes.")
        if addresses is not None:
            if not isinstance(addresses, list) or not all(isinstance(one, str) for one in addresses):
                raise AdmissionError(f"addresses = {addresses!r} is no list of IPv4 addresses.")
            fields["workers"] = []
        request = JobRequest.from_message(fields)
        admitted = self._controller.admit(
            request, addresses=addresses, path_mtu=path_mtu, take_over=take_over, caller=caller
        )
        return job_message(admitted)

    def _remove(self, message: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Remove ``job``; with ``unused`` only if none of its workers lives."""
        self._controller.remove(name_of(message), caller=caller, unused=message.get("unused") is True)
        return {}

    def _resize(self, message: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Change ``slots``, ``quota`` or ``priority`` of ``job``."""
        kinds = ("slots", "quota", "priority")
        slots, quota, priority = (None if message.get(kind) is None else number_of(message, kind) for kind in kinds)
        if (slots, quota, priority) == (None, None, None):
            raise AdmissionError("A change of a job names neither slots nor quota nor priority.")
        return job_message(self._controller.resize(name_of(message), slots, caller, quota=quota, priority=priority))

    def _leave(self, message: dict[str, Any], caller: Caller) -> dict[str, Any]:
        return job_message(self._controller.leave(name_of(message), worker_of(message), caller))

    def _extend(self, message: dict[str, Any], caller: Caller) -> dict[str, Any]:
        return job_message(self._controller.extend(name_of(message), str(message.get("host")), caller))

    def _drain(self, message: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Drain ``switch`` for the reason ``why``; with ``job`` for this job alone."""
        switch, why = str(message.get("switch")), text_of(message, "why") or ""
        return {"moved": self._controller.drain(switch, why, caller, name=text_of(message, "job"))}

    def _undrain(self, message: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Return the drained ``switch`` to all jobs; with ``job`` to this job alone."""
        return {"jobs": self._controller.undrain(str(message.get("switch")), caller, name=text_of(message, "job"))}

    def _tenant(self, message: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Change the fields ``quota`` of the quota of ``tenant``; null: the default one."""
        changes = message.get("quota")
        if changes is not None:
            kinds = {one.name: int | float if one.name == "share" else int for one in dataclasses.fields(TenantQuota)}
            known = isinstance(changes, dict) and bool(changes) and changes.keys() <= kinds.keys()
            if not known or any(isinstance(one, bool) or not isinstance(one, kinds[at]) for at, one in changes.items()):
                raise AdmissionError(f"{str(changes)[:MAX_TEXT]} is no change of a quota.")
        quota = self._controller.change_tenant(text_of(message, "tenant") or "", changes, caller)
        return {"quota": dataclasses.asdict(quota)}

    def _tenants(self, _message: dict[str, Any], _caller: Caller) -> dict[str, Any]:
        """Return the ``default`` quota, and by tenant its quota and its jobs."""
        quotas, jobs = self._controller.reconciler.quotas, self._controller.present()
        owners = sorted({*quotas.own, *(job.owner for job in jobs if job.limited)})
        return {
            "default": dataclasses.asdict(quotas.default),
            "tenants": {
                owner: {
                    "quota": dataclasses.asdict(quotas.of(owner)),
                    "jobs": [job.request.name for job in jobs if job.tenant == owner],
                }
                for owner in owners
            },
        }

    def _jobs(self, message: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """List the first jobs after number ``after``; ``more`` is the number of jobs that follow.

        ``admitted`` is the date of admission, null if its event is no longer kept. ``servers``: addresses to which
        packets go.
        """
        after = number_of(message, "after") if "after" in message else 0
        dates = {name: date(seconds) for name, seconds in self._controller.events.admissions().items()}
        jobs = [job for job in self._seen(caller) if job.number > after]
        listed = fitting({**job_message(job), "admitted": dates.get(job.request.name)} for job in jobs)
        servers = [list(address) for address in self._controller.network.servers]
        return {"jobs": listed, "more": len(jobs) - len(listed), "servers": servers}

    def _seen(self, caller: Caller) -> list[AdmittedJob]:
        """Return the jobs that are open to a caller, in the order of their numbers."""
        jobs = (job for job in self._controller.jobs() if sees(caller, job.request.name, job.owner))
        return sorted(jobs, key=lambda job: job.number)

    def _live(self, message: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Return the figures of the workers of ``job``; without it of all jobs of the caller, and for operators the
        counters.

        The workers are asked for new counts, which a later call returns. ``more`` is the number of jobs that the answer
        has no room for.
        """
        jobs = [self._controller.job(name_of(message))] if "job" in message else self._seen(caller)
        figures = self._controller.ask(jobs)
        listed = fitting(
            {
                **job_message(job),
                "incarnation": self._incarnation(job),
                "result_bytes": job.result_bytes,
                "figures": [one.to_message() for one in figures[job.number]],
            }
            for job in jobs
        )
        answer: dict[str, Any] = {"jobs": listed, "more": len(jobs) - len(listed)}
        if "job" not in message and caller.role is CallerRole.OPERATOR:
            answer["counters"] = self._controller.counters()
        return answer

    def _incarnation(self, job: AdmittedJob) -> str:
        """Return an identifier of an incarnation that does not disclose its tag; it is of this process."""
        ticket = job.tickets[0]
        return hashlib.blake2b(f"{ticket.job} {ticket.tag}".encode(), key=self._key, digest_size=8).hexdigest()

    def _trace(self, message: dict[str, Any], _caller: Caller) -> dict[str, Any]:
        """Begin a trace of ``job`` for ``seconds``; return the workers that live.

        Without ``seconds`` return the workers that have reported; with ``end`` return the reports, and forget them.
        """
        job, workers = self._controller.job(name_of(message)), self._controller.workers
        if "seconds" in message:
            seconds = message["seconds"]
            if not isinstance(seconds, int | float) or isinstance(seconds, bool):
                raise AdmissionError(f"seconds = {str(seconds)[:40]!r} is no number.")
            return {"workers": workers.begin_trace(job, seconds)}
        if message.get("end") is not True:
            return {"workers": workers.traced(job)}
        hosts, found = job.request.workers, sorted(workers.end_trace(job).items())
        return {"traces": [{"worker": one, "host": hosts[one], **trace.to_message()} for one, trace in found]}

    def _counters(self, _message: dict[str, Any], _caller: Caller) -> dict[str, Any]:
        return self._controller.counters()

    def _events(self, message: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Return the first ``MAX_ANSWERED`` events after number ``since``, and not before the time ``since_s``.

        ``ago_s`` gives this time in seconds before now, by the clock of the controller.

        Operators get all events, tenants those of their present jobs.

        ``more`` is True if others follow. Without both fields, the answer has the last events.
        """
        log, of = self._controller.events, None
        if caller.role is not CallerRole.OPERATOR:
            names = [(job.request.name, job.owner) for job in self._controller.present()]
            of = [name for name, owner in names if sees(caller, name, owner)]
        if not message.keys() & {"since", "since_s", "ago_s"}:
            return {"events": [event.to_message() for event in log.latest(of=of)], "more": False}
        since_s = message.get("ago_s", message.get("since_s", 0.0))
        if not isinstance(since_s, int | float) or isinstance(since_s, bool) or abs(since_s) >= 1 << 63:
            raise AdmissionError(f"since_s = {str(since_s)[:40]!r} is no time in seconds.")
        if "ago_s" in message:
            since_s = log.now() - since_s
        since = number_of(message, "since") if "since" in message else 0
        if abs(since) >= 1 << 63:
            raise AdmissionError(f"since = {since} is no number of an event.")
        found = log.since(since, since_s=since_s, limit=MAX_ANSWERED + 1, of=of)
        return {
            "events": [event.to_message() for event in found[:MAX_ANSWERED]],
            "more": len(found) > MAX_ANSWERED,
        }

    def start(self) -> None:
        self._service.start()

    def close(self) -> None:
        """Stop serving; the jobs stay installed."""
        self._service.close()


def _not_leading(why: str) -> RefusedError:
    """Return the refusal after which a caller tries the other controllers."""
    return RefusedError(import_grpc().StatusCode.UNAVAILABLE, why, (STANDBY,))
