# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Plain client of BF Runtime, and the entries that tests write."""

from __future__ import annotations

import contextlib
import itertools
import queue
import random
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

from lanesum_control.switches.bfruntime.connection import forwarding_config
from lanesum_fabric.bfruntime import messages
from lanesum_fabric.bfruntime.description import Description
from lanesum_fabric.program.pipelines import tofino_pipeline
from lanesum_fabric.protobufs import status_pb2
from lanesum_switch.bfruntime import BfRuntimeServer
from lanesum_switch.bfruntime.fixed_tables import DESCRIPTION
from lanesum_switch.tna.switch import TofinoSwitch

Code = grpc.StatusCode
PIPELINE = tofino_pipeline("tofino1-w32")
CONFIG = forwarding_config(PIPELINE)
PROGRAM = Description(PIPELINE.description)
FIXED = Description(DESCRIPTION)
FORWARD = PROGRAM.named("IngressPipeline.forward.forward")
ORIGIN = PROGRAM.named("IngressPipeline.origin.origin")
CLASSIFY = PROGRAM.named("IngressPipeline.classify.classify")
OWNER = PROGRAM.named("IngressPipeline.slots.slot_owner")
NODES, GROUPS, PORTS = FIXED.named("$pre.node"), FIXED.named("$pre.mgid"), FIXED.named("$PORT")
Set = messages.SetForwardingPipelineConfigRequest
Update = messages.Update
EXPECT = next(action for action in ORIGIN.actions.values() if action.name.endswith("expect"))


_numbers = itertools.count(1)


class Client:
    """One client, with its stream once it has subscribed."""

    def __init__(self, address: str) -> None:
        self.address, self.number = address, next(_numbers)
        self.channel = grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)])
        self.outgoing: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.stream = self.channel.stream_stream(
            f"/{messages.SERVICE}/StreamChannel", None, messages.StreamMessageResponse.FromString
        )(iter(self.outgoing.get, None))

    def subscribe(self, device_id: int = 0, *, ports: bool = False) -> Any:
        request = messages.StreamMessageRequest(client_id=self.number)
        request.subscribe.device_id = device_id
        request.subscribe.notifications.enable_port_status_change_notifications = ports
        self.outgoing.put(request.SerializeToString())
        return next(self.stream)

    def call(self, method: str, body: bytes) -> bytes:
        """Return the last answer. Raises grpc.RpcError."""
        path = f"/{messages.SERVICE}/{method}"
        if method == "Read":
            return b"".join(self.channel.unary_stream(path)(body, timeout=600))
        answer: bytes = self.channel.unary_unary(path)(body, timeout=600)
        return answer

    def write(self, *updates: tuple[int, Any], **fields: Any) -> None:
        request = messages.WriteRequest(client_id=self.number, **fields)
        request.target.pipe_id = messages.ALL_PIPES
        for kind, entry in updates:
            request.updates.add(type=kind).entity.table_entry.CopyFrom(entry)
        self.call("Write", request.SerializeToString())

    def read(self, *entries: Any) -> list[Any]:
        request = messages.ReadRequest(client_id=self.number)
        request.target.pipe_id = messages.ALL_PIPES
        for entry in entries:
            request.entities.add().table_entry.CopyFrom(entry)
        answer = messages.ReadResponse.FromString(self.call("Read", request.SerializeToString()))
        return [entity.table_entry for entity in answer.entities]

    def set(self, action: int, *configs: Any) -> None:
        request = Set(client_id=self.number, action=action, config=configs)
        self.call("SetForwardingPipelineConfig", request.SerializeToString())

    def push(self, config: Any) -> None:
        self.set(Set.VERIFY_AND_WARM_INIT_BEGIN_AND_END, config)

    def close(self) -> None:
        """End the stream; the server has forgotten the client then."""
        self.outgoing.put(None)
        with contextlib.suppress(grpc.RpcError):
            for _ in self.stream:
                pass
        self.channel.close()


def bound_client(address: str) -> Client:
    """Return a client that has pushed the program, and is bound to it."""
    client = Client(address)
    client.subscribe()
    client.push(CONFIG)
    client.set(Set.BIND, messages.ForwardingPipelineConfig(p4_name="lanesum"))
    return client


@contextlib.contextmanager
def running(device: TofinoSwitch) -> Iterator[Client]:
    """Run a server; yield a client that is bound to its program."""
    with (
        tempfile.TemporaryDirectory() as folder,
        BfRuntimeServer(device, f"unix:{folder}/agent", spare=TofinoSwitch) as server,
    ):
        client = bound_client(server.address)
        yield client
        client.close()


def code(function: Callable[[], Any], message: str | None = None) -> Any:
    """Return the code of a refusal whose details have ``message``, a regular expression."""
    with pytest.raises(grpc.RpcError, match=message) as caught:
        function()
    return caught.value.code()


