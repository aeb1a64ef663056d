# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Access to the controller: who calls, and which calls and jobs are open to them.

A token comes first, then the certificate. Workers have the token of their job. Callers without a token are operators on
a unix socket, whose permissions say who may connect, and at a controller with neither tokens nor mutual TLS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lanesum.rpc import controller as rpc
from lanesum.rpc import tls
from lanesum.rpc.caller import UNAUTHENTICATED, Caller, CallerRole
from lanesum_control.jobs.records import Job
from lanesum_control.security.tokens import TokenFile, token_hash

#: A caller with no rights but to learn that a job has ended: with no token, or one that no caller and no job has.
UNKNOWN = Caller("", CallerRole.WORKER)

_OF_WORKERS = frozenset({rpc.JOIN, rpc.READY, rpc.KEEPALIVE, rpc.WATCH, rpc.REPORT, rpc.JOBS, rpc.LIVE})
_OF_TENANTS = _OF_WORKERS | {rpc.ADMIT, rpc.REMOVE, rpc.RESIZE, rpc.LEAVE, rpc.EXTEND, rpc.RENEW, rpc.EVENTS, rpc.TRACE}
_OF_ALL_JOBS = frozenset({rpc.JOBS, rpc.EVENTS, rpc.LIVE})
_BY_NUMBER = frozenset({rpc.READY, rpc.KEEPALIVE, rpc.WATCH, rpc.REPORT, rpc.RENEW})
_CALLS = {CallerRole.WORKER: _OF_WORKERS, CallerRole.TENANT: _OF_TENANTS}


class Access:
    """Callers of the controller and their rights.

    Args:
        jobs: returns the admitted jobs, without a lock.
        tokens: operators and tenants by token; with None, an unknown token is as good as none.
        closed: callers without token and certificate have no rights.
    """

    def __init__(
        self, jobs: Callable[[], Iterable[Job]], tokens: TokenFile | None = None, *, closed: bool = False
    ) -> None:
        self._jobs = jobs
        self._tokens = tokens
        self._other = UNKNOWN if closed else UNAUTHENTICATED

    def authenticate(self, metadata: Mapping[str, Any], auth_context: Mapping[str, Any]) -> Caller:
        """Return the caller of a call with this metadata and gRPC authentication context. Does not block."""
        token = metadata.get(tls.AUTHORIZATION)
        if token is not None:
            return self._of_token(str(token).removeprefix(tls.BEARER))
        caller = tls.caller_of(auth_context)
        if caller is None:
            return self._other
        return UNKNOWN if caller.role is CallerRole.WORKER else caller  # a worker has the token of its job, too

    def _of_token(self, token: str) -> Caller:
        digest = token_hash(token)
        for job in self._jobs():
            if job.request.worker_token == digest:
                return Caller(job.request.name, CallerRole.WORKER)
        return self._other if self._tokens is None else self._tokens.caller(token) or UNKNOWN

    def is_revoked(self, caller: Caller) -> bool:
        """Return True if the caller's token was removed from the token file, or replaced. May block."""
        return caller.token_hash != "" and self._tokens is not None and not self._tokens.has(caller)

    def check(self, caller: Caller, method: str, message: Mapping[str, Any]) -> None:
        """Check that a caller may make a call. Raises AccessError."""
        if caller.role is CallerRole.OPERATOR:
            return
        who = described(caller)
        takes_over = caller.role is CallerRole.WORKER and bool(message.get("take_over"))
        of_all_jobs = method in _OF_ALL_JOBS and "job" not in message
        if method not in _CALLS[caller.role] or takes_over or (of_all_jobs and caller.name == ""):
            raise tls.AccessError(f"{who} may not call {method}.", "Call with the token of an operator or tenant.")
        if of_all_jobs:
            return
        if method in _BY_NUMBER:
            about = message.get("job")
            job = next((job for job in self._jobs() if job.number == about), None)
            free = True  # that a job has ended is no secret; its workers have a void token then
        else:
            about = str(message.get("name" if method == rpc.ADMIT else "job"))  # as the service reads it
            job = next((job for job in self._jobs() if job.request.name == about), None)
            free = method == rpc.ADMIT
        if not (free if job is None else sees(caller, job.request.name, job.owner)):
            raise tls.AccessError(f"{who} has no job {about!r}.", "Name another job, or use the token of its owner.")


def sees(caller: Caller, job: str, owner: str) -> bool:
    """Return True if a job is open to a caller: all jobs to operators, their own ones to tenants and workers."""
    own = owner if caller.role is CallerRole.TENANT else job
    return caller.role is CallerRole.OPERATOR or (caller.name != "" and caller.name == own)


def described(caller: Caller) -> str:
    """Return a caller in words."""
    if caller.name == "":
        return "A caller without a token, or with one that is unknown or of a job that has ended,"
    return (
        f"A worker of job {caller.name!r}" if caller.role is CallerRole.WORKER else f"The {caller.role} {caller.name!r}"
    )
