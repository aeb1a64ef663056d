# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Client of an aggregation server's control service, which notices restarts and changes by a stream."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

from lanesum._internal.closing import Closing
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.protocol.spec import VERSION
from lanesum.rpc import json_grpc, tls
from lanesum.rpc.json_grpc import OPTIONS, NoAnswerError, decode, encode
from lanesum.server.jobs import ServerJob, ServerStatus
from lanesum.server.service import ADMIT, REMOVE, SERVICE, STATUS, WATCH
from lanesum_control.threads import event_loop, listening, run

grpc = tls.import_grpc()

_RETRY_S = 0.25
_GAP_S = 0.25  # many jobs may change at once
_LOOK_S = 2.0  # to connect for the status, which is read again once the server is back
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
        connect_s = _LOOK_S if method == STATUS else None
        return json_grpc.call(self.address, SERVICE, method, message, self._timeout_s, connect_s)


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
            message.get("received", []),  # earlier builds do not report the rest
            message.get("steered_by", "none"),
        )
    except (KeyError, TypeError, LanesumError) as error:
        raise ValueError(f"not the status of a server: {error!r}") from error


class WatchedServer(RemoteServer, Closing):
    """Server with an open stream from ``watch`` on. While nothing listens at its address, ``status`` raises at once."""

    def __init__(self, address: str, *, term: int = 0) -> None:
        super().__init__(address, term=term)
        self._is_away = self._is_due = self._is_closed = False
        self._watching: Future[None] | None = None
        self._channel: Any = None  # of the stream, while it is open

    def watch(self, changed: Callable[[], None]) -> None:
        """From now on call ``changed``, in the event loop, when the server ends, returns, or has other jobs."""
        self._watching = asyncio.run_coroutine_threadsafe(self._watch(changed), event_loop())

    def close(self) -> None:
        """End the stream and calls over it; idempotent."""
        self._is_closed = True
        if self._watching is not None:
            self._watching.cancel()

    def status(self) -> ServerStatus:
        if self._is_away:
            raise ServerUnreachableError(
                f"No aggregation server answers at {self.address}.",
                "Start it (lanesum server), or correct the address.",
            )
        return super().status()

    def _exchange(self, method: str, message: dict[str, Any]) -> dict[str, Any]:
        """Call over the connection of the stream; over a new one if the stream ends, or the server refuses."""
        if (channel := self._channel) is not None:
            try:
                return decode(run(self._call_over(channel, method, encode(message))))
            except grpc.RpcError as error:
                if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                    raise NoAnswerError(
                        f"{method} at {self.address} has taken {self._timeout_s:g} s so far."
                    ) from error
            except (CancelledError, grpc.aio.UsageError):  # the channel was closed
                if self._is_closed:
                    raise NoAnswerError(f"The connection to {self.address} was closed.") from None
        return super()._exchange(method, message)

    async def _call_over(self, channel: Any, method: str, message: bytes) -> bytes:
        call = channel.unary_unary(f"/{SERVICE}/{method}")
        answer: bytes = await call(message, timeout=self._timeout_s, metadata=tls.metadata(self.address))
        return answer

    async def _watch(self, changed: Callable[[], None]) -> None:
        while True:
            try:
                await listening(self.address)
                is_away = False
            except OSError:
                is_away = True
            if is_away != self._is_away:
                self._is_away = is_away
                changed()
            if is_away or not await self._follow(changed):
                await asyncio.sleep(_RETRY_S)

    async def _follow(self, changed: Callable[[], None]) -> bool:
        """Call ``changed`` for the messages of one stream, and once if there is none. Return True if there is one."""
        had_message = False
        with contextlib.suppress(grpc.RpcError, ConfigurationError):  # ``status`` has the reason
            async with tls.channel(self.address, OPTIONS, asynchronous=True) as channel:
                stream = channel.unary_stream(f"/{SERVICE}/{WATCH}")(b"{}", metadata=tls.metadata(self.address))
                try:
                    async for _ in stream:
                        if not had_message or not self._is_due:
                            asyncio.get_running_loop().call_later(_GAP_S if had_message else 0.0, self._tell, changed)
                            self._is_due = had_message = True
                        self._channel = channel
                finally:
                    self._channel = None
        if not had_message:
            changed()
        return had_message

    def _tell(self, changed: Callable[[], None]) -> None:
        self._is_due = False
        changed()
