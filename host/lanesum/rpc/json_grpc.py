# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""gRPC with JSON messages, for the services of controller and server and for their clients.

With JSON no generated code ties both ends to one version of protobuf.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from typing import Any
from urllib.parse import quote

from lanesum._internal.closing import Closing, Serving
from lanesum.errors import ConfigurationError, LanesumError, MissingToolError
from lanesum.rpc.caller import Caller

# A list of all jobs with a thousand members each exceeds the default limit of gRPC, 4 MiB.
MAX_MESSAGE_BYTES = 64 << 20
_THREADS = 8
#: Streams that a service answers at once; each has a thread, which sleeps between two messages.
MAX_STREAMS = 2048
# gRPC pings the other end of an idle stream after the first time, and closes the stream if the answer takes longer than
# the second. No Python code takes part, so a process that is busy in one long call still answers.
_PING_AFTER_S, _PING_TIMEOUT_S = 5, 15
OPTIONS = [
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.keepalive_time_ms", 1000 * _PING_AFTER_S),
    ("grpc.keepalive_timeout_ms", 1000 * _PING_TIMEOUT_S),
    ("grpc.http2.ping_timeout_ms", 1000 * _PING_TIMEOUT_S),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 1000),
]
# Refusals quote the refused value. gRPC sends them percent-encoded in headers: above 8 KiB it refuses a random share of
# all answers, and above 16 KiB all of them.
_MAX_ENCODED_BYTES = 7 << 10
_MAX_CHARACTER_BYTES = 12  # of one character, percent-encoded

# Takes a message and its caller, and returns a message. The caller receives a LanesumError of it as a RefusedCallError.
Handler = Callable[[dict[str, Any], Caller], dict[str, Any]]
# Takes a message, its caller, and a function that registers a callback for the end of the stream; returns the stream's
# messages.
StreamHandler = Callable[[dict[str, Any], Caller, Callable[[Callable[[], None]], bool]], Iterator[dict[str, Any]]]


class RefusedCallError(LanesumError):
    """The service refused the call; the error has its message."""


