# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""gRPC server of BF Runtime: address, start and stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lanesum.rpc.grpc_server import Authenticate
from lanesum.rpc.limits import Limits
from lanesum_switch.bfruntime.agent import Agent
from lanesum_switch.bfruntime.service import BfRuntimeService
from lanesum_switch.p4runtime.server import LIMITS, SwitchServer
from lanesum_switch.tna.switch import TofinoSwitch

DEFAULT_ADDRESS = "127.0.0.1:50052"


class BfRuntimeServer(SwitchServer):
    """Serves one switch over BF Runtime.

    Args:
        address: ``host:port`` (port 0 selects a free one) or ``unix:/path``.
        spare: returns another switch of the same kind, for a warm restart in two steps; without it that is
            UNIMPLEMENTED.
        credentials, authenticate, limits: see ``GrpcServer``.

    Raises:
        ConfigurationError: at ``start``, if the server cannot listen at the address.
    """

    def __init__(
        self,
        switch: TofinoSwitch,
        address: str = DEFAULT_ADDRESS,
        device_id: int = 0,
        *,
        spare: Callable[[], TofinoSwitch] | None = None,
        credentials: Any = None,
        authenticate: Authenticate | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self._service = BfRuntimeService(Agent(switch, spare), device_id)
        super().__init__(
            address,
            self._service.handlers,
            owner="BF Runtime server",
            limits=limits,
            credentials=credentials,
            authenticate=authenticate,
        )

    def set_link(self, port: int, is_up: bool) -> None:
        """Notify clients that the link of a port went up or down. From any thread."""
        self._service.set_link(port, is_up=is_up)
