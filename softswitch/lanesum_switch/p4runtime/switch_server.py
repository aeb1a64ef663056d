# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""gRPC server of one switch, whatever its protocol is: address, start and stop."""

from __future__ import annotations

import functools
from typing import Any

from lanesum._internal.closing import Serving
from lanesum.rpc.grpc_server import GrpcServer

_GRACE_S = 1.0


class SwitchServer(Serving):
    """Listens from ``start`` to ``close``, and can start again. ``options`` are those of ``GrpcServer``."""

    def __init__(self, address: str, handlers: Any, **options: Any) -> None:
        self._requested = address
        self._make = functools.partial(GrpcServer, address, handlers, **options)
        self._server: GrpcServer | None = None

    @property
    def address(self) -> str:
        """Address of the server; after ``start`` with the port that port 0 selected."""
        return self._requested if self._server is None else self._server.address

    def start(self) -> None:
        """Listen and serve in background threads.

        Raises:
            ConfigurationError: the address is malformed or in use.
        """
        self._listen().start()

    def _listen(self) -> GrpcServer:
        """Return a server that listens, and serves once it is started. Raises ConfigurationError."""
        self._server = self._make()
        return self._server

    def close(self) -> None:
        """Stop listening, give open calls a moment, and cancel them. Idempotent."""
        if self._server is not None:
            self._server.close(_GRACE_S)
            self._server = None
