# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One P4Runtime connection: the only module that knows p4runtime-shell.

p4runtime-shell's plain client is used without its shell, whose state is global to the process. Around it: waiting for
the server, typed errors where the client ends the process, and a receiving thread that cannot keep a process alive.
"""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import queue
import socket
import threading
import time
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import grpc
from google.protobuf import text_format
from google.rpc import code_pb2, status_pb2
from p4.v1 import p4runtime_pb2
from p4runtime_sh import p4runtime as shell

from lanesum._internal.closing import Closing
from lanesum_control.errors import NotPrimaryError, PipelineError, SwitchUnreachableError, SwitchWriteError
from lanesum_control.p4info import P4InfoNames
from lanesum_control.pipelines import CompiledPipeline

DEFAULT_DEVICE_ID = 1
DEFAULT_ELECTION_ID = (0, 1)
DEFAULT_CONNECT_TIMEOUT_S = 10.0
_RETRY_S = 0.05
# The errors of all updates of a request travel in gRPC metadata, which has a limit.
_UPDATES_PER_REQUEST = 64
# A switch that answers no more, though its socket is open, must not hold the controller.
_RPC_TIMEOUT_S = 15.0
_PUSH_TIMEOUT_S = 120.0
_GONE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
_NOT_PRIMARY = grpc.StatusCode.PERMISSION_DENIED
_NO_PROGRAM = grpc.StatusCode.FAILED_PRECONDITION

# The client starts its receiving thread in its constructor and never as a daemon: an error later on would leave the
# process waiting for the server to go away.
shell.threading = SimpleNamespace(Thread=functools.partial(threading.Thread, daemon=True))
# It logs through the root logger what we raise as an error.
shell.logging = logging.getLogger("lanesum_control.p4runtime_sh")
shell.logging.setLevel(logging.CRITICAL + 1)


def wait_until_listening(address: str, timeout_s: float) -> None:
    """Return once something accepts connections at ``host:port`` or ``unix:path``.

    Raises SwitchUnreachableError after ``timeout_s``.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            _try_connect(address)
            return
        except OSError as error:
            if time.monotonic() >= deadline:
                raise SwitchUnreachableError(
                    f"No P4Runtime server answers at {address} ({error.strerror or error}).",
                    "Start the switch (lanesum switch, or simple_switch_grpc), or correct the address.",
                ) from error
        time.sleep(_RETRY_S)


