# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Control service of the server over gRPC, and the server as one process runs it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from lanesum._internal.closing import Serving
from lanesum._internal.offload import Offload
from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.rpc.caller import Caller
from lanesum.rpc.json_grpc import Handler, JsonService
from lanesum.server.jobs import ServerJob
from lanesum.server.udp import AggregationServer

SERVICE = "lanesum.v1.AggregationServer"
ADMIT = "Admit"
REMOVE = "Remove"
STATUS = "Status"
WATCH = "Watch"  # answers with a stream
DEFAULT_CONTROL_PORT = 50552
DEFAULT_CONTROL = f"127.0.0.1:{DEFAULT_CONTROL_PORT}"

_WATCH_GAP_S = 0.25  # between two messages of a stream

_Value = TypeVar("_Value", int, str)


class ServerService(Serving):
    """gRPC service with which a controller admits and removes jobs and reads the status.

    Use as a context manager, or call ``start`` and ``close``. The caller starts and closes the server itself.

    Args:
        server: the server to control.
        address: address to listen at, ``host:port``; port 0 selects a free one.

    Attributes:
        port: the port it listens at.

    Raises:
        ConfigurationError: the port is taken.
    """

    def __init__(self, server: AggregationServer, address: str) -> None:
        self._server = server
        handlers: dict[str, Handler] = {ADMIT: self._admit, REMOVE: self._remove, STATUS: self._status}
        self._watches: list[threading.Event] = []
        streams = {WATCH: self._watch}
        self._service = JsonService(address, SERVICE, handlers, owner="aggregation server", streams=streams)
        self.port = self._service.port

    def _admit(self, message: dict[str, Any], _caller: Caller) -> dict[str, Any]:
        self._server.admit(ServerJob.from_json(_field(message, "job", str)))
        self._tell()
        return {}

    def _remove(self, message: dict[str, Any], _caller: Caller) -> dict[str, Any]:
        self._server.remove(_field(message, "job", int))
        self._tell()
        return {}

    def _watch(
        self, _message: dict[str, Any], _caller: Caller, on_end: Callable[[Callable[[], None]], bool]
    ) -> Iterator[dict[str, Any]]:
        """Return a message now, and one after changes of the jobs; the stream lasts as long as this server."""
        changed, ended = threading.Event(), threading.Event()

        def end() -> None:
            ended.set()
            changed.set()

        self._watches.append(changed)
        try:
            lasts = on_end(end)
            while lasts and not ended.is_set():
                changed.clear()
                yield {}
                ended.wait(_WATCH_GAP_S)
                changed.wait()
        finally:
            self._watches.remove(changed)

    def _tell(self) -> None:
        for changed in self._watches:
            changed.set()

    def _status(self, _message: dict[str, Any], _caller: Caller) -> dict[str, Any]:
        return self._server.status().to_message()

    def start(self) -> None:
        """Start listening."""
        self._service.start()

    def close(self) -> None:
        """Stop listening; the server keeps its jobs. Idempotent."""
        self._service.close()


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
) -> Iterator[tuple[AggregationServer, ServerService]]:
    """Run the aggregation server and its control service while the context lasts.

    Args:
        udp_address: IPv4 address and port that packets are addressed to.
        control_address: ``host:port`` for controllers.
        journal_folder: see ``Aggregator``.
        threads: see ``AggregationServer``.
        offload: see ``AggregationServer``.

    Raises:
        ConfigurationError: a port is taken, or an argument is invalid.
    """
    with (
        AggregationServer(udp_address, journal_folder=journal_folder, threads=threads, offload=offload) as server,
        ServerService(server, control_address) as service,
    ):
        yield server, service
