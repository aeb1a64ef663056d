# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Join an admitted job as a worker, and keep the membership alive."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
import time
from pathlib import Path
from typing import Any

from lanesum import environment
from lanesum._internal.closing import Closing, Serving
from lanesum.errors import ConfigurationError
from lanesum.launch.run_folder import RunFolder
from lanesum.rpc import controller as rpc
from lanesum.transport.ticket import JobTicket

DEFAULT_WAIT_S = 300.0  # for the other workers: their processes may start late
DEFAULT_KEEP_ALIVE_S = 5.0  # far below a usual lease
_POLL_S = 0.1
_MAX_POLL_S = 1.0
_LAST_CALL_S = 1.0
_OVER = ("superseded", "removed")
_RANDOM = secrets.token_hex(8)


class DescriptionMismatchError(ConfigurationError):
    """The workers of a job use different codecs; the message names them."""


class NotReadyError(rpc.ControllerError):
    """Some workers have not joined in time; the message names their hosts."""


class SupersededError(rpc.ControllerError):
    """The ticket is void: the job has begun anew, or was removed."""


def claimant() -> str:
    """Return text that identifies this process; forks get another one."""
    return f"{_RANDOM}-{os.getpid()}"


def _origin() -> str:
    return f"process {os.getpid()} at {socket.gethostname()}"


