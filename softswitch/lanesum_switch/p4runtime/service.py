# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The six RPCs of the ``p4.v1.P4Runtime`` service."""

from __future__ import annotations

from typing import Any

from lanesum.rpc.caller import Caller
from lanesum.rpc.calls import Call
from lanesum.rpc.grpc_server import CallHandler
from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.p4runtime.arbitration import Connection, election_id
from lanesum_switch.p4runtime.calls import MessageStream, parsed, refused, run_slowly, serve_stream, unary
from lanesum_switch.p4runtime.devices import Devices, P4RuntimeDevice
from lanesum_switch.p4runtime.entities import read_entities, write_updates
from lanesum_switch.p4runtime.status import FAILED_PRECONDITION, PERMISSION_DENIED, StatusError

SERVICE = "p4.v1.P4Runtime"

# version reported by PI f96af95
API_VERSION = "1.3.0"


class P4RuntimeService:
    """Maps RPCs to devices, and StatusError to gRPC status."""

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
            PERMISSION_DENIED,
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
                FAILED_PRECONDITION,
                f"The device id of a stream is {self._device.device_id} and cannot change: open another stream",
            )
        else:
            self._device.arbitration.update(self.connection, new_id)
