# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Plain P4Runtime client that reports outcomes instead of raising."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import text_format

from lanesum_fabric.protobufs import code_pb2, p4info_pb2, status_pb2
from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_fabric.protobufs.p4.v1 import p4runtime_pb2_grpc

PROGRAMS = Path(__file__).parent / "programs"

INSERT, MODIFY, DELETE = p4rt.Update.INSERT, p4rt.Update.MODIFY, p4rt.Update.DELETE


@dataclass(frozen=True)
class Outcome:
    """Result of an RPC: the name of its code and, for a Write, those of its updates."""

    code: str
    updates: tuple[str, ...] = ()


OK = Outcome("OK")


def packed_status(error: Any) -> Any:
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            return status_pb2.Status.FromString(value)
    return None


def outcome(error: grpc.RpcError) -> Outcome:
    status = packed_status(error)
    names = []
    if status is not None:
        for detail in status.details:
            packed = p4rt.Error()
            assert detail.Unpack(packed)
            names.append(code_pb2.Code.Name(packed.canonical_code))
            if packed.canonical_code:
                assert packed.space == "ALL-sswitch-p4org"
    return Outcome(error.code().name, tuple(names))


class Program:
    """A compiled test program."""

    def __init__(self, name: str) -> None:
        self.p4info = p4info_pb2.P4Info()
        text_format.Merge((PROGRAMS / f"{name}.p4info.txtpb").read_text(), self.p4info)
        self.json = (PROGRAMS / f"{name}.json").read_bytes()
        self.ids: dict[str, int] = {}
        for field in ("tables", "actions", "action_profiles", "counters", "meters", "registers", "digests"):
            for item in getattr(self.p4info, field):
                self.ids[item.preamble.alias] = item.preamble.id
        for field in ("direct_counters", "direct_meters"):
            for item in getattr(self.p4info, field):
                self.ids[item.preamble.alias] = item.preamble.id

    def config(self, cookie: int | None = None) -> Any:
        config = p4rt.ForwardingPipelineConfig(p4info=self.p4info, p4_device_config=self.json)
        if cookie is not None:
            config.cookie.cookie = cookie
        return config

    def action(self, name: str, *values: bytes) -> Any:
        params = [p4rt.Action.Param(param_id=i + 1, value=v) for i, v in enumerate(values)]
        return p4rt.Action(action_id=self.ids[name], params=params)

    def entry(self, table: str, match: Iterable[Any] = (), action: Any = None, **fields: Any) -> Any:
        """Return an entity; ``action`` is an Action, a TableAction or None."""
        entity = p4rt.Entity()
        entry = entity.table_entry
        entry.table_id = self.ids[table]
        entry.match.extend(match)
        if isinstance(action, p4rt.Action):
            entry.action.action.CopyFrom(action)
        elif action is not None:
            entry.action.CopyFrom(action)
        for name, value in fields.items():
            if hasattr(value, "DESCRIPTOR"):
                getattr(entry, name).CopyFrom(value)
            else:
                setattr(entry, name, value)
        return entity


def exact(field_id: int, value: bytes) -> Any:
    return p4rt.FieldMatch(field_id=field_id, exact=p4rt.FieldMatch.Exact(value=value))


def lpm(field_id: int, value: bytes, length: int) -> Any:
    return p4rt.FieldMatch(field_id=field_id, lpm=p4rt.FieldMatch.LPM(value=value, prefix_len=length))


def ternary(field_id: int, value: bytes, mask: bytes) -> Any:
    return p4rt.FieldMatch(field_id=field_id, ternary=p4rt.FieldMatch.Ternary(value=value, mask=mask))


def between(field_id: int, low: bytes, high: bytes) -> Any:
    return p4rt.FieldMatch(field_id=field_id, range=p4rt.FieldMatch.Range(low=low, high=high))


def optional(field_id: int, value: bytes) -> Any:
    return p4rt.FieldMatch(field_id=field_id, optional=p4rt.FieldMatch.Optional(value=value))


