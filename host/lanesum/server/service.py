# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Control service of the server over gRPC, and the server as one process runs it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from lanesum._internal.closing import Serving
from lanesum._internal.offload import Offload
from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.rpc.caller import Caller
from lanesum.rpc.serving import Handler, JsonService
from lanesum.server.jobs import ServerJob
from lanesum.server.udp import AggregationServer

SERVICE = "lanesum.v1.AggregationServer"
ADMIT = "Admit"
REMOVE = "Remove"
STATUS = "Status"
DEFAULT_CONTROL_PORT = 50552
DEFAULT_CONTROL = f"127.0.0.1:{DEFAULT_CONTROL_PORT}"

_Value = TypeVar("_Value", int, str)


class ServerService(Serving):
    """gRPC service with which a controller admits and removes jobs and reads the status.

    Use as a context manager, or call ``start`` and ``close``. The caller starts and closes the server itself.

    Args:
        server: the server to control.
        address: address to listen at, ``host:port`` or ``unix:PATH``; port 0 selects a free one.

    Attributes:
        address: the address it listens at.
        port: its port.

    Raises:
        ConfigurationError: the port is taken.
    """

    def __init__(self, server: AggregationServer, address: str) -> None:
        self._server = server
        handlers: dict[str, Handler] = {ADMIT: self._admit, REMOVE: self._remove, STATUS: self._status}
        self._service = JsonService(address, SERVICE, handlers, owner="aggregation server")
        self.address, self.port = self._service.address, self._service.port

    def _admit(self, message: dict[str, Any], _caller: Caller) -> dict[str, Any]:
        self._server.admit(ServerJob.from_json(_field(message, "job", str)))
        return {}

    def _remove(self, message: dict[str, Any], _caller: Caller) -> dict[str, Any]:
        self._server.remove(_field(message, "job", int))
        return {}

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