def refusals(function: Callable[[], Any]) -> list[Any]:
    """Return the errors of the updates of a refused write."""
    with pytest.raises(grpc.RpcError) as caught:
        function()
    metadata = dict(caught.value.trailing_metadata())
    status = status_pb2.Status.FromString(metadata["grpc-status-details-bin"])
    return [messages.Error.FromString(detail.value) for detail in status.details]


def codes(function: Callable[[], Any]) -> list[int]:
    """Return the canonical codes of the updates of a refused write."""
    return [error.canonical_code for error in refusals(function)]


def origin(source: bytes = b"\n\0\0\1", port: bytes = b"\0\1", attached: bytes = b"\1") -> Any:
    entry = messages.TableEntry(table_id=ORIGIN.id)
    entry.key.fields.add(field_id=1).exact.value = source
    entry.data.action_id = EXPECT.id
    entry.data.fields.add(field_id=1, stream=port)
    entry.data.fields.add(field_id=2, stream=attached)
    return entry


def changed(change: Callable[[Any], Any]) -> Any:
    entry = origin()
    change(entry)
    return entry


def cut(entry: Any) -> Any:
    """Return an entry without the last field of its data."""
    entry.data.fields.pop()
    return entry


def route(bits: int, destination: bytes = b"\n\0\0\1") -> Any:
    entry = messages.TableEntry(table_id=FORWARD.id)
    key = entry.key.fields.add(field_id=1)
    key.lpm.value, key.lpm.prefix_len = destination, bits
    action = next(one for one in FORWARD.actions.values() if one.name.endswith("route"))
    entry.data.action_id = action.id
    for param in action.params.values():
        entry.data.fields.add(field_id=param.id, stream=param.encode(1))
    return entry


def node(number: int = 300, rid: bytes = b"\0\1", ports: tuple[int, ...] = (1,), lags: tuple[int, ...] = ()) -> Any:
    entry = messages.TableEntry(table_id=NODES.id)
    entry.key.fields.add(field_id=1).exact.value = number.to_bytes(4, "big")
    entry.data.fields.add(field_id=1, stream=rid)
    entry.data.fields.add(field_id=2).int_arr_val.val.extend(lags)
    entry.data.fields.add(field_id=3).int_arr_val.val.extend(ports)
    return entry


def group(nodes: tuple[int, ...], number: int = 1, *, excluded: bool = False) -> Any:
    entry = messages.TableEntry(table_id=GROUPS.id)
    entry.key.fields.add(field_id=1).exact.value = number.to_bytes(2, "big")
    entry.data.fields.add(field_id=1).int_arr_val.val.extend(nodes)
    entry.data.fields.add(field_id=2).bool_arr_val.val.extend(excluded for _ in nodes)
    return entry


def port(number: int = 8, speed: str = "BF_SPEED_100G", correction: str = "BF_FEC_TYP_RS", **lanes: bytes) -> Any:
    entry = messages.TableEntry(table_id=PORTS.id)
    entry.key.fields.add(field_id=1).exact.value = number.to_bytes(4, "big")
    entry.data.fields.add(field_id=1, str_val=speed)
    entry.data.fields.add(field_id=2, str_val=correction)
    entry.data.fields.add(field_id=4, bool_val=True)
    for value in lanes.values():
        entry.data.fields.add(field_id=3, stream=value)
    return entry


def register(index: bytes = b"\0\0\0\1", **values: bytes) -> Any:
    entry = messages.TableEntry(table_id=OWNER.id)
    entry.key.fields.add(field_id=next(iter(OWNER.keys))).exact.value = index
    for field in OWNER.data.values():
        if (value := values.get(field.name.rpartition(".")[2])) is not None:
            entry.data.fields.add(field_id=field.id, stream=value)
    return entry


def random_entry(rng: random.Random) -> Any:
    """Return an entry of any kind, with one of a few keys so that entries collide."""
    few = rng.randrange(1, 4)
    makers: tuple[Callable[[], Any], ...] = (
        lambda: origin(source=bytes([10, 0, 0, few])),
        lambda: route(rng.choice((8, 24, 32)), bytes([10, 0, 0, few])),
        lambda: node(300 + few, ports=tuple(rng.sample(range(600), few))),
        lambda: group(tuple(range(300, 300 + few)), number=few),
        lambda: port(few),
        lambda: register(few.to_bytes(4, "big"), lo=rng.randbytes(4), hi=rng.randbytes(4)),
        lambda: messages.TableEntry(table_id=rng.choice((*PROGRAM.by_id, *FIXED.by_id)), key={}),
    )
    return rng.choice(makers)()


def key_of(entry: Any) -> Any:
    key = messages.TableEntry(table_id=entry.table_id)
    key.key.CopyFrom(entry.key)
    return key
