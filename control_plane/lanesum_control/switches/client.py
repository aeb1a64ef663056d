# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Connection to one switch: what a controller writes to it and reads from it, over P4Runtime.

Messages are encoded and decoded in the caller's thread, so that a large table delays no other switch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from lanesum._internal.closing import Closing
from lanesum.rpc.tls import import_grpc
from lanesum_control.errors import SwitchUnreachableError
from lanesum_control.switches.session import GONE, P4RuntimeSession, SwitchSession, new_election_id
from lanesum_control.threads import run
from lanesum_fabric.errors import PipelineError, SwitchWriteError
from lanesum_fabric.program.p4info import P4InfoNames
from lanesum_fabric.program.pipelines import CompiledPipeline
from lanesum_fabric.protobufs import p4runtime_pb2, status_pb2

grpc = import_grpc()
DEFAULT_CONNECT_TIMEOUT_S = 10.0
# The errors of all updates of a request travel in gRPC metadata, which has a limit.
_UPDATES_PER_REQUEST = 64
# A switch that stops answering while its socket is open must not block the controller.
RPC_TIMEOUT_S = 15.0
PUSH_TIMEOUT_S = 120.0
_GET_PROGRAM = "GetForwardingPipelineConfig"
_NOT_PRIMARY = grpc.StatusCode.PERMISSION_DENIED
_NO_PROGRAM = grpc.StatusCode.FAILED_PRECONDITION
TOO_MANY_CALLS = grpc.StatusCode.RESOURCE_EXHAUSTED


