# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""gRPC server of P4Runtime, the six RPCs of its service, and devices by id."""

from __future__ import annotations

import collections
import functools
import threading
from collections.abc import Callable
from typing import Any

from lanesum._internal.closing import Serving
from lanesum.rpc.caller import Caller
from lanesum.rpc.calls import Call
from lanesum.rpc.grpc_server import Authenticate, CallHandler, GrpcServer
from lanesum.rpc.limits import Limits
from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.bmv2.fields import MAX_PROGRAM_BYTES
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime.arbitration import Arbitration, Connection, election_id
from lanesum_switch.p4runtime.calls import MessageStream, parsed, refused, run_slowly, serve_stream, unary
from lanesum_switch.p4runtime.entities import read_entities, write_updates
from lanesum_switch.p4runtime.other_programs import Scheduler
from lanesum_switch.p4runtime.packet_io import Inject
from lanesum_switch.p4runtime.pipeline import PipelineManager, no_pipeline
from lanesum_switch.p4runtime.status import Code, StatusError

SERVICE = "p4.v1.P4Runtime"

# version reported by PI f96af95
API_VERSION = "1.3.0"


class P4RuntimeService:
    """Handlers of the RPCs of P4Runtime, for all devices."""

    def __init__(self, devices: Devices) -> None:
        self._devices = devices
        self.handlers: dict[str, CallHandler] = {
            f"/{SERVICE}/Write": unary(p4rt.WriteRequest, self._write),
            f"/{SERVICE}/Read": self._read,
            f"/{SERVICE}/SetForwardingPipelineConfig": unary(
                p4rt.SetForwardingPipelineConfigRequest, self._set_pipeline
            ),
            f"/{SERVICE}/GetForwardingPipelineConfig": unary(
                p4rt.GetForwardingPipelineConfigRequest, self._get_pipeline
            ),
            f"/{SERVICE}/Capabilities": unary(p4rt.CapabilitiesRequest, _capabilities),
            f"/{SERVICE}/StreamChannel": self._stream_channel,
        }

    def _write(self, request: Any, caller: Caller) -> Any:
        device = self._devices.get(request.device_id)
        check_primary(device, request, caller)
        manager = device.manager
        with manager.lock:
            write_updates(manager.current, request)
        return p4rt.WriteResponse()

    async def _read(self, call: Call) -> None:
        data = await call.receive()
        found, failure = await run_slowly(call, lambda: self._entities(parsed(p4rt.ReadRequest, data)))
        # One message with all entities, also in front of an error.
        await call.send(found)
        if failure is not None:
            raise refused(failure)

    def _entities(self, request: Any) -> tuple[bytes, StatusError | None]:
        manager = self._devices.get(request.device_id).manager
        response = p4rt.ReadResponse()
        failure = None
        with manager.lock:
            pipeline = manager.current
            try:
                read_entities(pipeline, request, response)
            except StatusError as error:
                failure = error
        return response.SerializeToString(), failure

    def _set_pipeline(self, request: Any, caller: Caller) -> Any:
        device = self._devices.get(request.device_id)
        check_primary(device, request, caller)
        device.set_pipeline(request.action, request.config)
        return p4rt.SetForwardingPipelineConfigResponse()

    def _get_pipeline(self, request: Any, _caller: Caller) -> Any:
        response = p4rt.GetForwardingPipelineConfigResponse()
        response.config.CopyFrom(self._devices.get(request.device_id).manager.get(request.response_type))
        return response

    async def _stream_channel(self, call: Call) -> None:
        await serve_stream(call, lambda connection: _Stream(self._devices, connection))


def check_primary(device: P4RuntimeDevice, request: Any, caller: Caller) -> None:
    """Raise StatusError PERMISSION_DENIED for a request that is not of the primary."""
    if not device.arbitration.may_write(request, caller):
        raise StatusError(
            Code.PERMISSION_DENIED,
            f"The client is not primary for device {device.device_id}: send the primary's election id, on the "
            "connection of its stream",
        )


