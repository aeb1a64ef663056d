# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""BF Runtime session: subscription of a client, and its binding to the program.

The protocol has no election. Client ids differ, and one client at a time is bound to a program and may read and write
it; it is the primary here. A client without a program is not bound: any client may push one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from lanesum.rpc.tls import import_grpc
from lanesum_control.errors import NotPrimaryError, SwitchUnreachableError
from lanesum_control.switches.session import GONE, SwitchSession, priority_of
from lanesum_fabric.bfruntime import messages
from lanesum_fabric.protobufs import code_pb2

grpc = import_grpc()
#: Name of the program at the agent.
PROGRAM = "lanesum"
_BIND_S = 2.0
_REBIND_S = 0.25
_MAX_PORT_CHANGES = 1024  # older ones are dropped
_PORT_BYTES = 4


class BfRuntimeSession(SwitchSession):
    """Session of the client whose id is the priority of the election id.

    Attributes:
        is_bound: the client is bound to the program.
        port_changes: ports (port, is up) whose link has changed, the oldest first; one thread may remove them.
    """

    PROTOCOL = "BF Runtime"
    SERVICE = messages.SERVICE
    DEVICE_ID = 0
    _REQUEST = messages.StreamMessageRequest
    _RESPONSE = messages.StreamMessageResponse

    def __init__(self, address: str, device_id: int, election_id: tuple[int, int], changed: Any) -> None:
        self.client_id = priority_of(election_id)
        self.is_bound = False
        self.port_changes: deque[tuple[int, bool]] = deque(maxlen=_MAX_PORT_CHANGES)
        self._own_phases = 0  # notices that the push of this client still causes
        super().__init__(address, device_id, election_id, changed)

    def _first_message(self) -> Any:
        request = messages.StreamMessageRequest(client_id=self.client_id)
        request.subscribe.device_id = self.device_id
        request.subscribe.notifications.enable_port_status_change_notifications = True
        return request

    async def _arbitrate(self) -> None:
        await super()._arbitrate()
        if self.is_open:
            self._set_primary(await self.bind() and self.is_open)

    def _receive(self, message: Any) -> None:
        kind = message.WhichOneof("update")
        if kind == "subscribe":
            if message.subscribe.status.code == code_pb2.OK:
                self._news.set()  # ``_arbitrate`` continues with the binding
            else:
                self._is_refused = True
                self._fail(message.subscribe.status.message or "the subscription was refused")
        elif kind == "port_status_change_notification":
            news = message.port_status_change_notification
            for key in news.table_entry.key.fields[:1]:
                self.port_changes.append((int.from_bytes(key.exact.value[-_PORT_BYTES:], "big"), news.port_up))
            if not self._is_closed:
                self._changed()
        elif kind == "set_forwarding_pipeline_config_response":
            if self._own_phases:
                self._own_phases -= 1
            else:  # another client has pushed a program, and all entries are gone
                self._set_primary(False)
                self._set_primary(self.is_bound)

    def begin_push(self) -> None:
        """Expect the notices about a push of this client: its begin and its end."""
        self._own_phases = 2

    def end_push(self) -> None:
        """Expect no more notices, after a refused push."""
        self._own_phases = 0

    async def bind(self) -> bool:
        """Bind the client to the program; return False if another client is bound. Idempotent.

        Without the program at the agent, return True. Raises SwitchUnreachableError.
        """
        request = messages.SetForwardingPipelineConfigRequest(
            device_id=self.device_id,
            client_id=self.client_id,
            action=messages.SetForwardingPipelineConfigRequest.BIND,
        )
        request.config.add(p4_name=PROGRAM)
        if self.is_bound:
            return True
        try:
            await self.call("SetForwardingPipelineConfig", request.SerializeToString(), _BIND_S)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.ALREADY_EXISTS:
                return False
            if error.code() == grpc.StatusCode.NOT_FOUND:
                return True
            if error.code() in GONE:
                raise SwitchUnreachableError(
                    f"The switch at {self.address} does not answer: {error.code().name} {error.details()}."
                ) from error
            raise SwitchUnreachableError(
                f"The switch at {self.address} refused a session: {(error.details() or '').rstrip('.')}."
            ) from error
        self.is_bound = True
        return True

    async def promotion(self) -> bool:
        """Try to bind until it succeeds, or the stream ends: the agent does not tell of a client that leaves."""
        while self.is_open and not self.is_primary:
            await asyncio.sleep(_REBIND_S)
            if await self.bind():
                self._set_primary(self.is_open)
        return self.is_primary

    def not_primary(self) -> NotPrimaryError:
        """Return the error about a client that is not bound, or whose program was pushed again."""
        if self.is_bound:
            return NotPrimaryError(f"Another BF Runtime client has pushed a program to the switch at {self.address}.")
        return NotPrimaryError(
            f"Another BF Runtime client is bound to {PROGRAM} on the switch at {self.address}; this controller is "
            f"client {self.client_id}.",
            "Stop it: BF Runtime has no election.",
        )