class SwitchConnection(Closing):
    """Primary P4Runtime client of one switch. Use as a context manager, or call ``close``.

    Args:
        address: address of the switch's gRPC server, as ``lanesum.rpc.tls.channel`` has it.
        device_id: device id of the switch; by default the usual one.
        election_id: (high, low); the highest one is primary. By default a new one, see ``new_election_id``.
        timeout_s: time to wait for the server.

    Raises SwitchUnreachableError, NotPrimaryError.

    ``SESSION`` is the class of its session.
    """

    SESSION: ClassVar[type[SwitchSession]] = P4RuntimeSession

    def __init__(
        self,
        address: str,
        *,
        device_id: int | None = None,
        election_id: tuple[int, int] | None = None,
        timeout_s: float = DEFAULT_CONNECT_TIMEOUT_S,
    ) -> None:
        device = self.SESSION.DEVICE_ID if device_id is None else device_id
        elected = new_election_id() if election_id is None else election_id
        self._use(run(self.SESSION.open(address, device, elected, timeout_s=timeout_s)))

    @classmethod
    def of(cls, session: SwitchSession) -> Self:
        """Return the connection of an open session. Raises NotPrimaryError and closes it if it is a backup."""
        connection = cls.__new__(cls)
        connection._use(session)
        return connection

    def _use(self, session: SwitchSession) -> None:
        self.address = session.address
        self.names: P4InfoNames | None = None
        self._session = session
        self._confirmed: tuple[bytes, bytes] | None = None  # request and answer that show the program
        if not session.resume():
            self.close()
            raise session.not_primary()

    def push_pipeline(self, pipeline: CompiledPipeline) -> P4InfoNames:
        """Load a program and return its names. This clears the switch's state.

        Raises PipelineError with the switch's reason.
        """
        self._clear_replication()
        request = p4runtime_pb2.SetForwardingPipelineConfigRequest(
            device_id=self._session.device_id,
            action=p4runtime_pb2.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
        )
        request.election_id.high, request.election_id.low = self._session.election_id
        text_format.Parse(pipeline.p4info, request.config.p4info, allow_unknown_field=True)
        request.config.p4_device_config = pipeline.program
        request.config.cookie.cookie = pipeline.cookie
        try:
            self._call("SetForwardingPipelineConfig", request, PUSH_TIMEOUT_S)
        except grpc.RpcError as error:
            if error.code() in GONE:
                raise self._gone(error) from error
            raise self._refused(pipeline, error) from error
        return self.use_names(pipeline)

    def begin_push(self, pipeline: CompiledPipeline) -> P4InfoNames:
        """Load a program, like ``push_pipeline``; where the switch can, its earlier program runs until ``end_push``."""
        return self.push_pipeline(pipeline)

    def end_push(self) -> None:
        """Run the program of ``begin_push`` with the entries that were written since. Idempotent."""

    def _refused(self, pipeline: CompiledPipeline, error: Any) -> PipelineError:
        return PipelineError(
            f"The switch at {self.address} refused {pipeline.json_path.name}: {error.details().rstrip('.')}.",
            f"It has to be a switch for {pipeline.target} programs; program and P4Info have to be of one build "
            f"({pipeline.make}).",
        )

    def use_names(self, pipeline: CompiledPipeline) -> P4InfoNames:
        """Use the names of ``pipeline``, which the switch runs already."""
        self.names = pipeline.names
        return self.names

    def runs(self, pipeline: CompiledPipeline) -> bool:
        """Return True if the switch runs ``pipeline``. Raises SwitchUnreachableError."""
        try:
            answer = run(self._session.call(_GET_PROGRAM, self._cookie_request(), RPC_TIMEOUT_S))
        except grpc.RpcError as error:
            if error.code() in (*GONE, TOO_MANY_CALLS):
                raise self._gone(error) from error
            return False  # it runs no program yet
        config = self._parsed(p4runtime_pb2.GetForwardingPipelineConfigResponse, answer).config
        does = bool(config.HasField("cookie") and config.cookie.cookie == pipeline.cookie)
        self._confirmed = (self._cookie_request(), answer) if does else None
        return does

    async def unchanged(self) -> bool:
        """Return True if the switch answers as when ``runs`` was true, and this is the primary. In the event loop."""
        if self._confirmed is None or not self._session.was_primary:
            return False
        request, answer = self._confirmed
        try:
            return await self._session.call(_GET_PROGRAM, request, RPC_TIMEOUT_S) == answer
        except (grpc.RpcError, SwitchUnreachableError):
            return False

    def _cookie_request(self) -> bytes:
        kind = p4runtime_pb2.GetForwardingPipelineConfigRequest
        request: bytes = kind(device_id=self._session.device_id, response_type=kind.COOKIE_ONLY).SerializeToString()
        return request

    def news(self) -> list[str]:
        """Return the changes that the switch has reported since the last call, in words; P4Runtime has none."""
        return []

    def check_primary(self) -> None:
        """Check that the session is open, and that no other client has been primary since its start.

        Raises SwitchUnreachableError, NotPrimaryError.
        """
        if not self._session.is_open:
            raise SwitchUnreachableError(f"The session with the switch at {self.address} has ended.")
        if not self._session.was_primary:
            raise self._session.not_primary()

    def _call(self, method: str, request: Any, timeout_s: float = RPC_TIMEOUT_S) -> bytes:
        return run(self._session.call(method, request.SerializeToString(), timeout_s))

    def _parsed(self, kind: Any, answer: bytes) -> Any:
        """Return an answer as a message of a kind. Raises SwitchUnreachableError."""
        try:
            return kind.FromString(answer)
        except DecodeError as error:
            raise SwitchUnreachableError(
                f"The switch at {self.address} answered with no {kind.DESCRIPTOR.name}: {str(error).rstrip('.')}."
            ) from error

    def _gone(self, error: Any) -> SwitchUnreachableError:
        return SwitchUnreachableError(
            f"The switch at {self.address} does not answer: {error.code().name} {error.details()}."
        )

    def _clear_replication(self) -> None:
        """Delete replicas that BMv2 keeps across a push, invisibly, and adds to the next group of the same number."""
        everything = p4runtime_pb2.Entity()
        everything.packet_replication_engine_entry.multicast_group_entry.SetInParent()
        try:
            groups = self.read([everything])
        except SwitchUnreachableError:
            return  # a switch without a program has nothing to read
        for group in groups:
            self.write([(p4runtime_pb2.Update.DELETE, key_of(group))])

    def write(self, updates: Iterable[tuple[int, p4runtime_pb2.Entity]]) -> None:
        """Apply updates; ``updates`` are (``Update.INSERT`` ..., entity).

        Raises:
            SwitchWriteError: updates were refused; it names each of them. The others were applied.
            SwitchUnreachableError: the switch is gone, or lost its program.
            NotPrimaryError: another controller is primary.
        """
        pending = list(updates)
        problems: list[str] = []
        for start in range(0, len(pending), _UPDATES_PER_REQUEST):
            problems += self._write_some(pending[start : start + _UPDATES_PER_REQUEST])
        if problems:
            raise SwitchWriteError(f"The switch at {self.address} refused: {'; '.join(problems)}.")

    def _write_some(self, pending: list[tuple[int, p4runtime_pb2.Entity]]) -> list[str]:
        request = p4runtime_pb2.WriteRequest(device_id=self._session.device_id)
        request.election_id.high, request.election_id.low = self._session.election_id
        updates = request.updates
        for kind, entity in pending:
            updates.add(type=kind).entity.CopyFrom(entity)
        try:
            self._call("Write", request)
            return []
        except grpc.RpcError as error:
            details = update_errors(error)
            if details is None and error.code() in (*GONE, _NO_PROGRAM):
                raise self._gone(error) from error
            if details is None and error.code() == _NOT_PRIMARY:
                raise self._session.not_primary() from error
            if details is None:
                return [f"the request: {error.code().name} {error.details()}"]
            return self._problems(zip(updates, details, strict=True))

    def _problems(self, outcomes: Iterable[tuple[p4runtime_pb2.Update, Any]]) -> list[str]:
        """Return the refusals among updates and their errors, in words."""
        return [
            f"{self._describe(update)}: {_code_name(detail.canonical_code)} {detail.message}".strip()
            for update, detail in outcomes
            if detail.canonical_code != grpc.StatusCode.OK.value[0]
        ]

    def read(self, entities: Iterable[p4runtime_pb2.Entity]) -> list[p4runtime_pb2.Entity]:
        """Return all matching entities. Raises SwitchUnreachableError if the switch is gone or refuses to read."""
        return [entity for answer in self.read_answers(entities) for entity in self.decode(answer)]

    def decode(self, answer: bytes) -> Iterable[p4runtime_pb2.Entity]:
        """Return the entities of an answer to a read. Raises SwitchUnreachableError."""
        entities: Iterable[p4runtime_pb2.Entity] = self._parsed(p4runtime_pb2.ReadResponse, answer).entities
        return entities

    def read_answers(self, entities: Iterable[p4runtime_pb2.Entity]) -> list[bytes]:
        """Return the answers of ``read``, for ``decode``. Raises SwitchUnreachableError."""
        return self._answers_of(p4runtime_pb2.ReadRequest(device_id=self._session.device_id, entities=entities))

    def _answers_of(self, request: Any) -> list[bytes]:
        try:
            return run(self._session.call_for_all("Read", request.SerializeToString(), RPC_TIMEOUT_S))
        except grpc.RpcError as error:
            raise SwitchUnreachableError(
                f"Reading from the switch at {self.address} failed: {error.code().name} {error.details()}."
            ) from error

    def _describe(self, update: p4runtime_pb2.Update) -> str:
        kind = p4runtime_pb2.Update.Type.Name(update.type)
        entity = update.entity.WhichOneof("entity")
        if entity == "table_entry" and self.names is not None:
            read = self.names.read(update.entity.table_entry)
            match = {name: "(secret)" if name == "tag" else value for name, value in read.match.items()}
            return f"{kind} {read.table} {match}"
        return f"{kind} {entity}"

    def close(self) -> None:
        """End the session; idempotent."""
        run(self._session.close())


def key_of(entity: p4runtime_pb2.Entity) -> p4runtime_pb2.Entity:
    """Return the key of a table entry or multicast group: some switches compare the other fields of a deletion."""
    key = p4runtime_pb2.Entity()
    if entity.WhichOneof("entity") == "table_entry":
        key.table_entry.table_id = entity.table_entry.table_id
        key.table_entry.match.extend(entity.table_entry.match)
    else:
        group = key.packet_replication_engine_entry.multicast_group_entry
        group.multicast_group_id = entity.packet_replication_engine_entry.multicast_group_entry.multicast_group_id
    return key


def update_errors(error: Any, kind: Any = p4runtime_pb2.Error) -> list[Any] | None:
    """Return one ``kind`` per update of a failed Write (P4Runtime specification, 12.3); None without details."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            return [kind.FromString(detail.value) for detail in status_pb2.Status.FromString(value).details] or None
    return None


def _code_name(code: int) -> str:
    return next((status.name for status in grpc.StatusCode if status.value[0] == code), str(code))
