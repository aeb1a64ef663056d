# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Aggregation server in another process, whose restarts and changes are noticed by a stream."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

from lanesum._internal.closing import Closing
from lanesum.errors import ConfigurationError
from lanesum.rpc import tls
from lanesum.rpc.json_grpc import OPTIONS, NoAnswerError, decode, encode
from lanesum.server.jobs import ServerStatus
from lanesum.server.service import SERVICE, WATCH
from lanesum_control.event_loop import event_loop, listening, run
from lanesum_control.servers.remote_server import RemoteServer, ServerUnreachableError

grpc = tls.import_grpc()
_RETRY_S = 0.25
_GAP_S = 0.25  # many jobs may change at once


class WatchedServer(RemoteServer, Closing):
    """Server with an open stream from ``watch`` on. While nothing listens at its address, ``status`` raises at once."""

    def __init__(self, address: str, *, term: int = 0) -> None:
        super().__init__(address, term=term)
        self._is_away = self._is_due = False
        self._watching: Future[None] | None = None
        self._channel: Any = None  # of the stream, while it is open

    def watch(self, changed: Callable[[], None]) -> None:
        """From now on call ``changed``, in the event loop, when the server ends, returns, or has other jobs."""
        self._watching = asyncio.run_coroutine_threadsafe(self._watch(changed), event_loop())

    def close(self) -> None:
        """End the stream; idempotent."""
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
                pass
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