def _capabilities(_request: Any, _caller: Caller) -> Any:
    return p4rt.CapabilitiesResponse(p4runtime_api_version=API_VERSION)


class _Stream(MessageStream):
    """The requests of one StreamChannel."""

    REQUEST = p4rt.StreamMessageRequest

    def __init__(self, devices: Devices, connection: Connection) -> None:
        super().__init__(connection)
        self._devices = devices
        self._device: P4RuntimeDevice | None = None

    def leave(self) -> None:
        """Remove the closed stream."""
        if self._device is not None:
            self._device.arbitration.remove(self.connection)
            self._devices.release(self._device)

    async def handle(self, call: Call, request: Any) -> None:
        kind = request.WhichOneof("update")
        if kind == "arbitration":
            self._arbitrate(request.arbitration)
            return
        # Before arbitration, and from backups, all other messages are ignored (specification, section 16.1).
        device = self._device
        if device is None or not device.arbitration.is_primary(self.connection):
            return
        if kind == "packet":
            await call.run(device.packet_out, request.packet)
        elif kind == "digest_ack":
            await call.run(device.digest_ack, request.digest_ack)

    def _arbitrate(self, message: Any) -> None:
        new_id = election_id(message.election_id)
        if self._device is None:
            device = self._devices.hold(message.device_id)
            self._device = device
            device.arbitration.add(self.connection, new_id)
        elif self._device.device_id != message.device_id:
            raise StatusError(
                Code.FAILED_PRECONDITION,
                f"The device id of a stream is {self._device.device_id} and cannot change: open another stream",
            )
        else:
            self._device.arbitration.update(self.connection, new_id)


class P4RuntimeDevice:
    """One device id: its controllers and, for the id of the switch, its pipeline."""

    def __init__(self, device_id: int) -> None:
        self.device_id = device_id
        self.arbitration = Arbitration(device_id)
        self._manager: PipelineManager | None = None

    def attach(self, manager: PipelineManager) -> None:
        self._manager = manager

    @property
    def manager(self) -> PipelineManager:
        """Return the pipeline manager. Raises StatusError FAILED_PRECONDITION for a device id without a switch."""
        if self._manager is None:
            raise no_pipeline()
        return self._manager

    def set_pipeline(self, action: int, config: Any) -> None:
        """Install a configuration; see ``PipelineManager.set``. Raises StatusError."""
        if self._manager is None:
            raise StatusError(Code.UNKNOWN, f"This switch is not device {self.device_id}: check the device id")
        self._manager.set(action, config)

    def packet_out(self, packet: Any) -> None:
        if self._manager is not None:
            self._manager.packet_out(packet)

    def digest_ack(self, ack: Any) -> None:
        if self._manager is not None:
            self._manager.digest_ack(ack)


class Devices:
    """The switch's device, and those for which streams arbitrate.

    A server accepts any device id, as simple_switch_grpc does: controllers may arbitrate for each, but only the id of
    the switch ever gets a pipeline.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._devices: dict[int, P4RuntimeDevice] = {}
        self._streams: collections.Counter[int] = collections.Counter()

    def get(self, device_id: int) -> P4RuntimeDevice:
        """Return a device; a new one, which is not kept, for an unknown id."""
        with self._lock:
            return self._devices.get(device_id) or P4RuntimeDevice(device_id)

    def hold(self, device_id: int) -> P4RuntimeDevice:
        """Return a device, and keep it until its ``release``."""
        with self._lock:
            self._streams[device_id] += 1
            return self._devices.setdefault(device_id, P4RuntimeDevice(device_id))

    def release(self, device: P4RuntimeDevice) -> None:
        """Forget a device once no stream holds it."""
        with self._lock:
            self._streams[device.device_id] -= 1
            if self._streams[device.device_id] == 0:
                del self._streams[device.device_id], self._devices[device.device_id]


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
