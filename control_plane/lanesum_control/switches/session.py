# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Session with a switch: the stream that makes a client its primary, and the calls beside it.

The stream shows the end of the switch and every change of the primary when they happen, so nothing has to ask for them.
Its messages are read in the event loop, which therefore needs no thread for each switch.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

from lanesum.errors import ConfigurationError
from lanesum.rpc import tls
from lanesum_control.errors import NotPrimaryError, SwitchUnreachableError
from lanesum_control.threads import listening
from lanesum_fabric.program.capabilities import DEFAULT_DEVICE_ID
from lanesum_fabric.protobufs import code_pb2, p4runtime_pb2

grpc = tls.import_grpc()
#: Statuses of a call that had no answer.
GONE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
_ARBITRATION_S = 2.0
_CLOSE_S = 0.5
_RETRY_S = 0.05
#: Details that grpc.aio gives a call if a write meets its end; the status of the server is lost then.
_LOST_STATUS = "Internal error from Core"
_ATTEMPTS = 5
DEFAULT_PRIORITY = 1
MAX_PRIORITY = (1 << 32) - 1
_AGE_BITS = 32
_SECRET_BITS = 64
_OPTIONS = [
    ("grpc.max_receive_message_length", 64 << 20),
    # A new session must not wait for the reconnection timer of an earlier one at the same address.
    ("grpc.use_local_subchannel_pool", 1),
]


def new_election_id(priority: int = DEFAULT_PRIORITY) -> tuple[int, int]:
    """Return an election id (high, low) that other clients cannot guess: a Write has no other proof of its sender.

    Of two controllers with the same priority, the one that started first keeps its switches. The upper half has the
    priority, and the time of the start downwards; the lower half is random.
    """
    start_s = int(time.time()) % (1 << _AGE_BITS)
    return priority << _AGE_BITS | (1 << _AGE_BITS) - 1 - start_s, secrets.randbits(_SECRET_BITS)


def priority_of(election_id: tuple[int, int]) -> int:
    """Return the priority of an election id of ``new_election_id``."""
    return election_id[0] >> _AGE_BITS