class KeepAlive(Serving):
    """Background thread that renews the lease of a job, and detects that its incarnation has ended.

    Use as a context manager, or call ``start`` and ``close``. Calls that the controller does not answer are repeated,
    so a restart of the controller disturbs no job.

    Args:
        ticket: ticket of this worker.
        controller: ``host:port`` of the controller.
        interval_s: time between two calls, in seconds.
    """

    def __init__(self, ticket: JobTicket, controller: str, interval_s: float = DEFAULT_KEEP_ALIVE_S) -> None:
        self._ticket = ticket
        self._controller = controller
        self._interval_s = interval_s
        self._over = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lanesum-keep-alive", daemon=True)

    @property
    def superseded(self) -> bool:
        """The job has a new incarnation, or was removed: the ticket is void."""
        return self._over.is_set()

    def check(self, timeout_s: float = rpc.DEFAULT_TIMEOUT_S) -> str:
        """Return ``waiting``, ``ready``, ``mismatch``, ``superseded`` or ``removed``. Raises ControllerError."""
        state: str = _state(self._controller, rpc.KEEPALIVE, self._ticket, timeout_s)["state"]
        if state in _OVER:
            self._over.set()
        return state

    def _run(self) -> None:
        while not self._stop.is_set() and not self.superseded:
            with contextlib.suppress(rpc.ControllerError):
                self.check(self._interval_s)
            self._stop.wait(self._interval_s)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread; wait at most one second for a call in flight. Idempotent."""
        self._stop.set()
        # The interpreter should not end while the thread is in a call.
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_LAST_CALL_S)


class Membership(Closing):
    """Membership of a worker in a job, across incarnations. Use as a context manager, or call ``close``.

    ``Membership.join`` creates it. While it is open, a thread keeps the job alive.

    Attributes:
        ticket: ticket of the current incarnation, for one session.
        host: the worker's host, as the topology names it.
    """

    def __init__(
        self,
        ticket: JobTicket,
        *,
        controller: str,
        job: str,
        host: str,
        description: str | None = None,
        interval_s: float = DEFAULT_KEEP_ALIVE_S,
    ) -> None:
        self.ticket = ticket
        self.host = host
        self._controller = controller
        self._job = job
        self._description = description
        self._interval_s = interval_s
        self._keep_alive = KeepAlive(ticket, controller, interval_s)
        self._keep_alive.start()

    @classmethod
    def join(
        cls,
        *,
        controller: str | None = None,
        job: str | None = None,
        worker: int | None = None,
        timeout_s: float = rpc.DEFAULT_TIMEOUT_S,
        description: str | None = None,
        wait: bool = False,
        wait_s: float = DEFAULT_WAIT_S,
        interval_s: float = DEFAULT_KEEP_ALIVE_S,
    ) -> Membership:
        """Join through a controller; arguments and errors as of ``lanesum.join.join``.

        ``interval_s`` is the time between keep-alive calls, in seconds.
        """
        address, name, rank = _settings(controller, job, worker)
        ticket, host = _take(address, name, rank, timeout_s, description, after=None)
        member = cls(ticket, controller=address, job=name, host=host, description=description, interval_s=interval_s)
        if wait:
            try:
                member.wait_until_ready(wait_s)
            except BaseException:
                member.close()
                raise
        return member

    @property
    def superseded(self) -> bool:
        """The job has a new incarnation, or was removed: close the session and ``rejoin``."""
        return self._keep_alive.superseded

    def check(self, timeout_s: float = rpc.DEFAULT_TIMEOUT_S) -> str:
        """Return the state, see ``KeepAlive.check``."""
        return self._keep_alive.check(timeout_s)

    def wait_until_ready(self, timeout_s: float = DEFAULT_WAIT_S, *, description: str | None = None) -> None:
        """Wait until all workers have joined, see ``wait_for_others``; ``rejoin`` uses ``description`` again."""
        self._description = description or self._description
        wait_for_others(self.ticket, self._controller, description=self._description, timeout_s=timeout_s)

    def rejoin(
        self, *, timeout_s: float = rpc.DEFAULT_TIMEOUT_S, wait: bool = False, wait_s: float = DEFAULT_WAIT_S
    ) -> JobTicket:
        """Return a ticket of the newest incarnation; it may have another worker number.

        If this worker still has the current incarnation, its session counts as ended, and a new incarnation begins for
        all workers. Raises ControllerError, for example if this host was removed from the job.
        """
        self._keep_alive.close()
        self.ticket, self.host = _take(
            self._controller, self._job, self.host, timeout_s, self._description, after=self.ticket.tag
        )
        self._keep_alive = KeepAlive(self.ticket, self._controller, self._interval_s)
        self._keep_alive.start()
        if wait:
            self.wait_until_ready(wait_s)
        return self.ticket

    def close(self) -> None:
        """Stop renewing the lease; idempotent."""
        self._keep_alive.close()


def join(
    *,
    controller: str | None = None,
    job: str | None = None,
    worker: int | None = None,
    timeout_s: float = rpc.DEFAULT_TIMEOUT_S,
    description: str | None = None,
    wait: bool = False,
    wait_s: float = DEFAULT_WAIT_S,
) -> JobTicket:
    """Return the ticket of one worker.

    Args:
        controller: ``host:port`` of the controller; the default is LANESUM_CONTROLLER.
        job: name of the job; the default is LANESUM_JOB.
        worker: number of this worker; the default is RANK, which torchrun sets.
        timeout_s: maximum waiting time for the controller, in seconds.
        description: description of this worker's codec; it must be the same at all workers.
        wait: return only when all workers have joined.
        wait_s: maximum waiting time for them, in seconds.

    A ticket is for one session. If a worker joins a second time, a new incarnation begins for all workers.

    If LANESUM_TICKET names a file and no controller is given, the ticket is read from there, and the file is renamed to
    ``FILE.used``; ``wait`` has no effect then.

    Raises:
        ConfigurationError: a value is missing.
        ControllerError: the controller refuses or does not answer, or another process is this worker already.
        DescriptionMismatchError, NotReadyError, SupersededError: with ``wait``.
    """
    ticket_file = os.environ.get(environment.TICKET)
    if ticket_file and controller is None:
        return take_ticket(Path(ticket_file))
    address, name, rank = _settings(controller, job, worker)
    ticket, _ = _take(address, name, rank, timeout_s, description, after=None)
    if wait:
        wait_for_others(ticket, address, timeout_s=wait_s)
    return ticket


def controller_address(controller: str | None = None) -> str | None:
    """Return the controller that ``join`` calls: as given, or from the environment; None with a ticket file."""
    if controller is None and os.environ.get(environment.TICKET):
        return None
    return controller or os.environ.get(environment.CONTROLLER) or None


def _settings(controller: str | None, job: str | None, worker: int | None) -> tuple[str, str, int]:
    """Return controller, job and rank, as given or from the environment. Raises ConfigurationError."""
    values = {
        environment.CONTROLLER: controller or os.environ.get(environment.CONTROLLER),
        environment.JOB: job or os.environ.get(environment.JOB),
        environment.RANK: os.environ.get(environment.RANK) if worker is None else str(worker),
    }
    missing = [name for name, value in values.items() if not value]
    if missing:
        raise ConfigurationError(
            f"To join a job, {', '.join(missing)} must be set (or given as arguments).",
            "Start the script with lanesum launch, or under torchrun with these variables.",
        )
    rank = values[environment.RANK] or ""
    if not rank.isdecimal():
        raise ConfigurationError(f"{environment.RANK} = {rank!r} is no worker number.")
    return values[environment.CONTROLLER] or "", values[environment.JOB] or "", int(rank)


def _take(
    controller: str, job: str, worker: int | str, timeout_s: float, description: str | None, *, after: int | None
) -> tuple[JobTicket, str]:
    message = {
        "job": job,
        "worker": worker,
        "claimant": claimant(),
        "origin": _origin(),
        "description": description,
        "after": after,
    }
    # A worker that comes back waits for a controller that restarts; a new one with a wrong address fails soon.
    reply = rpc.call(controller, rpc.JOIN, message, timeout_s, connect_s=rpc.CONNECT_S if after is None else None)
    ticket = JobTicket.from_json(reply["ticket"])
    if (folder := RunFolder.of_environment()) is not None:
        folder.write_stats(ticket.worker, {})
    return ticket, reply["host"]


def _state(controller: str, method: str, ticket: JobTicket, timeout_s: float, **more: Any) -> dict[str, Any]:
    message = {"job": ticket.job, "tag": ticket.tag, "worker": ticket.worker, **more}
    return rpc.call(controller, method, message, timeout_s)


def wait_for_others(
    ticket: JobTicket, controller: str, *, description: str | None = None, timeout_s: float = DEFAULT_WAIT_S
) -> None:
    """Wait until all workers of a job have joined.

    Args:
        ticket: ticket of this worker.
        controller: ``host:port`` of the controller.
        description: description of this worker's codec (``Codec.describe``); if given, all workers must
            give the same one.
        timeout_s: maximum waiting time, in seconds.

    Raises:
        DescriptionMismatchError: the workers use different codecs; all waiting workers get this error.
        NotReadyError: a worker has not joined.
        SupersededError: the ticket is void.
        ControllerError: the controller does not answer.
    """
    deadline = time.monotonic() + timeout_s
    pause_s = _POLL_S
    while True:
        answer = _state(
            controller, rpc.READY, ticket, rpc.DEFAULT_TIMEOUT_S, claimant=claimant(), description=description
        )
        state = answer["state"]
        if state == "ready":
            return
        if state in _OVER:
            raise SupersededError(
                f"Job {ticket.job} has begun a new incarnation, or was removed, while worker {ticket.worker} waited.",
                "Join again.",
            )
        if state == "mismatch":
            said = "; ".join(f"{host}: {text or 'not said'}" for host, text in answer["descriptions"].items())
            raise DescriptionMismatchError(
                f"The workers of job {ticket.job} do not use the same codec: {said}.",
                "Give all workers the same codec with the same parameters, and join again.",
            )
        if time.monotonic() > deadline:
            raise NotReadyError(
                f"Workers at {', '.join(answer['for'])} have not joined job {ticket.job} within {timeout_s:g} s.",
                "Check their logs.",
            )
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _MAX_POLL_S)


def take_ticket(ticket_file: Path) -> JobTicket:
    """Read a ticket file once, by renaming it: only one process succeeds. Raises ConfigurationError."""
    used = ticket_file.with_name(ticket_file.name + ".used")
    try:
        ticket_file.rename(used)
        return JobTicket.from_json(used.read_text())
    except FileNotFoundError as error:
        if used.exists():
            raise ConfigurationError(
                f"The ticket {ticket_file} was used already, and a ticket is for one session.",
                "Take a new one (lanesum job ticket).",
            ) from error
        raise ConfigurationError(f"There is no ticket {ticket_file}.") from error
    except OSError as error:
        raise ConfigurationError(f"Cannot read the ticket {ticket_file}: {error.strerror}.") from error
