# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Calls at a gRPC server: messages, threads and statuses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from lanesum.errors import LanesumError
from lanesum.rpc.caller import UNAUTHENTICATED, Caller
from lanesum.rpc.limits import Limits, Share, Shares
from lanesum.rpc.tls import import_grpc

# Refusals quote the refused value. gRPC sends them percent-encoded in headers: above 8 KiB it refuses a random share of
# all answers, and above 16 KiB all of them.
_MAX_ENCODED_BYTES = 7 << 10
_MAX_CHARACTER_BYTES = 12  # of one character, percent-encoded

_Result = TypeVar("_Result")
_Metadata = tuple[tuple[str, str | bytes], ...]


class RefusedError(LanesumError):
    """A call ends with a status other than OK: ``code``, of ``grpc.StatusCode``, and trailing metadata."""

    def __init__(self, code: Any, message: str, metadata: _Metadata = ()) -> None:
        super().__init__(message)
        self.code, self.metadata = code, metadata


class Call:
    """One call at a server. All methods run in the server's event loop.

    Args:
        event: event of grpcio with the new call.
        pools: threads for blocking code, by whether it is slow.

    Attributes:
        ended: resolved when the call has ended; its event has True for a call that the peer ended.
        evicted: the call has made room for a newer one.
        revoked: the caller's token was withdrawn.
        is_cut_off: the host of the caller does not answer.
    """

    def __init__(self, event: Any, limits: Limits, shares: Shares, pools: dict[bool, ThreadPoolExecutor]) -> None:
        self._call, self._limits, self._shares, self._pools = event.call, limits, shares, pools
        self._share: Share | None = None
        self._opened = self._received = self._streams = False
        self.evicted = self.revoked = self.is_cut_off = False
        self._task: asyncio.Task[None] | None = None
        self.metadata: dict[str, Any] = dict(event.invocation_metadata)
        self.caller: Caller = replace(UNAUTHENTICATED, source=source_of(event.call))
        self.ended = self._start(cygrpc().ReceiveCloseOnServerOperation(0))

    @property
    def has_message(self) -> bool:
        """The first message has arrived."""
        return self._received

    def auth_context(self) -> dict[str, Sequence[bytes]]:
        """Return gRPC's authentication context; empty without TLS."""
        return {key.decode(): values for key, values in (cygrpc().auth_context(self._call) or {}).items()}

    def _start(self, *operations: Any) -> asyncio.Future[Any]:
        # If the wait for them ends early, grpcio still holds what the operations need.
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._call.start_server_batch(operations, Waiter(future))
        return future

    async def enter(self, task: asyncio.Task[None]) -> None:
        """Take a place among the calls of this caller without a message; wait if it calls too often."""
        self._share = share = self._shares.of(self.caller)
        share.calls += 1
        if len(share.silent) >= self._limits.silent:
            oldest = next(iter(share.silent))
            assert isinstance(oldest, Call)
            oldest.evicted = True
            share.silent.pop(oldest).cancel()
        share.silent[self] = self._task = task
        if (delay_s := share.delay_s()) > 0:
            await asyncio.sleep(delay_s)

    def revoke(self) -> None:
        """End the call if it is a stream, or waits for its message. Others are in work, and complete."""
        if self._task is not None and not self.revoked and (self._streams or not self._received):
            self.revoked = True
            self._task.cancel()

    def leave(self) -> None:
        """Release all places."""
        if self._share is not None:
            self._share.calls -= 1
            self._share.silent.pop(self, None)
            self._share.waiting -= self._received and not self._streams
            self._share.streams -= self._streams
            self._shares.streams -= self._streams

    async def receive(self, max_bytes: int | None = None) -> bytes | None:
        """Return the next message; None after the last one. The first one has ``Limits.message_s`` to arrive.

        Raises RefusedError: no message in time, one of more than ``max_bytes``, or too many calls of this caller.
        """
        codes = import_grpc().StatusCode
        wait_s = None if self._received else self._limits.message_s
        try:
            async with asyncio.timeout(wait_s):
                event = await self._start(cygrpc().ReceiveMessageOperation(0))
        except TimeoutError as error:
            raise RefusedError(codes.DEADLINE_EXCEEDED, f"The call had no message within {wait_s:g} s.") from error
        data: bytes | None = event.batch_operations[0].message()
        if not self._received and self._share is not None:
            self._received = True
            self._share.silent.pop(self, None)
            self._share.waiting += 1
            if self._share.waiting > self._limits.waiting:
                text = f"This caller has {self._limits.waiting} calls in work already. Wait for one of them."
                raise RefusedError(codes.RESOURCE_EXHAUSTED, text)
        if data is not None and max_bytes is not None and len(data) > max_bytes:
            raise RefusedError(
                codes.RESOURCE_EXHAUSTED, f"The message has {len(data)} bytes, and the method takes {max_bytes}."
            )
        return data

    def become_stream(self) -> None:
        """Count the call as a stream, which may stay open. Raises RefusedError if all places are taken."""
        assert self._share is not None
        for used, limit, whose in (
            (self._share.streams, self._limits.streams_of_caller, "of this caller"),
            (self._shares.streams, self._limits.streams, "of the service"),
        ):
            if used >= limit:
                text = f"All {limit} streams {whose} are in use. Close one."
                raise RefusedError(import_grpc().StatusCode.RESOURCE_EXHAUSTED, text)
        self._streams = True
        self._share.waiting -= 1
        self._share.streams += 1
        self._shares.streams += 1

    async def run(self, function: Callable[..., _Result], *arguments: Any, slow: bool = False) -> _Result:
        """Return the result of a blocking function, in a thread. It runs to its end, even if the call ends before."""
        assert self._share is not None
        threads = self._share.threads[slow]
        await threads.acquire()
        try:
            running = asyncio.get_running_loop().run_in_executor(self._pools[slow], function, *arguments)
        except BaseException:
            threads.release()
            raise

        def release(done: asyncio.Future[_Result]) -> None:
            threads.release()
            if not done.cancelled():
                done.exception()  # if the call has ended, no other code reads it

        running.add_done_callback(release)
        return await asyncio.shield(running)

    async def send(self, data: bytes) -> None:
        """Send a message, and more may follow. A peer that does not take it in time is cut off."""
        await self._send(cygrpc().SendMessageOperation(data, 0))

    async def finish(self, code: Any, text: str = "", metadata: _Metadata = (), answer: bytes | None = None) -> None:
        """End the call with a status, after a last message."""
        status = cygrpc().SendStatusFromServerOperation(metadata, code.value[0], cut(text).encode(), 0)
        await self._send(*([] if answer is None else [cygrpc().SendMessageOperation(answer, 0)]), status)

    async def _send(self, *operations: Any) -> None:
        if not self._opened:
            operations = (cygrpc().SendInitialMetadataOperation(None, 0), *operations)
        self._opened = True
        try:
            async with asyncio.timeout(self._limits.message_s):
                await self._start(*operations)
        except TimeoutError:
            self._call.cancel()  # else the message would stay in memory as long as the connection


def source_of(call: Any) -> str:
    """Return the peer of a call of grpcio, as gRPC names it."""
    return unquote(call.peer().decode(errors="replace"))


def cygrpc() -> Any:
    """Return grpcio's binding of gRPC's core. Raises MissingToolError if it is not installed."""
    import_grpc()
    from grpc._cython import cygrpc as binding

    return binding


class Waiter:
    """Tag of an operation: gives a future the event for which it waits, if it still waits.

    The event has its tag, so a tag that kept the future would keep the call, as a cycle, until the next collection of
    garbage. gRPC counts such calls as open, and refuses new ones.
    """

    def __init__(self, future: asyncio.Future[Any]) -> None:
        self._future: asyncio.Future[Any] | None = future

    def __call__(self, event: Any) -> None:
        future, self._future = self._future, None
        if future is not None and not future.done():
            future.set_result(event)


def cut(text: str) -> str:
    """Return both ends of a text that is too long; the next step is at its end."""
    if len(quote(text, errors="replace")) <= _MAX_ENCODED_BYTES:
        return text
    kept = _MAX_ENCODED_BYTES // _MAX_CHARACTER_BYTES // 2
    return f"{text[:kept]} ... {text[-kept:]}"
