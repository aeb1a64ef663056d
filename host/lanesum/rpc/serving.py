# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Services of JSON messages over gRPC, for controller and server."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol, TypeVar

from lanesum.errors import LanesumError
from lanesum.rpc.caller import Caller
from lanesum.rpc.calls import Call, RefusedError
from lanesum.rpc.grpc_server import Authenticate, CallHandler, GrpcServer
from lanesum.rpc.json_grpc import decode, encode
from lanesum.rpc.limits import Limits
from lanesum.rpc.tls import import_grpc

_Result = TypeVar("_Result")

#: Takes a message and its caller, and returns a message. The caller receives a LanesumError of it as a
#: RefusedCallError.
Handler = Callable[[dict[str, Any], Caller], dict[str, Any]]


class Messages(Protocol):
    """Messages of a stream. All methods are called in threads, one at a time; ``close`` also when the stream ends.

    Attributes:
        ended: no further message will come.
    """

    ended: bool

    def poll(self) -> dict[str, Any] | None:
        """Return the next message without waiting; None if there is none yet."""

    def close(self, is_cut_off: bool = False) -> None:
        """End the stream; idempotent. ``is_cut_off``: the caller's host is silent, or its token was withdrawn."""


#: Takes a message, its caller, and a function that any thread may call when there may be a message; returns the stream.
StreamHandler = Callable[[dict[str, Any], Caller, Callable[[], None]], Messages]


class JsonService(GrpcServer):
    """gRPC server with one handler for each method of a service. Handlers run in several threads.

    Args:
        address, owner, limits, credentials, authenticate, is_revoked: see ``GrpcServer``.
        service: full name of the service.
        handlers: handlers by method name.
        streams: handlers of methods that answer with several messages.
        slow: methods with threads of their own, because they take long, or wait for each other.
        max_bytes: length of a message by method, where ``Limits.message_bytes`` is too much.

    Raises the exceptions of ``GrpcServer``.
    """

    def __init__(
        self,
        address: str,
        service: str,
        handlers: Mapping[str, Handler],
        *,
        owner: str,
        streams: Mapping[str, StreamHandler] | None = None,
        slow: Collection[str] = (),
        max_bytes: Mapping[str, int] | None = None,
        limits: Limits | None = None,
        credentials: Any = None,
        authenticate: Authenticate | None = None,
        is_revoked: Callable[[Caller], bool] | None = None,
    ) -> None:
        bounds = max_bytes or {}
        methods = {name: _method(handler, name in slow, bounds.get(name)) for name, handler in handlers.items()}
        methods |= {name: _stream_method(handler, bounds.get(name)) for name, handler in (streams or {}).items()}
        paths = {f"/{service}/{name}": method for name, method in methods.items()}
        super().__init__(
            address,
            paths,
            owner=owner,
            limits=limits,
            credentials=credentials,
            authenticate=authenticate,
            is_revoked=is_revoked,
        )


def _method(handler: Handler, slow: bool, max_bytes: int | None) -> CallHandler:
    async def handle(call: Call) -> bytes:
        data = await call.receive(max_bytes)
        return await _run(call, lambda: encode(handler(_decoded(data), call.caller)), slow)

    return handle


def _stream_method(handler: StreamHandler, max_bytes: int | None) -> CallHandler:
    async def handle(call: Call) -> None:
        data = await call.receive(max_bytes)
        call.become_stream()
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        stream = _Stream(lambda: handler(_decoded(data), call.caller, lambda: _wake(loop, changed)))
        try:
            while not call.ended.done():
                changed.clear()
                answer, ended = await _run(call, stream.poll)
                if answer is not None:
                    await call.send(answer)
                if ended:
                    return
                await changed.wait()
        finally:
            closing = asyncio.ensure_future(call.run(lambda: stream.close(call.is_cut_off or call.revoked)))
            while not closing.done():  # the end of the call cancels this task, also while it waits for a thread
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.shield(closing)

    return handle


class _Stream:
    """A stream that is opened at its first poll, and never after its end."""

    def __init__(self, open_: Callable[[], Messages]) -> None:
        self._open = open_
        self._lock = threading.Lock()
        self._messages: Messages | None = None
        self._closed = False

    def poll(self) -> tuple[bytes | None, bool]:
        """Return the next message, if any, and True after the last one."""
        with self._lock:
            if self._closed:
                return None, True
            if self._messages is None:
                self._messages = self._open()
            message = self._messages.poll()
            return None if message is None else encode(message), self._messages.ended

    def close(self, is_cut_off: bool) -> None:
        with self._lock:
            self._closed = True
            if self._messages is not None:
                self._messages.close(is_cut_off)


def _wake(loop: asyncio.AbstractEventLoop, changed: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the server has ended
        loop.call_soon_threadsafe(changed.set)


def _decoded(data: bytes | None) -> dict[str, Any]:
    try:
        return decode(data or b"")
    except ValueError as error:
        codes = import_grpc().StatusCode
        raise RefusedError(codes.INVALID_ARGUMENT, f"The message is no JSON object: {error}.") from error


async def _run(call: Call, function: Callable[[], _Result], slow: bool = False) -> _Result:
    try:
        return await call.run(function, slow=slow)
    except RefusedError:
        raise
    except LanesumError as error:
        raise RefusedError(import_grpc().StatusCode.FAILED_PRECONDITION, str(error)) from error