class NoAnswerError(LanesumError):
    """No answer arrived in time; the service may have carried out the call."""


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as JSON."""
    return json.dumps(message).encode()


def decode(data: bytes) -> dict[str, Any]:
    """Read a message. Raises ValueError for bytes that are no JSON object, or have half a surrogate pair."""
    try:
        message = json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if b"\\u" in data:
        json.dumps(message, ensure_ascii=False).encode()
    if not isinstance(message, dict):
        raise ValueError("not a JSON object")
    return message


def import_grpc() -> Any:
    """Return the grpc package. Raises MissingToolError if it is not installed."""
    # Each fork of a process with an open stream, such as a data loader's, would write a line to the terminal.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    try:
        import grpc
    except ImportError as error:
        raise MissingToolError("The package grpcio is not installed.", "Run: pip install grpcio.") from error
    return grpc


def call(
    address: str, service: str, method: str, message: dict[str, Any], timeout_s: float, connect_s: float | None = None
) -> dict[str, Any]:
    """Call ``service`` at ``host:port``; wait until it is up, at most ``connect_s`` or ``timeout_s`` seconds.

    Raises:
        RefusedCallError: the service refused; the error has its message.
        NoAnswerError: no answer in time, or the service ended meanwhile.
    """
    grpc = import_grpc()
    with grpc.insecure_channel(address, options=OPTIONS) as channel:
        if connect_s is not None and connect_s < timeout_s:
            try:
                grpc.channel_ready_future(channel).result(timeout=connect_s)
            except grpc.FutureTimeoutError as error:
                raise NoAnswerError(f"No connection to {address} within {connect_s:g} s.") from error
        stub = channel.unary_unary(f"/{service}/{method}", encode, decode)
        try:
            reply: dict[str, Any] = stub(message, timeout=timeout_s, wait_for_ready=True)
            return reply
        except grpc.RpcError as error:
            raise _typed(error, f"No answer from {address} within {timeout_s:g} s.") from error


def _typed(error: Any, no_answer: str) -> LanesumError:
    codes = import_grpc().StatusCode
    if error.code() in (codes.DEADLINE_EXCEEDED, codes.UNAVAILABLE, codes.CANCELLED):
        return NoAnswerError(no_answer)
    return RefusedCallError(error.details() or error.code().name)


class Stream(Closing):
    """Messages with which ``service`` at ``host:port`` answers one call, as they come. Iterate over it once.

    The iteration raises RefusedCallError and NoAnswerError as ``call`` does. ``close`` ends it from any thread. An end
    of this process ends the stream at the service at once.
    """

    def __init__(self, address: str, service: str, method: str, message: dict[str, Any]) -> None:
        self._address = address
        self._channel = import_grpc().insecure_channel(address, options=OPTIONS)
        self._call = self._channel.unary_stream(f"/{service}/{method}", encode, decode)(message)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        try:
            yield from self._call
        except import_grpc().RpcError as error:
            raise _typed(error, f"No answer from {self._address}.") from error

    def close(self) -> None:
        """End the stream; idempotent."""
        self._call.cancel()
        self._channel.close()


class JsonService(Serving):
    """gRPC service with one handler for each method.

    Use as a context manager, or call ``start`` and ``close``. Handlers run in several threads.

    Args:
        address: address to listen at, ``host:port``; port 0 selects a free one, see ``port``.
        service: full name of the service.
        handlers: handlers by method name.
        owner: subject of the message if the address is taken.
        streams: handlers of methods that answer with several messages.

    Raises:
        ConfigurationError: the port is taken.
        MissingToolError: grpc is not installed.
    """

    def __init__(
        self,
        address: str,
        service: str,
        handlers: Mapping[str, Handler],
        *,
        owner: str,
        streams: Mapping[str, StreamHandler] | None = None,
    ) -> None:
        grpc = import_grpc()
        methods = {name: _method(handler) for name, handler in handlers.items()}
        free = threading.Semaphore(MAX_STREAMS)
        methods.update({name: _stream_method(handler, free) for name, handler in (streams or {}).items()})
        threads = futures.ThreadPoolExecutor(_THREADS + (MAX_STREAMS if streams else 0))
        # With the option a second process would share the port silently.
        self._server = grpc.server(threads, options=[*OPTIONS, ("grpc.so_reuseport", 0)])
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, methods),))
        try:
            self.port: int = self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise ConfigurationError(
                f"The {owner} cannot listen at {address}.",
                "Another process holds the port, or the address is not this host's.",
            ) from error

    def start(self) -> None:
        """Start to serve."""
        self._server.start()

    def close(self) -> None:
        """Stop serving; idempotent."""
        self._server.stop(grace=None).wait()


def _cut(text: str) -> str:
    """Return both ends of a text that is too long; the next step is at its end."""
    if len(quote(text)) <= _MAX_ENCODED_BYTES:
        return text
    kept = _MAX_ENCODED_BYTES // _MAX_CHARACTER_BYTES // 2
    return f"{text[:kept]} ... {text[-kept:]}"


def _decoded(data: bytes, context: Any) -> dict[str, Any]:
    # Not by gRPC, because it only logs messages that it cannot decode.
    try:
        return decode(data)
    except ValueError as error:
        context.abort(import_grpc().StatusCode.INVALID_ARGUMENT, _cut(f"The message is no JSON object: {error}."))
        raise AssertionError("abort raises") from error


def _caller(context: Any) -> Caller:
    return Caller(source=context.peer())


def _refuse(error: LanesumError, context: Any) -> None:
    context.abort(import_grpc().StatusCode.FAILED_PRECONDITION, _cut(str(error)))


def _method(handler: Handler) -> Any:
    def handle(data: bytes, context: Any) -> bytes:
        message = _decoded(data, context)
        try:
            return encode(handler(message, _caller(context)))
        except LanesumError as error:
            _refuse(error, context)
        raise AssertionError("abort raises")

    return import_grpc().unary_unary_rpc_method_handler(handle)


def _stream_method(handler: StreamHandler, free: threading.Semaphore) -> Any:
    def handle(data: bytes, context: Any) -> Iterator[bytes]:
        message = _decoded(data, context)
        if not free.acquire(blocking=False):
            _refuse(RefusedCallError(f"All {MAX_STREAMS} streams are in use."), context)
        try:
            yield from map(encode, handler(message, _caller(context), context.add_callback))
        except LanesumError as error:
            _refuse(error, context)
        finally:
            free.release()

    return import_grpc().unary_stream_rpc_method_handler(handle)
