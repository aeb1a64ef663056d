# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Join an admitted job as a worker."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import logging
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path

from lanesum import environment
from lanesum.errors import ConfigurationError
from lanesum.keep_alive import call, claimant, ending
from lanesum.launch.run_folder import RunFolder
from lanesum.protocol.spec import VERSION
from lanesum.rpc import controller as rpc
from lanesum.transport.long_wait import LOG_WAIT_S
from lanesum.transport.ticket import JobTicket

DEFAULT_WAIT_S = 300.0  # for the other workers: their processes may start late
_MAX_VALUE = 400  # characters of a value that all workers compare; messages have at most ``rpc.MAX_TEXT``
_POLL_S = 0.1
_MAX_POLL_S = 1.0

logger = logging.getLogger(__name__)


class DescriptionMismatchError(ConfigurationError):
    """The workers of a job use different codecs or versions; the message names them."""


class NotReadyError(rpc.ControllerError):
    """Some workers have not joined in time; the message names their hosts or ranks."""


def join(
    *,
    controller: str | None = None,
    job: str | None = None,
    worker: int | None = None,
    timeout_s: float = rpc.DEFAULT_TIMEOUT_S,
    description: str | None = None,
    wait: bool = False,
    wait_s: float = DEFAULT_WAIT_S,
    take_over: bool = False,
) -> JobTicket:
    """Return the ticket of one worker.

    Args:
        controller: ``host:port`` of the controller, or of several by commas; the default is LANESUM_CONTROLLER.
        job: name of the job; the default is LANESUM_JOB.
        worker: number of this worker; the default is RANK, which torchrun sets.
        timeout_s: maximum waiting time for the controller, in seconds.
        description: description of this worker's codec; it must be the same at all workers.
        wait: return only when all workers have joined.
        wait_s: maximum waiting time for them, in seconds.
        take_over: take the place of a process that is this worker and lives; the workers of its run get
            SupersededError.

    A ticket is for one session. If a worker joins a second time, a new incarnation begins for all workers.

    If LANESUM_TICKET names a file and no controller is given, the ticket is read from there, and the file is renamed to
    ``FILE.used``; ``wait`` has no effect then.

    Raises:
        ConfigurationError: a value is missing.
        ControllerError: the controller refuses or does not answer, or another process is this worker already.
        DescriptionMismatchError, NotReadyError, SupersededError, WorkerGoneError: with ``wait``.
    """
    ticket_file = os.environ.get(environment.TICKET)
    if ticket_file and controller is None:
        return take_ticket(Path(ticket_file))
    address, name, rank = _settings(controller, job, worker)
    ticket = _take(address, name, rank, timeout_s, description, take_over=take_over)
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
    controller: str, job: str, worker: int, timeout_s: float, description: str | None, *, take_over: bool
) -> JobTicket:
    message = {
        "job": job,
        "worker": worker,
        "claimant": claimant(),
        "origin": f"process {os.getpid()} at {socket.gethostname()}",
        "description": _described(description, {}),
        "take_over": take_over,
        "protocol": VERSION,
    }
    reply = rpc.call(controller, rpc.JOIN, message, timeout_s, connect_s=rpc.CONNECT_S)
    ticket = dataclasses.replace(JobTicket.from_json(reply["ticket"]), controller=controller, name=job)
    if (folder := RunFolder.of_environment()) is not None:
        folder.write_stats(ticket.worker, {}, ticket.job)
    return ticket


def _described(codec: str | None, facts: Mapping[str, str]) -> str | None:
    """Return what must be the same at all workers, as the controller compares it; None if nothing is to be compared."""
    if codec is None:
        return None
    values = {"codec": codec, "lanesum": importlib.metadata.version("lanesum"), **facts}
    return json.dumps({name: _short(value) for name, value in values.items()}, sort_keys=True)


def _short(value: str) -> str:
    """Return a long value as its beginning and its hash: a policy with many rules has a long description."""
    if len(value) <= _MAX_VALUE:
        return value
    return f"{value[:_MAX_VALUE]} ... (SHA-256 {hashlib.sha256(value.encode()).hexdigest()})"


def _differences(descriptions: Mapping[str, str | None]) -> str:
    """Return the values in which ``descriptions`` of workers differ, with the workers."""
    values: dict[str, dict[str, list[str]]] = {}
    for who, text in descriptions.items():
        try:
            facts = dict(json.loads(text or "{}"))
        except (ValueError, TypeError):
            facts = {"codec": text, "lanesum": "an older version"}
        for fact, value in facts.items():
            values.setdefault(rpc.one_line(fact), {}).setdefault(rpc.one_line(value), []).append(rpc.one_line(who))
    return "; ".join(
        f"{fact} is " + ", but ".join(f"{value} at {', '.join(workers)}" for value, workers in of.items())
        for fact, of in values.items()
        if len(of) > 1
    )


def wait_for_others(
    ticket: JobTicket,
    controller: str,
    *,
    description: str | None = None,
    facts: Mapping[str, str] | None = None,
    timeout_s: float = DEFAULT_WAIT_S,
) -> None:
    """Wait until all workers of a job have joined.

    Args:
        controller: ``host:port`` of the controller.
        description: description of this worker's codec (``Codec.describe``); if given, all workers must
            give the same one.
        facts: other values by name that must be the same, such as versions.
        timeout_s: maximum waiting time, in seconds.

    Raises:
        DescriptionMismatchError: the workers use different codecs, versions or facts; all waiting workers get this
            error.
        NotReadyError: a worker has not joined.
        WorkerGoneError: a worker has failed meanwhile.
        SupersededError: the ticket is void.
        ControllerError: the controller does not answer.
    """
    begun, pause_s, logged = time.monotonic(), _POLL_S, False
    about = {"claimant": claimant(), "description": _described(description, facts or {})}
    while True:
        answer = call(controller, rpc.READY, ticket, rpc.DEFAULT_TIMEOUT_S, **about)
        state = answer["state"]
        if state == "mismatch":
            raise DescriptionMismatchError(
                f"The workers of job {ticket.label} differ: {_differences(answer['descriptions'])}.",
                "Give all workers the same codec, parameters and versions, and join again.",
            )
        if state == "ready":
            return
        over = ending(ticket, answer)
        if over is not None:
            raise over[0]
        missing, waited_s = ", ".join(answer["for"]), time.monotonic() - begun
        if waited_s > timeout_s:
            raise NotReadyError(
                f"Workers at {missing} have not joined job {ticket.label} within {timeout_s:g} s.",
                "Check their logs. Each rank calls attach, or State.join.",
            )
        if waited_s > LOG_WAIT_S and not logged:
            logged = True
            logger.warning(
                "Worker %d of job %s has waited %g s for workers at %s, which have not joined. Each rank calls attach.",
                ticket.worker,
                ticket.label,
                LOG_WAIT_S,
                missing,
            )
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _MAX_POLL_S)


def take_ticket(ticket_file: Path) -> JobTicket:
    """Read a ticket file once, by renaming it: only one process succeeds. Raises ConfigurationError."""
    used = ticket_file.with_name(ticket_file.name + ".used")
    try:
        ticket_file.rename(used)
        return JobTicket.from_json(used.read_bytes())
    except FileNotFoundError as error:
        if used.exists():
            raise ConfigurationError(
                f"The ticket {ticket_file} was used already, and a ticket is for one session.",
                "Take a new one (lanesum job ticket).",
            ) from error
        raise ConfigurationError(f"There is no ticket {ticket_file}.") from error
    except OSError as error:
        raise ConfigurationError(f"Cannot read the ticket {ticket_file}: {error.strerror}.") from error
