# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Client of an aggregation server's control service."""

from __future__ import annotations

from typing import Any

from lanesum.errors import LanesumError
from lanesum.protocol.spec import VERSION
from lanesum.rpc import json_grpc
from lanesum.server.jobs import ServerJob, ServerStatus
from lanesum.server.service import ADMIT, REMOVE, SERVICE, STATUS

DEFAULT_TIMEOUT_S = 15.0  # as for a switch: a server on a busy host can stand still for seconds


class ServerError(LanesumError):
    """The aggregation server refused a call, or cannot be reached."""


class ServerUnreachableError(ServerError):
    """The aggregation server did not answer in time."""


class RemoteServer:
    """An aggregation server, called through its control service.

    All calls are idempotent. Every method raises ServerUnreachableError after ``timeout_s`` seconds, and ServerError
    with the server's message if the server refuses.

    Args:
        address: address of the control service, ``host:port``.
        timeout_s: time limit of a call, in seconds.
        term: term of the calling controller, see ``Database``: a server refuses a lower one than the last.
    """

    def __init__(self, address: str, *, timeout_s: float = DEFAULT_TIMEOUT_S, term: int = 0) -> None:
        self.address = address
        self._fence = {"term": term} if term else {}
        self._timeout_s = timeout_s

    def admit(self, job: ServerJob) -> None:
        """Serve ``job`` instead of any job with its number and another tag."""
        self._call(ADMIT, {"job": job.to_json()})

    def remove(self, job: int) -> None:
        """Drop a job and its results; an unknown number has no effect."""
        self._call(REMOVE, {"job": job})

    def status(self) -> ServerStatus:
        """Return instance, jobs and counters."""
        reply = self._call(STATUS, {})
        try:
            return _status(reply)
        except ValueError as error:
            raise ServerError(
                f"The status of the aggregation server at {self.address} cannot be read: {error}.",
                "Run the same version of lanesum at both ends.",
            ) from error

    def _call(self, method: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._exchange(method, {**message, **self._fence})
        except json_grpc.NoAnswerError as error:
            raise ServerUnreachableError(
                f"No aggregation server answers at {self.address} within {self._timeout_s:g} s.",
                "Start it (lanesum server), or correct the address.",
            ) from error
        except json_grpc.RefusedCallError as error:
            raise ServerError(f"The aggregation server at {self.address}: {error}") from error

    def _exchange(self, method: str, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message, and return the answer. Raises RefusedCallError, NoAnswerError."""
        return json_grpc.call(self.address, SERVICE, method, message, self._timeout_s)


def _status(message: dict[str, Any]) -> ServerStatus:
    """Read the output of ``ServerStatus.to_message``. Raises ValueError for any other message."""
    if message.get("protocol") not in (None, VERSION):
        raise ValueError(f"it uses protocol version {message['protocol']}, and this controller {VERSION}")
    try:
        jobs = [ServerJob.from_json(text) for text in message["jobs"]]
        ip, port = message["address"]
        return ServerStatus(
            message["instance"],
            (ip, port),
            message["durable"],
            {job.job: job for job in jobs},
            message["decisions"],
            message["refused"],
            message["broken"],
        )
    except (KeyError, TypeError, LanesumError) as error:
        raise ValueError(f"not the status of a server: {error!r}") from error
