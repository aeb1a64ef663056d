# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""gRPC server of P4Runtime: address, start and stop."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lanesum._internal.closing import Serving
from lanesum.rpc.grpc_server import Authenticate, GrpcServer
from lanesum.rpc.limits import Limits
from lanesum_switch.bmv2.limits import MAX_PROGRAM_BYTES
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime.devices import Devices
from lanesum_switch.p4runtime.other_programs import Scheduler
from lanesum_switch.p4runtime.packet_io import Inject
from lanesum_switch.p4runtime.pipeline import PipelineManager
from lanesum_switch.p4runtime.service import P4RuntimeService

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
        """Listen and serve in background threads. Raises ConfigurationError: the address is malformed or in use."""
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


DEFAULT_ADDRESS = "127.0.0.1:9559"

# A push holds a whole compiled program and its P4Info. One caller has the streams of a whole simple_switch_grpc.
LIMITS = Limits(message_bytes=MAX_PROGRAM_BYTES + (4 << 20), silent=16, streams=64, streams_of_caller=16)


class P4RuntimeServer(SwitchServer):
    """Serves one switch over P4Runtime.

    Args:
        switch: the switch to control. The server takes over its CPU-packet and digest listeners. The last hits of its
            entries must be in the time of ``time.monotonic_ns``.
        address: ``host:port`` (port 0 selects a free one) or ``unix:/path``.
        device_id: device id of the switch, as in simple_switch_grpc's ``--device-id``.
        inject: takes (port, frame) for each packet-out. The default processes the packet and drops its output; a switch
            with real ports passes the function of its ingress.
        spare: returns another switch of the same kind, for VERIFY_AND_SAVE, which needs two programs at a time. Without
            it that action answers UNIMPLEMENTED.
        credentials, authenticate, limits: see ``GrpcServer``.

    Raises ConfigurationError: at ``start``, if the server cannot listen at the address.
    """

    def __init__(
        self,
        switch: EmbeddedSwitch,
        address: str = DEFAULT_ADDRESS,
        device_id: int = 0,
        *,
        inject: Inject | None = None,
        spare: Callable[[], EmbeddedSwitch] | None = None,
        credentials: Any = None,
        authenticate: Authenticate | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self._scheduler = Scheduler()
        devices = Devices()
        device = devices.hold(device_id)
        super().__init__(
            address,
            P4RuntimeService(devices).handlers,
            owner="P4Runtime server",
            limits=limits,
            credentials=credentials,
            authenticate=authenticate,
        )
        self._manager = PipelineManager(
            switch, self._scheduler, device.arbitration.send_to_primary, inject or switch.process, spare
        )
        device.attach(self._manager)

    def start(self) -> None:
        """Listen and serve in background threads. Raises ConfigurationError: the address is malformed or in use."""
        server = self._listen()
        self._scheduler.start()
        server.start()

    def close(self) -> None:
        """Stop listening, give open calls a moment, cancel them, and release the switch. Idempotent."""
        if self._server is not None:
            super().close()
            self._scheduler.stop()
            self._manager.close()
