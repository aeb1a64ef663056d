# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The server's control service over gRPC, and the whole server as one process runs it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lanesum._internal.closing import Serving
from lanesum._internal.offload import Offload
from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.rpc.json_grpc import Handler, JsonService
from lanesum.server.jobs import ServerJob
from lanesum.server.udp import AggregationServer

SERVICE = "lanesum.v1.AggregationServer"
ADMIT = "Admit"
REMOVE = "Remove"
STATUS = "Status"
DEFAULT_CONTROL_PORT = 50552
DEFAULT_CONTROL = f"127.0.0.1:{DEFAULT_CONTROL_PORT}"


class ServerService(Serving):
    """Lets a controller admit and remove jobs at ``server``, and ask how it is.

    Use as a context manager, or call ``start`` and ``close``; the server itself is started and closed by its owner.

    Args:
        server: what is controlled.
        address: where to listen, ``host:port``; port 0 picks one, see attribute ``port``.

    Raises ConfigurationError when the port is taken.
    """

    def __init__(self, server: AggregationServer, address: str) -> None:
        self._server = server
        handlers: dict[str, Handler] = {ADMIT: self._admit, REMOVE: self._remove, STATUS: self._status}
        self._service = JsonService(address, SERVICE, handlers, owner="aggregation server")
        self.port = self._service.port

    def _admit(self, message: dict[str, Any]) -> dict[str, Any]:
        self._server.admit(ServerJob.from_json(_field(message, "job", str)))
        return {}

    def _remove(self, message: dict[str, Any]) -> dict[str, Any]:
        self._server.remove(_field(message, "job", int))
        return {}

    def _status(self, _message: dict[str, Any]) -> dict[str, Any]:
        return self._server.status().to_message()

    def start(self) -> None:
        self._service.start()

    def close(self) -> None:
        """Stop listening; the jobs stay at the server. Idempotent."""
        self._service.close()


def _field(message: dict[str, Any], name: str, kind: type[Any]) -> Any:
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
    """The aggregation server with its control service, both running while the context lasts.

    Args:
        udp_address: IPv4 address and port that packets are addressed to.
        control_address: ``host:port`` for controllers.
        journal_folder: where quorum decisions outlive the process; None keeps them in memory only.
        threads, offload: see ``AggregationServer``.

    Raises ConfigurationError when either port is taken, or an argument cannot be.
    """
    with (
        AggregationServer(udp_address, journal_folder=journal_folder, threads=threads, offload=offload) as server,
        ServerService(server, control_address) as service,
    ):
        yield server, service
