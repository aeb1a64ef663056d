# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""gRPC server of P4Runtime: address, start and stop."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

import grpc
from p4.v1 import p4runtime_pb2_grpc

from lanesum.errors import ConfigurationError
from lanesum_switch.api import Switch
from lanesum_switch.p4runtime.devices import Devices
from lanesum_switch.p4runtime.idle import SWEEP_SECONDS
from lanesum_switch.p4runtime.packet_io import Inject
from lanesum_switch.p4runtime.pipeline import PipelineManager
from lanesum_switch.p4runtime.scheduler import Scheduler
from lanesum_switch.p4runtime.service import MAX_STREAMS, P4RuntimeService

DEFAULT_ADDRESS = "127.0.0.1:9559"

# Pushes hold a whole compiled program.
_MAX_MESSAGE_BYTES = 256 * 1024 * 1024

# An open stream occupies a thread; the other threads serve the short RPCs.
_THREADS = MAX_STREAMS + 16


class P4RuntimeServer:
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
        credentials: for TLS; None for plain text.
        idle_sweep_seconds: period of the search for expired entries; 1 s in BMv2.

    Raises:
        ConfigurationError: at ``start``, if the server cannot listen at the address.
    """

    def __init__(
        self,
        switch: Switch,
        address: str = DEFAULT_ADDRESS,
        device_id: int = 0,
        *,
        inject: Inject | None = None,
        spare: Callable[[], Switch] | None = None,
        credentials: Any = None,
        idle_sweep_seconds: float = SWEEP_SECONDS,
    ) -> None:
        self._requested = address
        self._credentials = credentials
        self._scheduler = Scheduler()
        self._devices = Devices()
        device = self._devices.get(device_id)
        self._manager = PipelineManager(
            switch,
            self._scheduler,
            device.arbitration.send_to_primary,
            inject or switch.process,
            spare,
            idle_sweep_seconds,
        )
        device.attach(self._manager)
        self._server: Any = None
        self._bound = address

    @property
    def address(self) -> str:
        """Address of the server; after ``start`` with the port that port 0 selected."""
        return self._bound

    def start(self) -> P4RuntimeServer:
        """Listen and serve in background threads.

        Raises:
            ConfigurationError: the address is malformed or in use.
        """
        if self._requested.startswith("unix:"):
            _check_socket_free(self._requested)
        else:
            _check_port(self._requested)
        server = grpc.server(
            ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="p4runtime"),
            options=[
                # With port reuse, a second server on the same port would start and silently share the clients.
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
                ("grpc.max_send_message_length", -1),
            ],
        )
        p4runtime_pb2_grpc.add_P4RuntimeServicer_to_server(P4RuntimeService(self._devices), server)
        try:
            if self._credentials is None:
                port = server.add_insecure_port(self._requested)
            else:
                port = server.add_secure_port(self._requested, self._credentials)
        except RuntimeError as error:
            raise _cannot_listen(self._requested) from error
        if port == 0:
            raise _cannot_listen(self._requested)
        if not self._requested.startswith("unix:"):
            host, _, _ = self._requested.rpartition(":")
            self._bound = f"{host}:{port}"
        self._scheduler.start()
        server.start()
        self._server = server
        return self

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the server is stopped, or for that many seconds."""
        if self._server is not None:
            self._server.wait_for_termination(timeout)

    def stop(self, grace: float | None = 1.0) -> None:
        """Stop listening, give open calls ``grace`` seconds, then cancel them. Idempotent."""
        if self._server is None:
            return
        self._server.stop(grace).wait()
        self._server = None
        self._scheduler.stop()
        self._manager.close()

    def __enter__(self) -> P4RuntimeServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _cannot_listen(address: str) -> ConfigurationError:
    return ConfigurationError(
        f"Cannot listen on {address} for P4Runtime.",
        "Stop the process that uses it, or choose another address (host:port or unix:/path).",
    )


def _check_port(address: str) -> None:
    """Check the port: gRPC reads a missing port as 443, and truncates one beyond 65535."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ConfigurationError(
            f"{address!r} is not an address to listen on.", "Give host:port (port 0 takes a free one) or unix:/path."
        )


def _check_socket_free(address: str) -> None:
    """Check the socket file: gRPC removes an existing one, even if another server listens on it."""
    path = Path(address.removeprefix("unix:"))
    if not path.is_socket():
        if path.exists():
            raise _cannot_listen(address)
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return
    raise _cannot_listen(address)
