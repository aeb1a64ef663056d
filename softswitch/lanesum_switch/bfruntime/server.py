# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""gRPC server of BF Runtime: address, start and stop."""

from __future__ import annotations

import functools
from typing import Any

from lanesum._internal.closing import Serving
from lanesum.rpc.grpc_server import Authenticate, GrpcServer
from lanesum.rpc.limits import Limits
from lanesum_switch.bfruntime.agent import Agent
from lanesum_switch.bfruntime.service import BfRuntimeService
from lanesum_switch.p4runtime.server import LIMITS
from lanesum_switch.tna.switch import TofinoSwitch

DEFAULT_ADDRESS = "127.0.0.1:50052"
_GRACE_S = 1.0


class BfRuntimeServer(Serving):
    """Serves one switch over BF Runtime.

    Args:
        switch: the switch to control.
        address: ``host:port`` (port 0 selects a free one) or ``unix:/path``.
        device_id: device id of the switch.
        credentials: see ``GrpcServer``.
        authenticate: see ``GrpcServer``.
        limits: see ``GrpcServer``.

    Raises:
        ConfigurationError: at ``start``, if the server cannot listen at the address.
    """

    def __init__(
        self,
        switch: TofinoSwitch,
        address: str = DEFAULT_ADDRESS,
        device_id: int = 0,
        *,
        credentials: Any = None,
        authenticate: Authenticate | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self._requested = address
        self._serve = functools.partial(
            GrpcServer,
            address,
            BfRuntimeService(Agent(switch), device_id).handlers,
            owner="BF Runtime server",
            limits=limits,
            credentials=credentials,
            authenticate=authenticate,
        )
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
        self._server = self._serve()
        self._server.start()

    def close(self) -> None:
        """Stop listening, give open calls a moment, and cancel them. Idempotent."""
        if self._server is not None:
            self._server.close(_GRACE_S)
            self._server = None
