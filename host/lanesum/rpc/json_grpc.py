# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""gRPC with JSON messages: what the services of controller and server, and their callers, share.

Messages are JSON, so that no generated code ties one end to the other's version of protobuf.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent import futures
from typing import Any
from urllib.parse import quote

from lanesum._internal.closing import Serving
from lanesum.errors import ConfigurationError, LanesumError, MissingToolError

# A list of all jobs with a thousand members each goes beyond gRPC's own limit of 4 MiB.
MAX_MESSAGE_BYTES = 64 << 20
_THREADS = 8
# Refusals quote what they refuse, and gRPC passes them on percent-encoded in its headers. Beyond 8 KiB it refuses
# a share of all answers, at random, and beyond 16 KiB all of them.
_MAX_ENCODED_BYTES = 7 << 10
_LONGEST_CHARACTER = 12  # bytes of one, percent-encoded

# A message in, a message out. A LanesumError that it raises reaches the caller as a RefusedCallError.
Handler = Callable[[dict[str, Any]], dict[str, Any]]


class RefusedCallError(LanesumError):
    """The service answered, and refused; the message is its own."""


class NoAnswerError(LanesumError):
    """The server did not answer in time; it may or may not have carried out the call."""


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode()


def decode(data: bytes) -> dict[str, Any]:
    """Raises ValueError for bytes that are no JSON object, or hold text without an encoding (half a surrogate pair)."""
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
    """The grpc package. Raises MissingToolError where it is not installed."""
    try:
        import grpc
    except ImportError as error:
        raise MissingToolError("The package grpcio is not installed.", "Run: pip install grpcio.") from error
    return grpc


def call(address: str, service: str, method: str, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    """One call to ``service`` at ``host:port``; waits for it to come up.

    Raises RefusedCallError with the service's own words, NoAnswerError after ``timeout_s`` or when it ends meanwhile.
    """
    grpc = import_grpc()
    options = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES)]
    with grpc.insecure_channel(address, options=options) as channel:
        stub = channel.unary_unary(f"/{service}/{method}", encode, decode)
        try:
            reply: dict[str, Any] = stub(message, timeout=timeout_s, wait_for_ready=True)
            return reply
        except grpc.RpcError as error:
            if error.code() in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE):
                raise NoAnswerError(f"No answer from {address} within {timeout_s:g} s.") from error
            raise RefusedCallError(error.details() or error.code().name) from error


class JsonService(Serving):
    """Serves ``handlers``, by method name, at ``address`` (``host:port``; port 0 picks one, see ``port``).

    Use as a context manager, or call ``start`` and ``close``. Handlers run in several threads.

    Args:
        address: where to listen.
        service: full name of the service.
        handlers: one for each method.
        owner: who cannot listen, for the error message.

    Raises ConfigurationError when the port is taken, MissingToolError without grpc.
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
        self._server.start()

    def close(self) -> None:
        """Stop serving; idempotent."""
        self._server.stop(grace=None).wait()


def _cut(text: str) -> str:
    """Both ends of what is too long: the next step comes last."""
    if len(quote(text)) <= _MAX_ENCODED_BYTES:
        return text
    kept = _MAX_ENCODED_BYTES // _LONGEST_CHARACTER // 2
    return f"{text[:kept]} ... {text[-kept:]}"


def _method(handler: Handler) -> Any:
    grpc = import_grpc()

    def handle(data: bytes, context: Any) -> bytes:
        # Decoded here and not by gRPC, which would only log what it cannot decode.
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
