# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Connection to one switch over BF Runtime."""

from __future__ import annotations

import collections
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lanesum.errors import ConfigurationError
from lanesum.rpc.tls import import_grpc
from lanesum_control.errors import SwitchUnreachableError
from lanesum_control.switches.bfruntime.entries import ReplicationEngine, check_numbers, to_bfruntime, to_p4runtime
from lanesum_control.switches.bfruntime.session import PROGRAM, BfRuntimeSession
from lanesum_control.switches.client import (
    PUSH_TIMEOUT_S,
    RPC_TIMEOUT_S,
    TOO_MANY_CALLS,
    SwitchConnection,
    update_errors,
)
from lanesum_control.switches.session import GONE
from lanesum_control.threads import run
from lanesum_fabric.bfruntime import messages
from lanesum_fabric.bfruntime.description import REGISTER, BfRuntimeTable, Description, Field
from lanesum_fabric.bfruntime.ports import PortSettings, PortTable
from lanesum_fabric.errors import PipelineError, SwitchWriteError
from lanesum_fabric.program.p4info import P4InfoNames
from lanesum_fabric.program.pipelines import CompiledPipeline
from lanesum_fabric.protobufs import p4runtime_pb2
from lanesum_fabric.tofino.device_config import Compiled

grpc = import_grpc()
_Set = messages.SetForwardingPipelineConfigRequest
_SET, _GET = "SetForwardingPipelineConfig", "GetForwardingPipelineConfig"
_INDEX = "$REGISTER_INDEX"
_INSERT, _DELETE = p4runtime_pb2.Update.INSERT, p4runtime_pb2.Update.DELETE


