# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Control service of the server over gRPC, and the server as one process runs it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from lanesum._internal.offload import Offload
from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.rpc.caller import Caller
from lanesum.rpc.controller import DEFAULT_SERVER_PORT
from lanesum.rpc.serving import JsonService, Messages
from lanesum.rpc.tls import operators_only
from lanesum.server.jobs import ServerJob
from lanesum.server.udp import AggregationServer

SERVICE = "lanesum.v1.AggregationServer"
ADMIT = "Admit"
REMOVE = "Remove"
STATUS = "Status"
WATCH = "Watch"  # answers with a stream
DEFAULT_CONTROL = f"127.0.0.1:{DEFAULT_SERVER_PORT}"

_Value = TypeVar("_Value", int, str)


class ServerService(JsonService):
    """gRPC service with which a controller admits and removes jobs and reads the status.

    The caller starts and closes the aggregation server itself, which keeps its jobs.

    Args:
        address: see ``GrpcServer``.
        credentials: for TLS, with which only operators may call; None for plain text.

    Raises the exceptions of ``GrpcServer``.
    """

    def __init__(self, server: AggregationServer, address: str, credentials: Any = None) -> None:
        self._aggregation_server = server
        self._watches: list[_JobsWatch] = []
        self._term, self._term_lock = 0, threading.Lock()  # of the last controller, see ``_led``
        super().__init__(
            address,
            SERVICE,
            {ADMIT: self._admit, REMOVE: self._remove, STATUS: self._status},
            owner="aggregation server",
            streams={WATCH: self._watch_jobs},
            credentials=credentials,
            authenticate=None if credentials is None else operators_only,
        )

    @contextlib.contextmanager
    def _led(self, message: dict[str, Any]) -> Iterator[None]:
        """Hold off other calls, and refuse a controller whose leadership has ended: a later one has a higher term."""
        with self._term_lock:
            term = _field({"term": self._term, **message}, "term", int)
            if term < self._term:
                raise ConfigurationError(
                    f"A controller of term {self._term} has taken over from that of term {term}.",
                    "Stop the earlier one; with a new database, give a higher --election-id.",
                )
            self._term = term
            yield

    def _admit(self, message: dict[str, Any], _caller: Caller) -> dict[str, Any]:
        with self._led(message):
            self._aggregation_server.admit(ServerJob.from_json(_field(message, "job", str)))
        self._tell()
        return {}

    def _remove(self, message: dict[str, Any], _caller: Caller) -> dict[str, Any]:
        with self._led(message):
            self._aggregation_server.remove(_field(message, "job", int))
        self._tell()
        return {}

    def _watch_jobs(self, _message: dict[str, Any], _caller: Caller, wake: Callable[[], None]) -> Messages:
        """Return a stream with a message now, and one after changes of the jobs; it lasts as long as this server."""
        watch = _JobsWatch(wake, self._watches)
        self._watches.append(watch)
        return watch

    def _tell(self) -> None:
        for watch in list(self._watches):
            watch.tell()

    def _status(self, message: dict[str, Any], _caller: Caller) -> dict[str, Any]:
        with self._led(message):
            return self._aggregation_server.status().to_message()


class _JobsWatch:
    """A stream with one empty message for all changes since the last one; in ``watches`` until its end."""

    def __init__(self, wake: Callable[[], None], watches: list[_JobsWatch]) -> None:
        self.ended, self._changed = False, True
        self._wake, self._watches = wake, watches

    def tell(self) -> None:
        self._changed = True
        self._wake()

    def poll(self) -> dict[str, Any] | None:
        changed, self._changed = self._changed, False
        return {} if changed else None

    def close(self, is_cut_off: bool = False) -> None:
        if self in self._watches:
            self._watches.remove(self)


def _field(message: dict[str, Any], name: str, kind: type[_Value]) -> _Value:
    value = message.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ConfigurationError(f"The message has no {name}, or none that is of type {kind.__name__}.")
    return value


@contextlib.contextmanager
def serve(
    udp_address: Address,
    control_address: str,
    journal_folder: Path | None = None,
    *,
    threads: int | None = None,
    offload: Offload = "auto",
    credentials: Any = None,
) -> Iterator[tuple[AggregationServer, ServerService]]:
    """Run the aggregation server and its control service while the context lasts.

    Args:
        udp_address: IPv4 address and port that packets are addressed to.
        control_address: ``host:port`` or ``unix:path`` for controllers.
        journal_folder: see ``Aggregator``.
        threads, offload: see ``AggregationServer``.
        credentials: see ``ServerService``.

    Raises ConfigurationError: a port is taken, or an argument is invalid.
    """
    with (
        AggregationServer(udp_address, journal_folder=journal_folder, threads=threads, offload=offload) as server,
        ServerService(server, control_address, credentials) as service,
    ):
        yield server, service
