# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Arbitration of the primary controller (specification, section 5).

As in simple_switch_grpc there is one set of controllers per device: roles are ignored.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from lanesum.rpc.caller import UNAUTHENTICATED, Caller
from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.p4runtime.status import Code, StatusError

# Maximum of queued messages for a client that does not read. Further packets and notifications are dropped, as by the
# queue between BMv2's data plane and its gRPC stream.
MAX_QUEUED = 1024


class Connection:
    """One open stream: its queue of outgoing messages, and its election id once it has one.

    Args:
        caller: identity and address of the client. Only calls of the same one count as calls of this client: an id
            in a request is no proof, because every client of the switch learns it.
        wake: called, in any thread, when there is a message, and at the end.

    Attributes:
        closed: no message follows those in the queue.
        dropped: number of messages that found the queue full.
    """

    def __init__(self, caller: Caller = UNAUTHENTICATED, wake: Callable[[], None] = lambda: None) -> None:
        self.caller = caller
        self.election_id: int | None = None
        self.closed = False
        self.dropped = 0
        self._wake = wake
        self._queue: deque[Any] = deque()

    def send(self, message: Any, *, must_arrive: bool = False) -> None:
        if self.closed:
            return
        if len(self._queue) >= MAX_QUEUED and not must_arrive:
            self.dropped += 1
            return
        self._queue.append(message)
        self._wake()

    def close(self) -> None:
        """End the stream after its queued messages."""
        self.closed = True
        self._wake()

    def take(self) -> Any | None:
        """Return the next message for the client; None if there is none now."""
        return self._queue.popleft() if self._queue else None


def election_id(message: Any) -> int:
    """Return the 128 bit number of a ``p4.v1.Uint128``; an absent message reads as 0."""
    high: int = message.high
    low: int = message.low
    return high << 64 | low


class Arbitration:
    """Connections of one device, by election id."""

    def __init__(self, device_id: int) -> None:
        self._device_id = device_id
        self._lock = threading.Lock()
        self._connections: dict[int, Connection] = {}

    def add(self, connection: Connection, new_id: int) -> None:
        """Handle a stream's first arbitration message. ``Limits`` of the server bounds the number of streams.

        Raises StatusError: INVALID_ARGUMENT for an election id in use.
        """
        with self._lock:
            self._insert(connection, new_id)
            self._notify(connection, everyone=self._primary() is connection)

    def update(self, connection: Connection, new_id: int) -> None:
        """Handle a later arbitration message; one that repeats the election id is not answered.

        Raises StatusError: INVALID_ARGUMENT for an election id in use; the stream loses its id then.
        """
        with self._lock:
            if connection.election_id == new_id:
                return
            was_primary = self._primary() is connection
            self._remove(connection)
            try:
                self._insert(connection, new_id)
            except StatusError:
                if was_primary:
                    self._notify_all()
                raise
            self._notify(connection, everyone=was_primary != (self._primary() is connection))

    def remove(self, connection: Connection) -> None:
        """Remove a closed stream; the next highest election id becomes primary, and every controller is notified."""
        with self._lock:
            if connection.election_id is None:
                return
            was_primary = self._primary() is connection
            self._remove(connection)
            if was_primary:
                self._notify_all()

    def is_primary(self, connection: Connection) -> bool:
        with self._lock:
            return self._primary() is connection

    def may_write(self, request: Any, caller: Caller) -> bool:
        """Return True if a Write or pipeline push is from the primary, on the connection of its stream.

        Without any stream, requests without an election id pass, as in simple_switch_grpc, for scripts.
        """
        with self._lock:
            primary = self._primary()
            if primary is None:
                return not request.HasField("election_id")
            return primary.election_id == election_id(request.election_id) and primary.caller == caller

    def send_to_primary(self, message: Any) -> None:
        with self._lock:
            primary = self._primary()
        if primary is not None:
            primary.send(message)

    def _insert(self, connection: Connection, new_id: int) -> None:
        if new_id in self._connections:
            raise StatusError(
                Code.INVALID_ARGUMENT, f"Another controller has election id {new_id}: use a different one"
            )
        self._connections[new_id] = connection
        connection.election_id = new_id

    def _remove(self, connection: Connection) -> None:
        assert connection.election_id is not None
        del self._connections[connection.election_id]
        connection.election_id = None

    def _primary(self) -> Connection | None:
        return self._connections[max(self._connections)] if self._connections else None

    def _notify_all(self) -> None:
        for highest_first in sorted(self._connections, reverse=True):
            self._notify_one(self._connections[highest_first])

    def _notify(self, connection: Connection, *, everyone: bool) -> None:
        if everyone:
            self._notify_all()
        else:
            self._notify_one(connection)

    def _notify_one(self, connection: Connection) -> None:
        primary = self._primary()
        assert primary is not None and primary.election_id is not None
        response = p4rt.StreamMessageResponse()
        arbitration = response.arbitration
        arbitration.device_id = self._device_id
        # Every client receives the primary's id, not its own.
        arbitration.election_id.high = primary.election_id >> 64
        arbitration.election_id.low = primary.election_id & ((1 << 64) - 1)
        if connection is primary:
            arbitration.status.code = Code.OK
            arbitration.status.message = "You are primary"
        else:
            arbitration.status.code = Code.ALREADY_EXISTS
            arbitration.status.message = "You are backup"
        connection.send(response, must_arrive=True)