class BfRuntimeConnection(SwitchConnection):
    """Client that is bound to the program of one switch.

    Entities are those of P4Runtime, as of every ``SwitchConnection``. Ports and registers are only here.
    """

    SESSION = BfRuntimeSession
    _session: BfRuntimeSession

    def _use(self, session: Any) -> None:
        self._program: Description | None = None
        self._engine: ReplicationEngine | None = None
        self._fixed: Description | None = None  # the agent's own tables
        self._is_known = False  # the last answer of ``runs``
        self._is_pushing = False  # ``end_push`` is due
        self._link_news = LinkNews()
        super()._use(session)

    def push_pipeline(self, pipeline: CompiledPipeline) -> P4InfoNames:
        """Load a program, bind to it, and return its names. This clears the switch's state.

        Raises PipelineError with the agent's reason, NotPrimaryError.
        """
        return self._push(pipeline, _Set.VERIFY_AND_WARM_INIT_BEGIN_AND_END)

    def begin_push(self, pipeline: CompiledPipeline) -> P4InfoNames:
        found = self._config()
        if found is None or not found.config:  # no program forwards packets meanwhile
            return self.push_pipeline(pipeline)
        return self._push(pipeline, _Set.VERIFY_AND_WARM_INIT_BEGIN)

    def end_push(self) -> None:
        if not self._is_pushing:
            return
        try:
            self._call(_SET, self._set_request(_Set.WARM_INIT_END), PUSH_TIMEOUT_S)
        except grpc.RpcError as error:
            if error.code() in GONE:
                raise self._gone(error) from error
            raise PipelineError(
                f"The switch at {self.address} did not end its restart: {(error.details() or '').rstrip('.')}.",
                "Look at the log of its agent, and restart it: the controller pushes the program again.",
            ) from error
        self._is_pushing = False

    def _set_request(self, action: int, *configs: Any) -> Any:
        session = self._session
        return _Set(device_id=session.device_id, client_id=session.client_id, action=action, config=configs)

    def _push(self, pipeline: CompiledPipeline, action: int) -> P4InfoNames:
        if not run(self._session.bind()):
            raise self._session.not_primary()
        self._is_known = False
        self._session.begin_push()
        try:
            self._call(_SET, self._set_request(action, forwarding_config(pipeline)), PUSH_TIMEOUT_S)
        except grpc.RpcError as error:
            self._session.end_push()
            if error.code() in GONE:
                raise self._gone(error) from error
            if error.code() == grpc.StatusCode.UNIMPLEMENTED and action == _Set.VERIFY_AND_WARM_INIT_BEGIN:
                return self.push_pipeline(pipeline)
            raise self._refused(pipeline, error) from error
        self._is_pushing = action == _Set.VERIFY_AND_WARM_INIT_BEGIN
        if not run(self._session.bind()):
            raise self._session.not_primary()
        self._config()
        return self.use_names(pipeline)

    def use_names(self, pipeline: CompiledPipeline) -> P4InfoNames:
        self._program = Description(forwarding_config(pipeline).bfruntime_info)
        check_numbers(pipeline.names, self._program)
        return super().use_names(pipeline)

    def runs(self, pipeline: CompiledPipeline) -> bool:
        """Return True if the switch runs ``pipeline`` and this client is bound. Raises SwitchUnreachableError."""
        found = self._config()
        self._is_known = (
            self._session.is_bound and found is not None and list(found.config) == [forwarding_config(pipeline)]
        )
        return self._is_known

    def _config(self) -> Any:
        """Return what the agent runs; None if it runs no program. Raises SwitchUnreachableError."""
        request = messages.GetForwardingPipelineConfigRequest(
            device_id=self._session.device_id, client_id=self._session.client_id
        )
        try:
            answer = self._call(_GET, request)
        except grpc.RpcError as error:
            if error.code() in (*GONE, TOO_MANY_CALLS):
                raise self._gone(error) from error
            return None
        found = self._parsed(messages.GetForwardingPipelineConfigResponse, answer)
        if self._fixed is None:
            fixed = Description(found.non_p4_config.bfruntime_info)
            self._fixed, self._engine = fixed, ReplicationEngine(fixed)
        return found

    async def unchanged(self) -> bool:
        """Return True if ``runs`` was true, no client has pushed since, and answers come. In the event loop."""
        if not self._is_known or not self._session.was_primary:
            return False
        try:
            await self._session.call_for_all("Read", self._read_request([]).SerializeToString(), RPC_TIMEOUT_S)
        except (grpc.RpcError, SwitchUnreachableError):
            return False
        return True

    def _write_some(self, pending: list[tuple[int, p4runtime_pb2.Entity]]) -> list[str]:
        request = messages.WriteRequest(client_id=self._session.client_id, target=self._target)
        origins: list[tuple[int, p4runtime_pb2.Entity]] = []
        replication: list[Any] = []
        if any(kind != _INSERT and entity.WhichOneof("entity") != "table_entry" for kind, entity in pending):
            replication = self._read_tables(self._engine_here.tables)
        for kind, entity in pending:
            for translated in self._translated(kind, entity, replication):
                request.updates.append(translated)
                origins.append((kind, entity))
        try:
            self._call("Write", request)
            return []
        except grpc.RpcError as error:
            details = update_errors(error, messages.Error)
            if details is None and error.code() in (*GONE, grpc.StatusCode.NOT_FOUND):  # not bound any more
                raise self._gone(error) from error
            if details is None:
                return [f"the request: {error.code().name} {error.details()}"]
            # The agent leaves out the successes after the last error.
            updates = (p4runtime_pb2.Update(type=kind, entity=entity) for kind, entity in origins)
            return self._problems(zip(updates, details, strict=False))

    def _translated(self, kind: int, entity: p4runtime_pb2.Entity, replication: list[Any]) -> Iterator[Any]:
        """Yield the updates of BF Runtime for one of P4Runtime; ``replication``: groups and nodes at the switch."""
        if entity.WhichOneof("entity") == "table_entry":
            translated = messages.Update(type=getattr(messages.Update, p4runtime_pb2.Update.Type.Name(kind)))
            translated.entity.table_entry.CopyFrom(to_bfruntime(self._known_program, entity.table_entry))
            yield translated
            return
        group = entity.packet_replication_engine_entry.multicast_group_entry
        if kind != _INSERT:
            yield from self._engine_here.deletion(group.multicast_group_id, replication)
        if kind != _DELETE:
            yield from self._engine_here.insertion(group)

    def read_answers(self, entities: Iterable[p4runtime_pb2.Entity]) -> list[bytes]:
        """Return the answer of ``read``, for ``decode``. Raises SwitchUnreachableError."""
        wanted = []
        for entity in entities:
            if entity.WhichOneof("entity") == "table_entry":
                wanted.append(to_bfruntime(self._known_program, entity.table_entry))
            else:
                wanted += [messages.TableEntry(table_id=table) for table in self._engine_here.tables]
        return [self._read(wanted)]

    def decode(self, answer: bytes) -> Iterable[p4runtime_pb2.Entity]:
        """Return the entities of an answer to a read. Raises PipelineError."""
        entries = [entity.table_entry for entity in self._parsed(messages.ReadResponse, answer).entities]
        own = self._engine_here.tables
        for entry in entries:
            if entry.table_id not in own and not entry.is_default_entry:
                yield p4runtime_pb2.Entity(table_entry=to_p4runtime(self._known_program, entry))
        yield from self._engine_here.groups(entries)

    def _read_tables(self, tables: Iterable[int]) -> list[Any]:
        answer = self._read([messages.TableEntry(table_id=table) for table in tables])
        return [entity.table_entry for entity in self._parsed(messages.ReadResponse, answer).entities]

    def _read_request(self, entries: Iterable[Any]) -> Any:
        request = messages.ReadRequest(client_id=self._session.client_id, target=self._target)
        for entry in entries:
            request.entities.add().table_entry.CopyFrom(entry)
        return request

    def _read(self, entries: Iterable[Any]) -> bytes:
        """Return the answers to a read as one message. Raises SwitchUnreachableError."""
        return b"".join(self._answers_of(self._read_request(entries)))

    def set_ports(self, ports: Iterable[int], settings: PortSettings) -> int:
        """Configure and enable ports; return how many were not so. Raises SwitchWriteError, SwitchUnreachableError."""
        assert self._fixed is not None, "push_pipeline or runs comes first"
        table = PortTable(self._fixed)
        request = messages.WriteRequest(client_id=self._session.client_id, target=self._target)
        request.updates.extend(table.updates(settings, ports, self._read_tables([table.id])))
        added = [update for update in request.updates if update.type == messages.Update.INSERT]
        if added:
            chosen = f"port settings {settings.speed}:{settings.correction}"
            self._write_here(request, chosen, "Give the ports settings that the chassis has: --ports.")
        return len(added)

    def news(self) -> list[str]:
        """Return the ports whose link has changed since the last call, each with its last state; see ``LinkNews``."""
        changes = self._session.port_changes
        return self._link_news.take([changes.popleft() for _ in range(len(changes))])

    def read_register(self, name: str, index: int) -> dict[str, list[int]]:
        """Return a cell by field (as ``lo`` and ``hi``), with a value for each pipe of the program.

        Raises PipelineError for an unknown register, SwitchUnreachableError.
        """
        table = self._register(name)
        entry = table.entry(table.key(_INDEX), index)
        entry.table_flags.from_hw = True
        values: dict[str, list[int]] = {}
        for entity in self._parsed(messages.ReadResponse, self._read([entry])).entities:
            for datum in entity.table_entry.data.fields:
                field = _field_name(table.data[datum.field_id])
                values.setdefault(field, []).append(int.from_bytes(datum.stream, "big"))
        return values

    def write_register(self, name: str, index: int, values: Mapping[str, int]) -> None:
        """Write all fields of a cell, in all pipes of the program.

        Raises PipelineError for an unknown register or other fields, SwitchWriteError, SwitchUnreachableError.
        """
        table = self._register(name)
        fields = {_field_name(field): field for field in table.data.values()}
        if fields.keys() != values.keys():
            raise PipelineError(f"Register {name} has the fields {', '.join(fields)}, not {', '.join(values)}.")
        entry = table.entry(table.key(_INDEX), index)
        for field, value in values.items():
            entry.data.fields.add(field_id=fields[field].id, stream=fields[field].encode(value))
        request = messages.WriteRequest(client_id=self._session.client_id, target=self._target)
        request.updates.add(type=messages.Update.MODIFY).entity.table_entry.CopyFrom(entry)
        self._write_here(request, f"cell {index} of register {name}")

    def _write_here(self, request: Any, what: str, hint: str = "") -> None:
        """Write entries that are not P4Runtime's. Raises SwitchWriteError, SwitchUnreachableError."""
        try:
            self._call("Write", request)
        except grpc.RpcError as error:
            if error.code() in GONE:
                raise self._gone(error) from error
            details = update_errors(error, messages.Error) or []
            why = next((one.message for one in details if one.canonical_code), error.details())
            raise SwitchWriteError(f"The switch at {self.address} refused {what}: {why}.", hint) from error

    def _register(self, name: str) -> BfRuntimeTable:
        table = self._known_program.by_name.get(name)
        if table is None or table.kind != REGISTER:
            raise PipelineError(f"The switch's program has no register {name}.", "Push the pipeline again.")
        return table

    @property
    def _target(self) -> Any:
        """Return the whole device: all pipes, ingress and egress."""
        return messages.TargetDevice(
            device_id=self._session.device_id,
            pipe_id=messages.ALL_PIPES,
            direction=messages.ALL,
            prsr_id=messages.ALL,
        )

    @property
    def _known_program(self) -> Description:
        assert self._program is not None, "push_pipeline or use_names comes first"
        return self._program

    @property
    def _engine_here(self) -> ReplicationEngine:
        if self._engine is None:
            self._config()
        if self._engine is None:
            raise SwitchUnreachableError(f"The switch at {self.address} runs no program.")
        return self._engine


