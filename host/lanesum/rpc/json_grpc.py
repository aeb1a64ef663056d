# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""gRPC with JSON messages, for the services of controller and server and for their clients.

With JSON no generated code ties both ends to one version of protobuf.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent import futures
from typing import Any
from urllib.parse import quote

from lanesum._internal.closing import Serving
from lanesum.errors import ConfigurationError, LanesumError, MissingToolError

# A list of all jobs with a thousand members each exceeds the default limit of gRPC, 4 MiB.
MAX_MESSAGE_BYTES = 64 << 20
_THREADS = 8
# Refusals quote the refused value. gRPC sends them percent-encoded in headers: above 8 KiB it refuses a random share of
# all answers, and above 16 KiB all of them.
_MAX_ENCODED_BYTES = 7 << 10
_MAX_CHARACTER_BYTES = 12  # of one character, percent-encoded

# Takes a message and returns one. The caller receives a LanesumError of it as a RefusedCallError.
Handler = Callable[[dict[str, Any]], dict[str, Any]]


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
    options = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES)]
    with grpc.insecure_channel(address, options=options) as channel:
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
            if error.code() in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE):
                raise NoAnswerError(f"No answer from {address} within {timeout_s:g} s.") from error
            raise RefusedCallError(error.details() or error.code().name) from error


class JsonService(Serving):
    """gRPC service with one handler for each method.

    Use as a context manager, or call ``start`` and ``close``. Handlers run in several threads.

    Args:
        address: address to listen at, ``host:port``; port 0 selects a free one, see ``port``.
        service: full name of the service.
        handlers: handlers by method name.
        owner: subject of the message if the address is taken.

    Raises:
        ConfigurationError: the port is taken.
        MissingToolError: grpc is not installed.
    """

    def __init__(self, address: str, service: str, handlers: Mapping[str, Handler], *, owner: str) -> None:
        grpc = import_grpc()
        methods = {name: _method(handler) for name, handler in handlers.items()}
        options = [
            ("grpc.so_reuseport", 0),  # a second process would share the port silently
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ]
        self._server = grpc.server(futures.ThreadPoolExecutor(_THREADS), options=options)
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


def _method(handler: Handler) -> Any:
    grpc = import_grpc()

    def handle(data: bytes, context: Any) -> bytes:
        # Decoded here, because gRPC only logs messages that it cannot decode.
        try:
            message = decode(data)
        except ValueError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, _cut(f"The message is no JSON object: {error}."))
        try:
            return encode(handler(message))
        except LanesumError as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, _cut(str(error)))
        raise AssertionError("abort raises")

    return grpc.unary_unary_rpc_method_handler(handle)
