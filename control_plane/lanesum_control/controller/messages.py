# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fields of the JSON messages of callers, and jobs in the answers to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lanesum.rpc import controller as rpc
from lanesum.rpc.json_grpc import encode
from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.records import AdmittedJob
from lanesum_control.state.events import date
from lanesum_fabric.program.switch_job import Role

MAX_TEXT = 512
# Length of the jobs that one answer lists; the first one is listed in any case.
_MAX_LIST_BYTES = 8 << 20


def job_message(admitted: AdmittedJob) -> dict[str, Any]:
    """Return a job as JSON fields.

    ``placement``: slots and role of every switch with a part in the job, and the pipe of a chip that combines the sums
    of other pipes; ``left_out``: reasons why others have none; ``moved``: switches whose sums the server computes, left
    out or lost, with the date and the kind of the reason. The tag is a secret of the workers, whose tickets have it.
    """
    request = admitted.request
    first = admitted.tickets[0]
    return {
        "name": request.name,
        "job": admitted.number,
        "owner": admitted.owner,
        "workers": list(request.workers),
        "joined": [request.workers[worker] for worker in sorted(admitted.joined)],
        "slots": request.in_flight,
        "words": first.accumulator_words,
        "quota": request.guaranteed,
        "priority": request.priority,
        "quorum": request.quorum,
        "lease_s": request.lease_s,
        "certified": request.certified,
        "servers": [f"{ip}:{port}" for ip, port in first.servers],
        "ops": [op.name for op in first.ops],
        "placement": {
            switch: {
                "role": " ".join(str(role.name) for role in Role if role in job.role),
                "slot_base": job.slot_base,
                "slots": job.slot_count,
                "shared": Role.SHARED in job.role,
                "group": job.group,
                "combining_pipe": job.combining_pipe,
            }
            for switch, job in admitted.switch_jobs.items()
        },
        "left_out": dict(admitted.left_out),
        "moved": {
            switch: {"since": date(one.since), "why": one.why, "cause": one.why.cause}
            for switch, one in admitted.moved.items()
        },
    }


def fitting(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first messages that one answer has room for, at least one."""
    found: list[dict[str, Any]] = []
    left = _MAX_LIST_BYTES
    for message in messages:
        left -= len(encode(message))
        if found and left < 0:
            break
        found.append(message)
    return found


def job_of(method: str, message: dict[str, Any]) -> object:
    """Return what a call names as its job, which may be anything."""
    return message.get("name" if method == rpc.ADMIT else "job")


def name_of(message: dict[str, Any]) -> str:
    """Return the name of the job that a call is about."""
    return str(message.get("job"))


def ticket_of(message: dict[str, Any]) -> tuple[int, int, int]:
    """Return job, tag and worker of a ticket. Raises AdmissionError."""
    return number_of(message, "job"), number_of(message, "tag"), number_of(message, "worker")


def text_of(message: dict[str, Any], name: str, max_length: int = MAX_TEXT) -> str | None:
    """Return a text of a caller; None without one. Raises AdmissionError."""
    value = message.get(name)
    if value is not None and len(str(value)) > max_length:
        raise AdmissionError(f"{name} has {len(str(value))} characters, more than {max_length}.")
    if "\0" in str(value):
        raise AdmissionError(f"{name} = {str(value)[:40]!r} has a NUL character, which PostgreSQL cannot store.")
    return None if value is None else str(value)


def number_of(message: dict[str, Any], name: str) -> int:
    """Return an integer of a caller. Raises AdmissionError."""
    value = message.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise AdmissionError(f"{name} = {value!r} is no number.")
    return value


def worker_of(message: dict[str, Any]) -> int | str:
    """Return the number or the host of a worker. Raises AdmissionError."""
    worker = message.get("worker")
    if not isinstance(worker, int | str) or isinstance(worker, bool):
        raise AdmissionError(f"{worker!r} is no worker number, and no host.")
    return worker