def _try_connect(address: str) -> None:
    if address.startswith("unix:"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.connect(address.removeprefix("unix:"))
        return
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        raise SwitchUnreachableError(f"{address!r} is no P4Runtime address.", "Give host:port or unix:path.")
    with socket.create_connection((host, int(port)), timeout=1.0):
        pass


class SwitchConnection(Closing):
    """A primary P4Runtime client of one switch. Use as a context manager, or call ``close``.

    Args:
        address: ``host:port`` or ``unix:path`` of the switch's gRPC server.
        device_id: the switch's P4Runtime device id.
        election_id: (high, low); the highest one is primary.
        timeout_s: how long to wait for the server.

    Raises SwitchUnreachableError, NotPrimaryError.
    """

    def __init__(
        self,
        address: str,
        *,
        device_id: int = DEFAULT_DEVICE_ID,
        election_id: tuple[int, int] = DEFAULT_ELECTION_ID,
        timeout_s: float = DEFAULT_CONNECT_TIMEOUT_S,
    ) -> None:
        self.address = address
        self.names: P4InfoNames | None = None
        wait_until_listening(address, timeout_s)
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                self._client: Any = shell.P4RuntimeClient(device_id, address, election_id)
        except SystemExit as error:
            raise SwitchUnreachableError(
                f"The server at {address} accepted no P4Runtime session for device {device_id} as {election_id}.",
                "Check the device id, and that no other controller uses the same election id.",
            ) from error
        if "not the primary" in said.getvalue():
            self.close()
            raise NotPrimaryError(
                f"Another controller is primary on the switch at {address}.",
                "Stop it, or give this one a higher election id.",
            )

    def push_pipeline(self, pipeline: CompiledPipeline) -> P4InfoNames:
        """Load a program and return its names; wipes the switch's state.

        Raises PipelineError with the switch's reason.
        """
        self._clear_replication()
        client = self._client
        request = p4runtime_pb2.SetForwardingPipelineConfigRequest(
            device_id=client.device_id,
            action=p4runtime_pb2.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
        )
        request.election_id.high, request.election_id.low = client.election_id
        text_format.Parse(pipeline.p4info, request.config.p4info, allow_unknown_field=True)
        request.config.p4_device_config = pipeline.program
        request.config.cookie.cookie = pipeline.cookie()
        try:
            client.stub.SetForwardingPipelineConfig(request, timeout=_PUSH_TIMEOUT_S)
        except grpc.RpcError as error:
            if error.code() in _GONE:
                raise self._gone(error) from error
            raise PipelineError(
                f"The switch at {self.address} refused {pipeline.json_path.name}: {error.details().rstrip('.')}.",
                f"It has to be a switch for {pipeline.target} programs; program and P4Info have to be of one build "
                f"({pipeline.make}).",
            ) from error
        return self.use_names(pipeline)

    def use_names(self, pipeline: CompiledPipeline) -> P4InfoNames:
        """Speak of the names in ``pipeline``, which the switch runs already."""
        self.names = P4InfoNames.from_text(pipeline.p4info)
        return self.names

    def runs(self, cookie: int) -> bool:
        """Whether the switch runs the pipeline with this cookie. Raises SwitchUnreachableError."""
        request = p4runtime_pb2.GetForwardingPipelineConfigRequest(
            device_id=self._client.device_id,
            response_type=p4runtime_pb2.GetForwardingPipelineConfigRequest.COOKIE_ONLY,
        )
        try:
            config = self._client.stub.GetForwardingPipelineConfig(request, timeout=_RPC_TIMEOUT_S).config
        except grpc.RpcError as error:
            if error.code() in _GONE:
                raise self._gone(error) from error
            return False  # it runs no program yet
        return bool(config.HasField("cookie") and config.cookie.cookie == cookie)

    def is_primary(self) -> bool:
        """Whether the session is still there and nobody has taken the switch over."""
        arbitration = self._client.stream_in_q["arbitration"]
        with contextlib.suppress(queue.Empty):
            while True:
                news = arbitration.get_nowait()
                if news is None or news.arbitration.status.code != code_pb2.OK:
                    arbitration.put(news)  # for whoever asks again
                    return False
        return bool(self._client.stream_recv_thread.is_alive())

    def _gone(self, error: grpc.RpcError) -> SwitchUnreachableError:
        return SwitchUnreachableError(
            f"The switch at {self.address} does not answer: {error.code().name} {error.details()}."
        )

    def _clear_replication(self) -> None:
        """BMv2 keeps replicas across a push, unseen, and adds them to the next group of the same number."""
        everything = p4runtime_pb2.Entity()
        everything.packet_replication_engine_entry.multicast_group_entry.SetInParent()
        try:
            groups = self.read([everything])
        except SwitchUnreachableError:
            return  # a switch without a program has nothing to read
        for group in groups:
            # Only the key: some switches compare what else a deletion says.
            entity = p4runtime_pb2.Entity()
            entry = group.packet_replication_engine_entry.multicast_group_entry
            key = entity.packet_replication_engine_entry.multicast_group_entry
            key.multicast_group_id = entry.multicast_group_id
            self.write([(p4runtime_pb2.Update.DELETE, entity)])

    def load_names(self) -> P4InfoNames:
        """The names of the program that the switch runs now. Raises PipelineError where it runs none."""
        try:
            self.names = P4InfoNames(self._client.get_p4info())
        except shell.P4RuntimeException as error:
            raise PipelineError(
                f"The switch at {self.address} runs no program yet.", "Push the pipeline first."
            ) from error
        return self.names

    def write(self, updates: Iterable[tuple[int, p4runtime_pb2.Entity]]) -> None:
        """Apply updates; ``updates`` are (``Update.INSERT`` ..., entity).

        Raises SwitchWriteError naming every update that was refused; the others were applied. Raises
        SwitchUnreachableError when the switch went away or lost its program, NotPrimaryError when another controller
        has taken it.
        """
        pending = [p4runtime_pb2.Update(type=kind, entity=entity) for kind, entity in updates]
        problems: list[str] = []
        for start in range(0, len(pending), _UPDATES_PER_REQUEST):
            problems += self._write_some(pending[start : start + _UPDATES_PER_REQUEST])
        if problems:
            raise SwitchWriteError(f"The switch at {self.address} refused: {'; '.join(problems)}.")

    def _write_some(self, updates: list[p4runtime_pb2.Update]) -> list[str]:
        """Not through the client's own ``write``: its error class never ends on a request that failed in part."""
        client = self._client
        request = p4runtime_pb2.WriteRequest(device_id=client.device_id, updates=updates)
        request.election_id.high, request.election_id.low = client.election_id
        try:
            client.stub.Write(request, timeout=_RPC_TIMEOUT_S)
            return []
        except grpc.RpcError as error:
            details = _update_errors(error)
            if details is None and error.code() in (*_GONE, _NO_PROGRAM):
                raise self._gone(error) from error
            if details is None and error.code() == _NOT_PRIMARY:
                raise NotPrimaryError(
                    f"Another controller has taken the switch at {self.address}.", "Stop one of them."
                ) from error
            if details is None:
                return [f"the request: {error.code().name} {error.details()}"]
            return [
                f"{self._describe(update)}: {_code_name(detail.canonical_code)} {detail.message}".strip()
                for update, detail in zip(updates, details, strict=True)
                if detail.canonical_code != grpc.StatusCode.OK.value[0]
            ]

    def read(self, entities: Iterable[p4runtime_pb2.Entity]) -> list[p4runtime_pb2.Entity]:
        """Everything that matches. Raises SwitchUnreachableError when the switch went away or refused to read."""
        result = []
        try:
            for entity in entities:
                request = p4runtime_pb2.ReadRequest(device_id=self._client.device_id, entities=[entity])
                for response in self._client.stub.Read(request, timeout=_RPC_TIMEOUT_S):
                    result.extend(response.entities)
        except grpc.RpcError as error:
            raise SwitchUnreachableError(f"Reading from the switch at {self.address} failed: {error}.") from error
        return result

    def _describe(self, update: p4runtime_pb2.Update) -> str:
        kind = p4runtime_pb2.Update.Type.Name(update.type)
        entity = update.entity.WhichOneof("entity")
        if entity == "table_entry" and self.names is not None:
            read = self.names.read(update.entity.table_entry)
            return f"{kind} {read.table} {read.match}"
        return f"{kind} {entity}"

    def close(self) -> None:
        """End the session; idempotent."""
        client, self._client = getattr(self, "_client", None), None
        if client is not None:
            client.tear_down()


def _update_errors(error: grpc.RpcError) -> list[p4runtime_pb2.Error] | None:
    """One p4.v1.Error per update of a failed Write (P4Runtime specification, 12.3), or None where there is none."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            status = status_pb2.Status.FromString(value)
            errors = []
            for detail in status.details:
                errors.append(p4runtime_pb2.Error())
                detail.Unpack(errors[-1])
            return errors or None
    return None


def _code_name(code: int) -> str:
    return next((status.name for status in grpc.StatusCode if status.value[0] == code), str(code))
