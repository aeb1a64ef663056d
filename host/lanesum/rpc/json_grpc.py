# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""gRPC with JSON messages: messages and clients; ``lanesum.rpc.serving`` has the services.

With JSON no generated code ties both ends to one version of protobuf.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from typing import Any

from lanesum._internal.closing import Closing
from lanesum.errors import LanesumError
from lanesum.rpc import tls
from lanesum.rpc.tls import import_grpc

# A list of all jobs with a thousand members each exceeds the default limit of gRPC, 4 MiB.
MAX_MESSAGE_BYTES = 64 << 20
# A client pings the other end of an idle stream after the first time, and closes the stream if the answer takes longer
# than the second. No Python code takes part, so a process that is busy in one long call still answers.
_PING_AFTER_S, _PING_TIMEOUT_S = 5, 15
OPTIONS = [
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.keepalive_time_ms", 1000 * _PING_AFTER_S),
    ("grpc.keepalive_timeout_ms", 1000 * _PING_TIMEOUT_S),
    ("grpc.http2.ping_timeout_ms", 1000 * _PING_TIMEOUT_S),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 1000),
]
#: Trailing metadata of a refusal by a standby.
STANDBY = ("lanesum-standby", "true")
# Time without an answer after which a call looks for a problem of TLS.
_HANDSHAKE_S = 0.5
_AGAIN_S = 0.1  # until a cancelled call is repeated, at most


class RefusedCallError(LanesumError):
    """The service refused the call; the error has its message."""


class NoSessionError(RefusedCallError):
    """No TLS session begins, so the service has not received the call."""


class NoAnswerError(LanesumError):
    """No answer arrived in time; the service may have carried out the call."""


class NoConnectionError(NoAnswerError):
    """There was no connection in time, so the service has not received the call."""


class CancelledCallError(NoAnswerError):
    """The service has cancelled the call: it has too many, or ends."""


class StandbyError(NoConnectionError):
    """The service is a standby, and has not carried out the call; the error has its message."""


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


def call(
    address: str, service: str, method: str, message: dict[str, Any], timeout_s: float, connect_s: float | None = None
) -> dict[str, Any]:
    """Call ``service`` at ``host:port``; wait until it is up, at most ``connect_s`` or ``timeout_s`` seconds.

    Raises:
        RefusedCallError: the service refused; the error has its message.
        NoAnswerError: no answer in time, or the service ended meanwhile.
    """
    grpc = import_grpc()
    limit_s = timeout_s if connect_s is None else min(connect_s, timeout_s)
    if limit_s < timeout_s or tls.needs_listener(address):
        try:
            # A channel whose state was watched takes 0.2 s to close.
            tls.wait_until_listening(address, limit_s)
        except OSError as error:
            raise NoConnectionError(f"No connection to {address} within {limit_s:g} s.") from error
    with tls.channel(address, OPTIONS) as channel:
        stub = channel.unary_unary(f"/{service}/{method}", encode, decode)
        pending = stub.future(message, timeout=timeout_s, wait_for_ready=True, metadata=tls.metadata(address))
        try:
            reply: dict[str, Any] = _result(pending, address)
            return reply
        except grpc.RpcError as error:
            typed = _typed(error, f"No answer from {address} within {timeout_s:g} s.")
            if isinstance(typed, NoAnswerError):
                _check_handshake(address)
            raise typed from error


def _result(pending: Any, address: str) -> Any:
    """Return the answer of a call; a handshake that fails ends the wait. Raises RefusedCallError."""
    try:
        return pending.result(_HANDSHAKE_S)
    except import_grpc().FutureTimeoutError:
        _check_handshake(address)
    return pending.result()


def _check_handshake(address: str) -> None:
    why = tls.problem(address)
    if why:
        raise NoSessionError(f"No TLS session begins: {why}")


def _typed(error: Any, no_answer: str) -> LanesumError:
    codes = import_grpc().StatusCode
    if STANDBY in (error.trailing_metadata() or ()):
        return StandbyError(error.details())
    if error.code() == codes.CANCELLED:
        return CancelledCallError(no_answer)
    if error.code() in (codes.DEADLINE_EXCEEDED, codes.UNAVAILABLE):
        return NoAnswerError(no_answer)
    if error.code() == codes.UNIMPLEMENTED:
        return RefusedCallError("It has no such method or service.", "Run the same version of lanesum at both ends.")
    return RefusedCallError(error.details() or error.code().name)


class ReplyStream(Closing):
    """Messages with which ``service`` at ``host:port`` answers one call, as they come. Iterate over it once.

    The iteration raises RefusedCallError and NoAnswerError as ``call`` does. ``close`` ends it from any thread. An end
    of this process ends the stream at the service at once.
    """

    def __init__(self, address: str, service: str, method: str, message: dict[str, Any]) -> None:
        self._address, self._service = address, service
        self._channel = tls.channel(address, OPTIONS)
        stub = self._channel.unary_stream(f"/{service}/{method}", encode, decode)
        self._stream = stub(message, metadata=tls.metadata(address))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        try:
            yield from self._stream
        except import_grpc().RpcError as error:
            raise _typed(error, f"No answer from {self._address}.") from error

    def call(self, method: str, message: dict[str, Any], timeout_s: float) -> Any:
        """Call a method of the same service over the connection of the stream.

        A call that the service cancels, because too many wait, is repeated. Raises RefusedCallError and NoAnswerError;
        ValueError if the stream is closed.
        """
        stub = self._channel.unary_unary(f"/{self._service}/{method}", encode, decode)
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                return stub(message, timeout=deadline - time.monotonic(), metadata=tls.metadata(self._address))
            except import_grpc().RpcError as error:
                typed = _typed(error, f"No answer from {self._address} within {timeout_s:g} s.")
                if not isinstance(typed, CancelledCallError) or time.monotonic() + _AGAIN_S >= deadline:
                    raise typed from error
            time.sleep(_AGAIN_S * random.random())

    def close(self) -> None:
        """End the stream; idempotent."""
        self._stream.cancel()
        self._channel.close()