class SwitchSession:
    """Session with one switch, see ``open``. Coroutines and ``close`` are for the event loop only.

    Attributes:
        PROTOCOL, SERVICE: names of the protocol, and of its gRPC service.
        DEVICE_ID: usual id of a switch's only device.
        is_open: the stream is open.
        is_primary: no other client is primary.
        was_primary: ``is_primary`` has been true since ``open`` or the last call of ``resume``.
        other_primary: election id (high, low) of the last other client that was primary; None if there was none, or
            the switch did not name it.
    """

    PROTOCOL: ClassVar[str]
    SERVICE: ClassVar[str]
    DEVICE_ID: ClassVar[int]
    _REQUEST: ClassVar[Any]  # messages of the stream
    _RESPONSE: ClassVar[Any]

    def __init__(self, address: str, device_id: int, election_id: tuple[int, int], changed: Callable[[], None]) -> None:
        self.address = address
        self.device_id = device_id
        self.election_id = election_id
        self.is_open, self.is_primary, self.was_primary = True, False, False
        self.other_primary: tuple[int, int] | None = None
        self._changed = changed
        self._end = ""
        self._is_closed = self._is_refused = False
        self._news = asyncio.Event()
        self._channel = tls.channel(address, _OPTIONS, asynchronous=True)
        self._stream = self._channel.stream_stream(
            f"/{self.SERVICE}/StreamChannel", self._REQUEST.SerializeToString, self._RESPONSE.FromString
        )()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def open(
        cls,
        address: str,
        device_id: int,
        election_id: tuple[int, int],
        *,
        timeout_s: float,
        changed: Callable[[], None] = lambda: None,
    ) -> Self:
        """Open a session, as primary or as backup.

        Args:
            address: ``host:port`` or ``unix:path``.
            election_id: (high, low).
            timeout_s: time to wait for the server.
            changed: called in the event loop after each change of ``is_open`` and ``is_primary``.

        Raises SwitchUnreachableError; ConfigurationError if the address or a certificate cannot be used.
        """
        await cls._wait_until_listening(address, timeout_s)
        for _ in range(_ATTEMPTS):
            session = cls(address, device_id, election_id, changed)
            try:
                await asyncio.wait_for(session._arbitrate(), _ARBITRATION_S)
            except (grpc.RpcError, asyncio.InvalidStateError, TimeoutError):
                session._fail("no answer")
            except BaseException:
                await session.close()
                raise
            if session.is_open:
                session.was_primary = session.is_primary
                return session
            await session.close()
            if session._end != _LOST_STATUS:
                break
        raise await session._refusal()

    async def _refusal(self) -> SwitchUnreachableError:
        """Return the error about a session that did not begin."""
        if self._is_refused:
            return SwitchUnreachableError(f"The switch at {self.address} refused a session: {self._end.rstrip('.')}.")
        why = await asyncio.to_thread(tls.problem, self.address)
        if why:
            return SwitchUnreachableError(f"No TLS session with the switch at {self.address} begins: {why}")
        return SwitchUnreachableError(
            f"The server at {self.address} accepted no {self.PROTOCOL} session for device {self.device_id} with "
            f"priority {priority_of(self.election_id)}: {self._end.rstrip('.')}.",
            "Check the device id.",
        )

    async def _arbitrate(self) -> None:
        """Send the first message of the stream, and wait until ``is_primary`` is known or the stream has ended."""
        with contextlib.suppress(grpc.RpcError, asyncio.InvalidStateError):  # the reader has the reason
            await self._stream.write(self._first_message())
        await self._news.wait()

    def _first_message(self) -> Any:
        raise NotImplementedError

    def _receive(self, message: Any) -> None:
        """Handle a message of the stream."""
        raise NotImplementedError

    def not_primary(self) -> NotPrimaryError:
        """Return the error about a session that is a backup."""
        raise NotImplementedError

    async def _read(self) -> None:
        """Follow the stream to its end."""
        try:
            async for message in self._stream:
                self._receive(message)
            self._fail("the server ended the stream")
        except grpc.RpcError as error:
            self._is_refused = error.code() not in GONE
            self._fail(error.details() or error.code().name)
        except asyncio.CancelledError:
            self._fail("closed")
        except Exception as error:  # grpc.aio gives None for a message that it cannot read
            self._fail(f"a message of the stream cannot be read: {error!r}")

    def _set_primary(self, is_primary: bool) -> None:
        self.is_primary = is_primary
        self.was_primary &= is_primary
        self._news.set()
        if not self._is_closed:
            self._changed()

    def _fail(self, end: str) -> None:
        if self.is_open:
            self.is_open, self._end = False, end
            self._set_primary(False)

    def resume(self) -> bool:
        """Return ``is_primary``, and begin to watch it again."""
        self.was_primary = self.is_primary
        return self.is_primary

    async def promotion(self) -> bool:
        """Wait until this client is primary, or the stream ends; return ``is_primary``."""
        while self.is_open and not self.is_primary:
            self._news.clear()
            await self._news.wait()
        return self.is_primary

    async def call(self, method: str, request: bytes, timeout_s: float) -> bytes:
        """Call a method with one answer, in serialized messages. Raises grpc.RpcError, SwitchUnreachableError."""
        with self._closed_as_error():
            answer: bytes = await self._channel.unary_unary(f"/{self.SERVICE}/{method}")(request, timeout=timeout_s)
            return answer

    async def call_for_all(self, method: str, request: bytes, timeout_s: float) -> list[bytes]:
        """Call a method with several answers, in serialized messages. Raises grpc.RpcError, SwitchUnreachableError."""
        with self._closed_as_error():
            answers = self._channel.unary_stream(f"/{self.SERVICE}/{method}")(request, timeout=timeout_s)
            return [answer async for answer in answers]

    @contextlib.contextmanager
    def _closed_as_error(self) -> Iterator[None]:
        """Translate the errors of a call that meets ``close``."""
        try:
            yield
        except (asyncio.CancelledError, grpc.aio.UsageError) as error:
            if not self._is_closed:
                raise
            raise SwitchUnreachableError(f"The session with the switch at {self.address} was closed.") from error

    async def close(self) -> None:
        """End the session; idempotent."""
        self._is_closed = True
        if self.is_open:  # a switch that ends the stream itself has forgotten the election id
            with contextlib.suppress(grpc.RpcError, asyncio.InvalidStateError):
                await self._stream.done_writing()
            await asyncio.wait([self._reader], timeout=_CLOSE_S)
        self._stream.cancel()
        self._reader.cancel()
        await self._channel.close()

    @classmethod
    async def _wait_until_listening(cls, address: str, timeout_s: float) -> None:
        """Wait until the address accepts connections. Raises SwitchUnreachableError, ConfigurationError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while True:
            try:
                return await listening(address)
            except (ValueError, OverflowError) as error:
                raise ConfigurationError(f"{address!r} is no address.", "Give host:port or unix:path.") from error
            except OSError as error:
                if loop.time() >= deadline:
                    why = os.strerror(error.errno) if error.errno else "no answer"
                    raise SwitchUnreachableError(
                        f"No {cls.PROTOCOL} server answers at {address} ({why}).",
                        "Start the switch (lanesum switch, simple_switch_grpc or an agent), or correct the address.",
                    ) from error
            await asyncio.sleep(_RETRY_S)


class P4RuntimeSession(SwitchSession):
    """P4Runtime session; of several clients the one with the highest election id is primary."""

    PROTOCOL = "P4Runtime"
    SERVICE = "p4.v1.P4Runtime"
    DEVICE_ID = DEFAULT_DEVICE_ID
    _REQUEST = p4runtime_pb2.StreamMessageRequest
    _RESPONSE = p4runtime_pb2.StreamMessageResponse

    def _first_message(self) -> p4runtime_pb2.StreamMessageRequest:
        request = p4runtime_pb2.StreamMessageRequest()
        request.arbitration.device_id = self.device_id
        request.arbitration.election_id.high, request.arbitration.election_id.low = self.election_id
        return request

    def _receive(self, message: p4runtime_pb2.StreamMessageResponse) -> None:
        if message.HasField("arbitration"):
            news = message.arbitration
            is_primary = news.status.code == code_pb2.OK
            # P4Runtime 1.3, 5.4: without a primary the message has no election id.
            if not is_primary and news.HasField("election_id"):
                self.other_primary = news.election_id.high, news.election_id.low
            self._set_primary(is_primary)

    def not_primary(self) -> NotPrimaryError:
        """Return the error about a session that is a backup, with the election id of the primary."""
        other = self.other_primary
        client = "Another P4Runtime client" if other is None else f"A P4Runtime client with {_election_text(other)}"
        return NotPrimaryError(
            f"{client} is primary on the switch at {self.address}; this controller has priority "
            f"{priority_of(self.election_id)}.",
            "Stop it, or give this one a higher priority (lanesum controller --election-id).",
        )


def _election_text(election_id: tuple[int, int]) -> str:
    """Return an election id (high, low) of another client as one number, and as the halves that many tools show.

    The own one is a secret.
    """
    high, low = election_id
    return f"election id {high << 64 | low}" + (f" (high {high}, low {low})" if high else "")
