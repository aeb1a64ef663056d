# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of a protocol in Protobuf messages: parsing, threads, statuses, and streams in both directions."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import grpc
from google.protobuf.message import DecodeError

from lanesum.rpc.caller import Caller
from lanesum.rpc.calls import Call, RefusedError
from lanesum.rpc.grpc_server import CallHandler
from lanesum_switch.p4runtime.arbitration import Connection
from lanesum_switch.p4runtime.status import DETAILS_KEY, StatusError

# A packet, and its metadata. Messages of streams are parsed in the event loop, which a large one would hold.
MAX_STREAM_MESSAGE_BYTES = 1 << 16


def parsed(kind: Any, data: bytes | None) -> Any:
    """Return the message of class ``kind``. Raises RefusedError."""
    try:
        return kind.FromString(data or b"")
    except DecodeError as error:
        raise RefusedError(grpc.StatusCode.INTERNAL, f"The message is no {kind.DESCRIPTOR.full_name}.") from error


def refused(error: StatusError) -> RefusedError:
    return RefusedError(error.grpc_code, error.message, ((DETAILS_KEY, error.packed()),))


async def run_slowly(call: Call, function: Callable[[], Any]) -> Any:
    """Run ``function``, which waits for the lock of the pipeline, in a thread. Raises RefusedError for StatusError."""
    # More threads would only wait, and packet-outs would have none.
    try:
        return await call.run(function, slow=True)
    except StatusError as error:
        raise refused(error) from error


def unary(kind: Any, function: Callable[[Any, Caller], Any]) -> CallHandler:
    """Return the handler of a method with one message of class ``kind`` and one answer.

    ``function`` takes the message and its caller.
    """

    async def handle(call: Call) -> bytes:
        data = await call.receive()
        answer: bytes = await run_slowly(call, lambda: function(parsed(kind, data), call.caller).SerializeToString())
        return answer

    return handle


class MessageStream(ABC):
    """The requests of one stream, messages of class ``REQUEST``."""

    REQUEST: ClassVar[Any]

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def read(self, call: Call) -> None:
        """Handle all requests, then close the connection. Raises RefusedError."""
        try:
            data = await call.receive(MAX_STREAM_MESSAGE_BYTES)
            call.become_stream()
            while data is not None:
                await self.handle(call, parsed(self.REQUEST, data))
                data = await call.receive(MAX_STREAM_MESSAGE_BYTES)
        except StatusError as error:
            raise refused(error) from error
        finally:
            self.connection.close()

    @abstractmethod
    async def handle(self, call: Call, request: Any) -> None:
        """Handle a request, in the event loop. Raises StatusError."""

    @abstractmethod
    def leave(self) -> None:
        """Remove the closed stream. Idempotent."""


async def serve_stream(call: Call, open_stream: Callable[[Connection], MessageStream]) -> None:
    """Handle the requests of a stream, and send the messages of its connection."""
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(changed.set)

    stream = open_stream(Connection(call.caller, wake))
    reader = loop.create_task(stream.read(call))
    try:
        while not call.ended.done():
            changed.clear()
            while (message := stream.connection.take()) is not None:
                await call.send(message.SerializeToString())
            if stream.connection.closed:
                if reader.done():  # else the server ends the stream
                    await reader  # raises its error
                return
            await changed.wait()
    finally:
        reader.cancel()
        stream.leave()