class Stream:
    """An open StreamChannel; messages arrive in ``messages``, at the end its Outcome."""

    def __init__(self, stub: Any) -> None:
        self._requests: queue.Queue[Any] = queue.Queue()
        self.messages: queue.Queue[Any] = queue.Queue()
        self._call = stub.StreamChannel(iter(self._requests.get, None))
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()

    def _receive(self) -> None:
        try:
            for message in self._call:
                self.messages.put(message)
        except grpc.RpcError as error:
            self.messages.put(outcome(error))
        else:
            self.messages.put(OK)

    def send(self, **fields: Any) -> None:
        self._requests.put(p4rt.StreamMessageRequest(**fields))

    def arbitrate(self, low: int, high: int = 0, device_id: int = 1) -> None:
        update = p4rt.MasterArbitrationUpdate(device_id=device_id)
        update.election_id.low = low
        update.election_id.high = high
        self.send(arbitration=update)

    def get(self, timeout: float = 120.0) -> Any:
        return self.messages.get(timeout=timeout)

    def role(self, timeout: float = 120.0) -> tuple[str, int]:
        """Return the next message, which must be arbitration: the name of its status and the primary's election id."""
        message = self.get(timeout)
        assert message.WhichOneof("update") == "arbitration", message
        update = message.arbitration
        return code_pb2.Code.Name(update.status.code), update.election_id.high << 64 | update.election_id.low

    def silent(self, seconds: float = 0.2) -> bool:
        try:
            self.messages.get(timeout=seconds)
        except queue.Empty:
            return True
        return False

    def until_silent(self, seconds: float) -> list[Any]:
        """Return the messages until none comes for so long. The test's time limit ends it."""
        found: list[Any] = []
        with contextlib.suppress(queue.Empty):
            while True:
                found.append(self.messages.get(timeout=seconds))
        return found

    def close(self) -> None:
        """Half-close and wait for the server to end the call."""
        self._requests.put(None)
        self._thread.join(timeout=120)

    def cancel(self) -> None:
        self._call.cancel()
        self._requests.put(None)
        self._thread.join(timeout=120)


class Client:
    """One channel to a server."""

    def __init__(self, address: str, device_id: int = 1, name: str = "test") -> None:
        self.device_id = device_id
        options = [("grpc.max_receive_message_length", -1), ("grpc.primary_user_agent", name)]
        self.channel = grpc.insecure_channel(address, options=options)
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        self.election_id: int | None = None
        self.streams: list[Stream] = []

    def close(self) -> None:
        for stream in self.streams:
            stream.cancel()
        self.channel.close()

    def stream(self) -> Stream:
        stream = Stream(self.stub)
        self.streams.append(stream)
        return stream

    def _identify(self, request: Any) -> None:
        request.device_id = self.device_id
        if self.election_id is not None:
            request.election_id.high = self.election_id >> 64
            request.election_id.low = self.election_id & (1 << 64) - 1

    def push(self, config: Any, action: int = p4rt.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT) -> Outcome:
        request = p4rt.SetForwardingPipelineConfigRequest(action=action, config=config)
        self._identify(request)
        try:
            self.stub.SetForwardingPipelineConfig(request, timeout=600, wait_for_ready=True)
        except grpc.RpcError as error:
            return outcome(error)
        return OK

    def pipeline(self, response_type: int = 0) -> Any:
        """Return the config, or the Outcome."""
        request = p4rt.GetForwardingPipelineConfigRequest(device_id=self.device_id, response_type=response_type)
        try:
            return self.stub.GetForwardingPipelineConfig(request, timeout=120).config
        except grpc.RpcError as error:
            return outcome(error)

    def write(self, *updates: tuple[int, Any], atomicity: int = 0) -> Outcome:
        request = p4rt.WriteRequest(atomicity=atomicity)
        self._identify(request)
        for kind, entity in updates:
            update = request.updates.add(type=kind)
            update.entity.CopyFrom(entity)
        try:
            self.stub.Write(request, timeout=120)
        except grpc.RpcError as error:
            return outcome(error)
        return OK

    def update(self, kind: int, entity: Any) -> str:
        """Return the code of a single update."""
        result = self.write((kind, entity))
        if result == OK:
            return "OK"
        assert result.code == "UNKNOWN" and len(result.updates) == 1, result
        return result.updates[0]

    def insert(self, entity: Any) -> str:
        return self.update(INSERT, entity)

    def modify(self, entity: Any) -> str:
        return self.update(MODIFY, entity)

    def delete(self, entity: Any) -> str:
        return self.update(DELETE, entity)

    def read(self, *entities: Any) -> tuple[list[Any], str]:
        """Return the entities, also those in front of an error, and the name of the code."""
        request = p4rt.ReadRequest(device_id=self.device_id)
        for entity in entities:
            request.entities.add().CopyFrom(entity)
        found: list[Any] = []
        try:
            for response in self.stub.Read(request, timeout=120):
                found.extend(response.entities)
        except grpc.RpcError as error:
            return found, outcome(error).code
        return found, "OK"

    def read_ok(self, *entities: Any) -> list[Any]:
        found, code = self.read(*entities)
        assert code == "OK", code
        return found
