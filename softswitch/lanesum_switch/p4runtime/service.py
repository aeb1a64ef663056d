# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The five RPCs of the ``p4.v1.P4Runtime`` service."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any, NoReturn

import grpc
from p4.v1 import p4runtime_pb2 as p4rt
from p4.v1 import p4runtime_pb2_grpc

from lanesum_switch.p4runtime.arbitration import Connection, election_id
from lanesum_switch.p4runtime.devices import Device, Devices
from lanesum_switch.p4runtime.read import read_entities
from lanesum_switch.p4runtime.status import (
    DETAILS_KEY,
    FAILED_PRECONDITION,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    UNKNOWN,
    StatusError,
)
from lanesum_switch.p4runtime.write import write_updates

logger = logging.getLogger(__name__)

# version reported by PI f96af95
API_VERSION = "1.3.0"

# Maximum of open streams, before or after arbitration. Each occupies a thread: more would starve the other RPCs.
MAX_STREAMS = 48


def _abort(context: Any, error: StatusError) -> NoReturn:
    context.set_trailing_metadata(((DETAILS_KEY, error.packed()),))
    context.abort(error.grpc_code, error.message)
    raise AssertionError("abort always raises")


class P4RuntimeService(p4runtime_pb2_grpc.P4RuntimeServicer):
    """Maps RPCs to devices, and StatusError to gRPC status."""

    def __init__(self, devices: Devices) -> None:
        self._devices = devices
        self._stream_slots = threading.BoundedSemaphore(MAX_STREAMS)

    def Write(self, request: Any, context: Any) -> Any:
        device = self._devices.get(request.device_id)
        try:
            _check_primary(device, request)
            manager = device.manager
            with manager.lock:
                write_updates(manager.current, request)
        except StatusError as error:
            _abort(context, error)
        return p4rt.WriteResponse()

    def Read(self, request: Any, context: Any) -> Iterator[Any]:
        device = self._devices.get(request.device_id)
        response = p4rt.ReadResponse()
        failure = None
        try:
            manager = device.manager
            with manager.lock:
                pipeline = manager.current
                try:
                    read_entities(pipeline, request, response)
                except StatusError as error:
                    failure = error
        except StatusError as error:
            _abort(context, error)
        # One message with all entities, also in front of an error.
        yield response
        if failure is not None:
            _abort(context, failure)

    def SetForwardingPipelineConfig(self, request: Any, context: Any) -> Any:
        device = self._devices.get(request.device_id)
        try:
            _check_primary(device, request)
            device.set_pipeline(request.action, request.config)
        except StatusError as error:
            _abort(context, error)
        return p4rt.SetForwardingPipelineConfigResponse()

    def GetForwardingPipelineConfig(self, request: Any, context: Any) -> Any:
        device = self._devices.get(request.device_id)
        response = p4rt.GetForwardingPipelineConfigResponse()
        try:
            response.config.CopyFrom(device.manager.get(request.response_type))
        except StatusError as error:
            _abort(context, error)
        return response

    def Capabilities(self, request: Any, context: Any) -> Any:
        return p4rt.CapabilitiesResponse(p4runtime_api_version=API_VERSION)

    def StreamChannel(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
        if not self._stream_slots.acquire(blocking=False):
            _abort(context, StatusError(RESOURCE_EXHAUSTED, f"The server has {MAX_STREAMS} open streams already"))
        try:
            yield from self._stream(requests, context)
        finally:
            self._stream_slots.release()

    def _stream(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
        connection = Connection()
        stream = _Stream(self._devices, connection)
        # This generator writes and another thread reads; the end of the call wakes either.
        context.add_callback(connection.close)
        reader = threading.Thread(target=stream.read, args=(requests,), name="p4runtime-stream", daemon=True)
        reader.start()
        try:
            while (message := connection.receive()) is not None:
                yield message
        except StatusError as error:
            stream.leave()
            _abort(context, error)
        finally:
            connection.close()
            stream.leave()


def _check_primary(device: Device, request: Any) -> None:
    if not device.arbitration.may_write(request):
        raise StatusError(PERMISSION_DENIED, f"You are not primary for device {device.device_id}")


class _Stream:
    """The requests of one StreamChannel."""

    def __init__(self, devices: Devices, connection: Connection) -> None:
        self._devices = devices
        self._connection = connection
        self._device: Device | None = None
        # The writer may end while the reader arbitrates: a closed stream must not become primary.
        self._lock = threading.Lock()
        self._ended = False

    def read(self, requests: Iterator[Any]) -> None:
        try:
            for request in requests:
                self._handle(request)
        except StatusError as error:
            self._connection.close(error)
        except grpc.RpcError:
            # The client has disconnected.
            self._connection.close()
        except Exception:
            logger.exception("A stream ended by an error of the server")
            self._connection.close(StatusError(UNKNOWN, "Internal error of the server"))
        else:
            self._connection.close()

    def leave(self) -> None:
        """Remove the closed stream. Idempotent."""
        with self._lock:
            self._ended = True
            if self._device is not None:
                self._device.arbitration.remove(self._connection)

    def _handle(self, request: Any) -> None:
        kind = request.WhichOneof("update")
        if kind == "arbitration":
            with self._lock:
                if not self._ended:
                    self._arbitrate(request.arbitration)
            return
        # Before arbitration, and from backups, all other messages are ignored (specification, section 16.1).
        if self._device is None or not self._device.arbitration.is_primary(self._connection):
            return
        if kind == "packet":
            self._device.packet_out(request.packet)
        elif kind == "digest_ack":
            self._device.digest_ack(request.digest_ack)

    def _arbitrate(self, message: Any) -> None:
        new_id = election_id(message.election_id)
        if self._device is None:
            device = self._devices.get(message.device_id)
            device.arbitration.add(self._connection, new_id)
            self._device = device
        elif self._device.device_id != message.device_id:
            raise StatusError(FAILED_PRECONDITION, "The device id of a stream cannot change")
        else:
            self._device.arbitration.update(self._connection, new_id)
