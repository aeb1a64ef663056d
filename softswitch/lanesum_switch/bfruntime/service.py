# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The five RPCs of the ``bfrt_proto.BfRuntime`` service, their clients, and their gRPC server."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from lanesum.rpc.caller import Caller
from lanesum.rpc.calls import Call
from lanesum.rpc.grpc_server import Authenticate, CallHandler
from lanesum.rpc.limits import Limits
from lanesum_fabric.bfruntime import messages
from lanesum_switch.bfruntime.agent import Agent
from lanesum_switch.bfruntime.fixed_tables import port_key
from lanesum_switch.p4runtime.arbitration import Connection
from lanesum_switch.p4runtime.calls import MessageStream, parsed, refused, run_slowly, serve_stream, unary
from lanesum_switch.p4runtime.server import LIMITS, SwitchServer
from lanesum_switch.p4runtime.status import Code, StatusError, invalid, pack_write_errors
from lanesum_switch.tna.switch import TofinoSwitch


class Clients:
    """Subscribed clients by id, and the one that is bound to the program.

    Attributes:
        beginner: client whose warm restart has not ended; None if there is none, or that client has left.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: dict[int, Connection] = {}
        self._port_listeners: set[int] = set()
        self.beginner: int | None = None
        self._bound: int | None = None

    def subscribe(self, client_id: int, connection: Connection, *, ports: bool = False) -> None:
        """Add a client. Raises StatusError for an id in use. ``Limits`` of the server bounds the number of streams."""
        answer = messages.StreamMessageResponse()
        answer.subscribe.status.SetInParent()
        with self._lock:
            if client_id in self._connections:
                raise invalid(f"Client id {client_id} is in use")
            self._connections[client_id] = connection
            if ports:
                self._port_listeners.add(client_id)
            connection.send(answer, must_arrive=True)

    def leave(self, client_id: int) -> None:
        with self._lock:
            del self._connections[client_id]
            self._port_listeners.discard(client_id)
            if self._bound == client_id:
                self._bound = None
            if self.beginner == client_id:
                self.beginner = None

    def bind(self, client_id: int) -> None:
        """Bind a client to the program. Raises StatusError if another one is bound."""
        with self._lock:
            self._check_known(client_id)
            if self._bound is not None:
                raise StatusError(
                    Code.ALREADY_EXISTS, f"Client {self._bound} is bound to the program: end its stream first"
                )
            self._bound = client_id

    def check_caller(self, client_id: int, caller: Caller) -> None:
        """Check that a request with the id of a client is on the connection of its stream. Raises StatusError."""
        with self._lock:
            connection = self._connections.get(client_id)
            if connection is not None and connection.caller != caller:
                raise StatusError(Code.PERMISSION_DENIED, f"The stream of client {client_id} is on another connection")

    def check_may_begin(self, client_id: int) -> None:
        """Check that a client may begin a warm restart. Raises StatusError while another one is bound."""
        with self._lock:
            self._check_known(client_id)
            if self._bound not in (None, client_id):
                raise StatusError(
                    Code.ALREADY_EXISTS, f"Client {self._bound} is bound to the program: end its stream first"
                )

    def begin(self, client_id: int) -> None:
        """Note the client of the warm restart that has begun, unless it has left meanwhile."""
        with self._lock:
            self.beginner = client_id if client_id in self._connections else None

    def check_bound(self, client_id: int) -> None:
        """Check that a client may read and write. Raises StatusError."""
        with self._lock:
            self._check_known(client_id)
            if self._bound != client_id:
                raise StatusError(Code.NOT_FOUND, f"Client {client_id} is not bound to the program: send BIND first")

    def release(self) -> None:
        """End the session of the bound client, whose program is replaced by another one."""
        with self._lock:
            if self._bound is not None:
                self._connections[self._bound].close()
                self._bound = None

    def tell(self, message: Any) -> None:
        """Send a message to all clients."""
        with self._lock:
            for connection in self._connections.values():
                connection.send(message, must_arrive=True)

    def tell_of_port(self, message: Any) -> None:
        """Send a message about a port to the clients that asked for such; a full queue drops it."""
        with self._lock:
            for client_id in self._port_listeners:
                self._connections[client_id].send(message)

    def _check_known(self, client_id: int) -> None:
        if client_id not in self._connections:
            raise StatusError(Code.UNAVAILABLE, f"Client {client_id} has no subscription: open a stream first")


_Set = messages.SetForwardingPipelineConfigRequest
_Phase = messages.SetForwardingPipelineConfigResponse
_CONTINUE_ON_ERROR = 0
#: Refusals that an answer names; their texts travel in gRPC metadata, which has a limit.
_MAX_NAMED_ERRORS = 64


class BfRuntimeService:
    """Handlers of the RPCs of BF Runtime, for the agent of one device."""

    def __init__(self, agent: Agent, device_id: int) -> None:
        self._agent, self._device_id = agent, device_id
        self._clients = Clients()
        self.handlers: dict[str, CallHandler] = {
            f"/{messages.SERVICE}/Write": unary(messages.WriteRequest, self._write),
            f"/{messages.SERVICE}/Read": self._read,
            f"/{messages.SERVICE}/SetForwardingPipelineConfig": unary(_Set, self._set_config),
            f"/{messages.SERVICE}/GetForwardingPipelineConfig": unary(
                messages.GetForwardingPipelineConfigRequest, self._get_config
            ),
            f"/{messages.SERVICE}/StreamChannel": self._stream_channel,
        }

    def _write(self, request: Any, caller: Caller) -> Any:
        self._check_device(request.target.device_id)
        self._check_pipes(request.target.pipe_id)
        if request.atomicity != _CONTINUE_ON_ERROR:
            raise StatusError(Code.UNIMPLEMENTED, "Updates are applied one after the other: use CONTINUE_ON_ERROR")
        self._clients.check_caller(request.client_id, caller)
        self._clients.check_bound(request.client_id)
        errors: list[StatusError | None] = []
        with self._agent.lock:
            for update in request.updates:
                try:
                    self._agent.write(update)
                    errors.append(None)
                except StatusError as error:
                    errors.append(error)
        if any(errors):
            raise pack_write_errors(errors, messages.Error, max_named=_MAX_NAMED_ERRORS)
        return messages.WriteResponse()

    async def _read(self, call: Call) -> None:
        data = await call.receive()
        found, failure = await run_slowly(call, lambda: self._entries(parsed(messages.ReadRequest, data), call.caller))
        # One message with all entries, also in front of an error.
        await call.send(found)
        if failure is not None:
            raise refused(failure)

    def _entries(self, request: Any, caller: Caller) -> tuple[bytes, StatusError | None]:
        self._check_device(request.target.device_id)
        self._check_pipes(request.target.pipe_id)
        self._clients.check_caller(request.client_id, caller)
        self._clients.check_bound(request.client_id)
        response, failure = messages.ReadResponse(), None
        with self._agent.lock:
            try:
                self._agent.read(request.entities, response)
            except StatusError as error:
                failure = error
        return response.SerializeToString(), failure

    def _set_config(self, request: Any, caller: Caller) -> Any:
        self._check_device(request.device_id)
        self._clients.check_caller(request.client_id, caller)
        if len(request.config) != (request.action != _Set.WARM_INIT_END):
            raise invalid("A request has one configuration, and the end of a warm restart has none")
        with self._agent.lock:
            if request.action == _Set.BIND:
                self._bind(request.client_id, request.config[0].p4_name)
            elif request.action == _Set.VERIFY_AND_WARM_INIT_BEGIN_AND_END:
                self._push(request.config[0], self._agent.push)
                self._tell(_Phase.WARM_INIT_STARTED)
                self._tell(_Phase.WARM_INIT_FINISHED)
            elif request.action == _Set.VERIFY_AND_WARM_INIT_BEGIN:
                self._clients.check_may_begin(request.client_id)
                self._push(request.config[0], self._agent.begin)
                self._clients.begin(request.client_id)
                self._tell(_Phase.WARM_INIT_STARTED)
            elif request.action == _Set.WARM_INIT_END:
                if request.client_id != self._clients.beginner:
                    raise invalid(f"Client {request.client_id} has not begun a warm restart: begin one first")
                self._agent.end()
                self._tell(_Phase.WARM_INIT_FINISHED)
            else:
                raise StatusError(Code.UNIMPLEMENTED, "Programs are bound, or pushed in one or two steps")
        return messages.SetForwardingPipelineConfigResponse()

    def _bind(self, client_id: int, name: str) -> None:
        has_begun = client_id == self._clients.beginner
        if name != (self._agent.program_name if has_begun else self._agent.running_name):
            raise StatusError(Code.NOT_FOUND, f"The switch does not run program {name[:64]!r}")
        self._clients.bind(client_id)
        if not has_begun:  # the restart is of a client that has left, or was not bound
            self._agent.abandon()

    def _push(self, config: Any, load: Callable[[Any], None]) -> None:
        previous = self._agent.program_name
        load(config)
        if previous != config.p4_name:
            self._clients.release()

    def _tell(self, phase: int) -> None:
        notice = messages.StreamMessageResponse()
        notice.set_forwarding_pipeline_config_response.SetInParent()
        notice.set_forwarding_pipeline_config_response.set_forwarding_pipeline_config_response_type = phase
        self._clients.tell(notice)

    def set_link(self, port: int, *, is_up: bool) -> None:
        """Tell the clients that asked for it that the link of a port is up or down."""
        notice = messages.StreamMessageResponse()
        notice.port_status_change_notification.table_entry.CopyFrom(port_key(port))
        notice.port_status_change_notification.port_up = is_up
        self._clients.tell_of_port(notice)

    def _get_config(self, request: Any, _caller: Caller) -> Any:
        self._check_device(request.device_id)
        with self._agent.lock:
            return self._agent.configuration()

    async def _stream_channel(self, call: Call) -> None:
        await serve_stream(call, lambda connection: _Stream(self._clients, connection, self._check_device))

    def _check_device(self, device_id: int) -> None:
        if device_id != self._device_id:
            raise invalid(f"This switch is device {self._device_id}, not {device_id}: check the device id")

    @staticmethod
    def _check_pipes(pipe_id: int) -> None:
        if pipe_id != messages.ALL_PIPES:
            raise StatusError(Code.UNIMPLEMENTED, f"Tables are those of all pipes: give pipe {messages.ALL_PIPES:#x}")


class _Stream(MessageStream):
    """The requests of one StreamChannel."""

    REQUEST = messages.StreamMessageRequest

    def __init__(self, clients: Clients, connection: Connection, check_device: Any) -> None:
        super().__init__(connection)
        self._clients, self._check_device = clients, check_device
        self._client_id: int | None = None

    async def handle(self, call: Call, request: Any) -> None:
        if request.WhichOneof("update") != "subscribe":
            return
        self._check_device(request.subscribe.device_id)
        if self._client_id is not None:
            raise StatusError(
                Code.FAILED_PRECONDITION,
                f"The client of a stream is {self._client_id} and cannot change: open another stream",
            )
        asked = request.subscribe.notifications
        ports = asked.enable_port_status_change_notifications
        self._clients.subscribe(request.client_id, self.connection, ports=ports)
        self._client_id = request.client_id

    def leave(self) -> None:
        """Remove the closed stream. Idempotent."""
        if self._client_id is not None:
            self._clients.leave(self._client_id)
            self._client_id = None


DEFAULT_ADDRESS = "127.0.0.1:50052"


class BfRuntimeServer(SwitchServer):
    """Serves one switch over BF Runtime.

    Args:
        address: ``host:port`` (port 0 selects a free one) or ``unix:/path``.
        spare: returns another switch of the same kind, for a warm restart in two steps; without it that is
            UNIMPLEMENTED.
        credentials, authenticate, limits: see ``GrpcServer``.

    Raises ConfigurationError: at ``start``, if the server cannot listen at the address.
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