def _field_name(field: Field) -> str:
    return field.name.rpartition(".")[2]


def forwarding_config(pipeline: CompiledPipeline) -> Any:
    """Return the program of ``pipeline`` as an agent receives it. Raises ConfigurationError, PipelineError."""
    if pipeline.chip is None:
        raise ConfigurationError(
            f"{pipeline.json_path.name} is no program for Tofino, and BF Runtime programs no other switch.",
            "Give a profile with --tofino.",
        )
    if pipeline.contents is None:
        compiled = Compiled(PROGRAM, b"", b"{}", pipeline.program, pipeline.pipes)
    else:
        compiled = Compiled.unpack(pipeline.contents)
    config = messages.ForwardingPipelineConfig(p4_name=PROGRAM, bfruntime_info=compiled.bfrt or pipeline.description)
    config.profiles.add(
        profile_name=compiled.pipeline,
        context=compiled.context,
        binary=compiled.binary,
        pipe_scope=sorted(compiled.pipes or pipeline.pipes),
    )
    return config


_MAX_NEWS, _PER_S = 10, 60.0


class LinkNews:
    """States of ports whose links have changed, for the events of a controller.

    A port has at most 10 messages in a minute. The changes of a link that flaps more often become one message, which
    comes late and has their number.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[int, collections.deque[float]] = {}  # times of the last messages, by port
        self._waiting: dict[int, tuple[bool, int]] = {}  # last state, and number of changes

    def take(self, changes: Iterable[tuple[int, bool]]) -> list[str]:
        """Return the messages that are due after further ``changes`` (port, is up, the oldest first), by port."""
        for port, is_up in changes:
            _, count = self._waiting.get(port, (is_up, 0))
            self._waiting[port] = is_up, count + 1
        now, words = self._clock(), []
        for port in sorted(self._waiting):
            told = self._told.setdefault(port, collections.deque([-math.inf] * _MAX_NEWS, _MAX_NEWS))
            if now - told[0] >= _PER_S:
                told.append(now)
                is_up, count = self._waiting.pop(port)
                often = f", after {count} changes" if count > 1 else ""
                words.append(f"port {port} is {'up' if is_up else 'down'}{often}")
        return words
