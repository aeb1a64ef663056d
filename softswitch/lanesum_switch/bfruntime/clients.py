# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Clients of BF Runtime: their subscriptions, and the one that is bound to the program."""

from __future__ import annotations

import threading
from typing import Any

from lanesum.rpc.caller import Caller
from lanesum_fabric.bfruntime import messages
from lanesum_switch.p4runtime.arbitration import Connection
from lanesum_switch.p4runtime.status import (
    ALREADY_EXISTS,
    NOT_FOUND,
    PERMISSION_DENIED,
    UNAVAILABLE,
    StatusError,
    invalid,
)


class Clients:
    """Subscribed clients by id.

    Attributes:
        beginner: client whose warm restart has not ended; None if there is none, or that client has left.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: dict[int, Connection] = {}
        self._port_listeners: set[int] = set()
        self.beginner: int | None = None
        self._bound: int | None = None

    def subscribe(self, client_id: int, connection: Connection, *, ports: bool = False) -> None:
        """Add a client. Raises StatusError for an id in use. ``Limits`` of the server bounds the number of streams."""
        answer = messages.StreamMessageResponse()
        answer.subscribe.status.SetInParent()
        with self._lock:
            if client_id in self._connections:
                raise invalid(f"Client id {client_id} is in use")
            self._connections[client_id] = connection
            if ports:
                self._port_listeners.add(client_id)
            connection.send(answer, must_arrive=True)

    def leave(self, client_id: int) -> None:
        with self._lock:
            del self._connections[client_id]
            self._port_listeners.discard(client_id)
            if self._bound == client_id:
                self._bound = None
            if self.beginner == client_id:
                self.beginner = None

    def bind(self, client_id: int) -> None:
        """Bind a client to the program. Raises StatusError if another one is bound."""
        with self._lock:
            self._check_known(client_id)
            if self._bound is not None:
                raise StatusError(ALREADY_EXISTS, f"Client {self._bound} is bound to the program: end its stream first")
            self._bound = client_id

    def check_caller(self, client_id: int, caller: Caller) -> None:
        """Check that a request with the id of a client is on the connection of its stream. Raises StatusError."""
        with self._lock:
            connection = self._connections.get(client_id)
            if connection is not None and connection.caller != caller:
                raise StatusError(PERMISSION_DENIED, f"The stream of client {client_id} is on another connection")

    def check_may_begin(self, client_id: int) -> None:
        """Check that a client may begin a warm restart. Raises StatusError while another one is bound."""
        with self._lock:
            self._check_known(client_id)
            if self._bound not in (None, client_id):
                raise StatusError(ALREADY_EXISTS, f"Client {self._bound} is bound to the program: end its stream first")

    def begin(self, client_id: int) -> None:
        """Note the client of the warm restart that has begun, unless it has left meanwhile."""
        with self._lock:
            self.beginner = client_id if client_id in self._connections else None

    def check_bound(self, client_id: int) -> None:
        """Check that a client may read and write. Raises StatusError."""
        with self._lock:
            self._check_known(client_id)
            if self._bound != client_id:
                raise StatusError(NOT_FOUND, f"Client {client_id} is not bound to the program: send BIND first")

    def release(self) -> None:
        """End the session of the bound client, whose program is replaced by another one."""
        with self._lock:
            if self._bound is not None:
                self._connections[self._bound].close()
                self._bound = None

    def tell(self, message: Any) -> None:
        """Send a message to all clients."""
        with self._lock:
            for connection in self._connections.values():
                connection.send(message, must_arrive=True)

    def tell_of_port(self, message: Any) -> None:
        """Send a message about a port to the clients that asked for such; a full queue drops it."""
        with self._lock:
            for client_id in self._port_listeners:
                self._connections[client_id].send(message)

    def _check_known(self, client_id: int) -> None:
        if client_id not in self._connections:
            raise StatusError(UNAVAILABLE, f"Client {client_id} has no subscription: open a stream first")
