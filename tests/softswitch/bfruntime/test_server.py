# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""BF Runtime of the embedded switch, called message by message: answers, refusals and bounds."""

from __future__ import annotations

import contextlib
import itertools
import json
import queue
import random
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.rpc import status_pb2

from lanesum_control.bfruntime import messages
from lanesum_control.bfruntime.connection import forwarding_config
from lanesum_control.bfruntime.description import Description
from lanesum_control.pipelines import tofino_pipeline
from lanesum_switch.bfruntime import BfRuntimeServer, agent
from lanesum_switch.bfruntime.fixed_tables import DESCRIPTION
from lanesum_switch.p4runtime.server import LIMITS
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
_Set = messages.SetForwardingPipelineConfigRequest
_Update = messages.Update
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
        request = _Set(client_id=self.number, action=action, config=configs)
        self.call("SetForwardingPipelineConfig", request.SerializeToString())

    def push(self, config: Any) -> None:
        self.set(_Set.VERIFY_AND_WARM_INIT_BEGIN_AND_END, config)

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
    client.set(_Set.BIND, messages.ForwardingPipelineConfig(p4_name="lanesum"))
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


@pytest.fixture(scope="module")
def device() -> TofinoSwitch:
    return TofinoSwitch()


@pytest.fixture(scope="module")
def bound(device: TofinoSwitch) -> Iterator[Client]:
    """The client that is bound; the tests leave no entries."""
    with running(device) as client:
        yield client


@pytest.fixture
def client(bound: Client) -> Iterator[Client]:
    """Another client, of no subscription."""
    one = Client(bound.address)
    yield one
    one.close()


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


@pytest.mark.parametrize(
    ("entry", "kind", "expected", "message"),
    [
        (origin(source=b"\1"), _Update.INSERT, Code.INVALID_ARGUMENT, "has 32 bits in 4 bytes, not 0x01"),
        (origin(source=bytes(5)), _Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (origin(port=b"\2\0"), _Update.INSERT, Code.INVALID_ARGUMENT, "has 9 bits in 2 bytes, not 0x0200"),
        (
            changed(lambda e: e.key.fields.add(field_id=1)),
            _Update.INSERT,
            Code.INVALID_ARGUMENT,
            "Field 1 of Table IngressPipeline.origin.origin is there twice: give it once",
        ),
        (changed(lambda e: e.key.fields.add(field_id=7)), _Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (changed(lambda e: e.key.fields.pop()), _Update.INSERT, Code.INVALID_ARGUMENT, "The key lacks field "),
        (
            changed(lambda e: e.key.fields[0].ternary.SetInParent()),
            _Update.INSERT,
            Code.INVALID_ARGUMENT,
            "is matched by exact, not by ternary",
        ),
        (changed(lambda e: e.data.fields.pop()), _Update.INSERT, Code.INVALID_ARGUMENT, "lacks parameter "),
        (changed(lambda e: e.data.fields.add(field_id=9)), _Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (changed(lambda e: e.data.ClearField("action_id")), _Update.INSERT, Code.NOT_FOUND, ""),
        (
            changed(lambda e: setattr(e, "table_id", 5)),
            _Update.INSERT,
            Code.NOT_FOUND,
            "There is no table 5 in this program",
        ),
        (
            changed(lambda e: setattr(e, "handle_id", 5)),
            _Update.INSERT,
            Code.UNIMPLEMENTED,
            "Entries are named by their keys: leave out",
        ),
        (
            changed(lambda e: setattr(e, "is_default_entry", True)),
            _Update.MODIFY,
            Code.INVALID_ARGUMENT,
            "The default entry of IngressPipeline.origin.origin has no key: leave its fields out",
        ),
        (origin(), _Update.UNSPECIFIED, Code.UNIMPLEMENTED, "Only INSERT, MODIFY and DELETE are supported"),
        (
            messages.TableEntry(table_id=ORIGIN.id, is_default_entry=True),
            _Update.INSERT,
            Code.UNIMPLEMENTED,
            "A default entry takes MODIFY and DELETE",
        ),
        (origin(), 99, Code.INVALID_ARGUMENT, "99 is not a type of update"),
        (origin(), _Update.MODIFY_INC, Code.UNIMPLEMENTED, ""),
        (origin(), _Update.MODIFY, Code.NOT_FOUND, ""),
        (origin(), _Update.DELETE, Code.NOT_FOUND, ""),
        (route(33), _Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (route(-1), _Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (messages.TableEntry(table_id=CLASSIFY.id, key={}), _Update.DELETE, Code.UNIMPLEMENTED, ""),
        (
            messages.TableEntry(table_id=OWNER.id),
            _Update.DELETE,
            Code.UNIMPLEMENTED,
            "Registers take INSERT and MODIFY",
        ),
        (
            messages.TableEntry(table_id=OWNER.id),
            _Update.INSERT,
            Code.UNIMPLEMENTED,
            "A register is read and written cell by cell",
        ),
        (register(lo=bytes(4)), _Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (register(lo=bytes(4), hi=bytes(5)), _Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (register(b"\0\xff\0\0", lo=bytes(4), hi=bytes(4)), _Update.INSERT, Code.NOT_FOUND, ""),
        (node(rid=b"\1"), _Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (
            node(ports=(512,)),
            _Update.INSERT,
            Code.INVALID_ARGUMENT,
            "The ports of a node are less than 512, and each is there once: [512]",
        ),
        (node(lags=(1,)), _Update.INSERT, Code.UNIMPLEMENTED, "LAGs are not supported: leave the list of a node empty"),
        (node(), _Update.MODIFY, Code.UNIMPLEMENTED, "Nodes take INSERT and DELETE"),
        (node(), _Update.DELETE, Code.NOT_FOUND, "There is no node 300"),
        (group((300,)), _Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (group((), number=0), _Update.INSERT, Code.INVALID_ARGUMENT, "Multicast group id 0 is not from 1 to 65535"),
        (group(()), _Update.MODIFY, Code.NOT_FOUND, "There is no multicast group 1"),
        (group((), excluded=True), _Update.RESET, Code.UNIMPLEMENTED, "Groups take INSERT, MODIFY and DELETE"),
        (node(ports=(1, 1)), _Update.INSERT, Code.INVALID_ARGUMENT, "and each is there once: [1, 1]"),
        (cut(node()), _Update.INSERT, Code.INVALID_ARGUMENT, "A node needs $MULTICAST_RID, "),
        (cut(group((1,))), _Update.INSERT, Code.INVALID_ARGUMENT, "for each, not 1 nodes and 0 flags"),
        (
            messages.TableEntry(table_id=NODES.id),
            _Update.DELETE,
            Code.INVALID_ARGUMENT,
            "$pre.node has one key field, not 0",
        ),
        (port(number=512), _Update.INSERT, Code.INVALID_ARGUMENT, "There is no port 512: ports are less than 512"),
        (port(speed="1T"), _Update.INSERT, Code.INVALID_ARGUMENT, "The speed of a port is one of BF_SPEED_10G, "),
        (
            port(correction=""),
            _Update.INSERT,
            Code.INVALID_ARGUMENT,
            "The error correction of a port is one of BF_FEC_TYP_NONE, ",
        ),
        (port(lanes=b"\4"), _Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (port(), _Update.DELETE, Code.NOT_FOUND, "Port 8 was not added"),
        (port(), _Update.MODIFY, Code.UNIMPLEMENTED, "Ports take INSERT and DELETE"),
    ],
)
def test_write_of_invalid_entry_is_refused_and_changes_nothing(
    bound: Client, entry: Any, kind: int, expected: grpc.StatusCode, message: str
) -> None:
    wildcards = [messages.TableEntry(table_id=table.id) for table in (ORIGIN, FORWARD, NODES, GROUPS, PORTS)]
    before = bound.read(*wildcards)
    (error,) = refusals(lambda: bound.write((kind, entry)))
    assert error.canonical_code == expected.value[0]
    assert message in error.message
    assert bound.read(*wildcards) == before


def test_write_with_refusals_applies_the_rest_and_names_each(bound: Client) -> None:
    updates = [(_Update.INSERT, origin()), (_Update.INSERT, origin()), (_Update.INSERT, origin(b"\n\0\0\2"))]
    assert codes(lambda: bound.write(*updates)) == [0, Code.ALREADY_EXISTS.value[0]]
    found = bound.read(messages.TableEntry(table_id=ORIGIN.id))
    assert [entry.is_default_entry for entry in found] == [False, False, True]
    assert found[:2] == [origin(), origin(b"\n\0\0\2")]
    bound.write((_Update.DELETE, messages.TableEntry(table_id=ORIGIN.id)))
    assert len(bound.read(messages.TableEntry(table_id=ORIGIN.id))) == 1


def test_entries_of_every_kind_are_read_as_they_were_written(bound: Client) -> None:
    written = [route(24, b"\n\0\0\0"), route(32)]
    bound.write(*[(_Update.INSERT, entry) for entry in written])
    assert sorted(map(str, bound.read(messages.TableEntry(table_id=FORWARD.id))[:2])) == sorted(map(str, written))
    assert bound.read(key_of(written[0])) == written[:1]
    bound.write(*[(_Update.DELETE, key_of(entry)) for entry in written])
    constant = messages.TableEntry(table_id=CLASSIFY.id)
    constant.table_flags.from_hw = True
    found = bound.read(constant)
    assert len(found) > 10
    first = found[0]
    assert {field.WhichOneof("match_type") for field in first.key.fields} == {"ternary", "exact"}
    assert {CLASSIFY.data[field.field_id].name for field in first.data.fields} == {
        "$COUNTER_SPEC_BYTES", "$COUNTER_SPEC_PKTS",
    }  # fmt: skip
    assert bound.read(key_of(first)) == [changed_flags(first)]


def changed_flags(entry: Any) -> Any:
    """Return an entry without counters."""
    found = messages.TableEntry()
    found.CopyFrom(entry)
    del found.data.fields[:]
    return found


def test_node_of_a_group_cannot_be_deleted(bound: Client, device: TofinoSwitch) -> None:
    bound.write((_Update.INSERT, node()), (_Update.INSERT, node(301, b"\0\2", (2, 3))))
    bound.write((_Update.INSERT, group((300, 301))))
    assert [(one.port, one.instance) for one in device.multicast_groups[1]] == [(1, 1), (2, 2), (3, 2)]
    (refused,) = refusals(lambda: bound.write((_Update.DELETE, node())))
    assert refused.canonical_code == Code.INVALID_ARGUMENT.value[0]
    assert refused.message == "Node 300 is in a group: remove it from the group first"
    (refused,) = refusals(lambda: bound.write((_Update.MODIFY, group((300,), excluded=True))))
    assert refused.canonical_code == Code.UNIMPLEMENTED.value[0]
    assert refused.message == "Exclusion ids are not supported: each flag must be false"
    assert codes(lambda: bound.write((_Update.MODIFY, group((300, 300))))) == [Code.INVALID_ARGUMENT.value[0]]
    bound.write((_Update.MODIFY, group((301,))), (_Update.DELETE, node()))
    assert [(one.port, one.instance) for one in device.multicast_groups[1]] == [(2, 2), (3, 2)]
    assert bound.read(messages.TableEntry(table_id=GROUPS.id)) == [group((301,))]
    bound.write((_Update.DELETE, group(())), (_Update.DELETE, node(301)))
    assert not device.multicast_groups


def test_register_is_written_in_all_pipes(bound: Client, device: TofinoSwitch) -> None:
    for kind, cell in (
        (_Update.INSERT, register(lo=bytes(3) + b"\1", hi=bytes(3) + b"\2")),
        (_Update.MODIFY, register(lo=bytes(3) + b"\3", hi=b"\xff" * 4)),
    ):
        bound.write((kind, cell))
        (found,) = bound.read(key_of(cell))
        assert [one.stream for one in found.data.fields] == [one.stream for one in cell.data.fields for _ in range(4)]
    assert [device.read_register("IngressPipeline.slots.slot_owner.lo", 1, pipe) for pipe in range(4)] == [3] * 4
    bound.write((_Update.MODIFY, register(lo=bytes(4), hi=bytes(4))))


def test_answer_with_too_many_entries_is_refused(bound: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "MAX_READ_ENTRIES", 5)
    wildcard = messages.TableEntry(table_id=ORIGIN.id)
    assert len(bound.read(*[wildcard] * 5)) == 5
    assert (
        code(lambda: bound.read(*[wildcard] * 6), "An answer has at most 5 entries: read fewer tables")
        == Code.RESOURCE_EXHAUSTED
    )


def test_nodes_are_bounded(bound: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum_switch.bfruntime.replication.MAX_NODES", 1)
    bound.write((_Update.INSERT, node()))
    (refused,) = refusals(lambda: bound.write((_Update.INSERT, node(301))))
    assert refused.canonical_code == Code.RESOURCE_EXHAUSTED.value[0]
    assert refused.message == "There are 1 nodes already: delete one first"
    bound.write((_Update.DELETE, node()))


def test_details_of_many_refusals_fit_into_the_metadata(bound: Client) -> None:
    refused = codes(lambda: bound.write(*[(_Update.DELETE, origin())] * 1000))
    assert set(refused) == {Code.NOT_FOUND.value[0]} and len(refused) == 64


def test_refusal_after_many_updates_is_counted(bound: Client) -> None:
    everything = messages.TableEntry(table_id=ORIGIN.id)
    updates = [*[(_Update.DELETE, everything)] * 1000, (_Update.DELETE, origin())]
    assert code(lambda: bound.write(*updates), "1 of 1001 updates were refused, too many to name") == Code.UNKNOWN


def test_client_that_is_not_bound_cannot_read_or_write(bound: Client, client: Client) -> None:
    alone = f"Client {client.number} has no subscription: open a stream first"
    assert code(client.read, alone) == Code.UNAVAILABLE
    assert code(client.write, alone) == Code.UNAVAILABLE
    assert client.subscribe().subscribe.status.code == 0
    unbound = f"Client {client.number} is not bound to the program: send BIND first"
    assert code(client.read, unbound) == Code.NOT_FOUND
    assert code(client.write, unbound) == Code.NOT_FOUND
    lanesum = messages.ForwardingPipelineConfig(p4_name="lanesum")
    taken = f"Client {bound.number} is bound to the program: end its stream first"
    assert code(lambda: client.set(_Set.BIND, lanesum), taken) == Code.ALREADY_EXISTS
    other = messages.ForwardingPipelineConfig(p4_name="other")
    assert code(lambda: client.set(_Set.BIND, other), "The switch does not run program 'other'") == Code.NOT_FOUND
    assert code(lambda: client.set(_Set.BIND)) == Code.INVALID_ARGUMENT
    several = "Programs are bound, or pushed in one or two steps"
    assert code(lambda: client.set(_Set.VERIFY, lanesum), several) == Code.UNIMPLEMENTED


def test_requests_for_other_devices_and_pipes_are_refused(bound: Client, client: Client) -> None:
    assert code(lambda: client.subscribe(device_id=1)) == Code.INVALID_ARGUMENT
    one_pipe = messages.ReadRequest(client_id=bound.number)
    pipes = "Tables are those of all pipes: give pipe 0xffff"
    assert code(lambda: bound.call("Read", one_pipe.SerializeToString()), pipes) == Code.UNIMPLEMENTED
    elsewhere = messages.GetForwardingPipelineConfigRequest(device_id=1)
    body = elsewhere.SerializeToString()
    wrong = "This switch is device 0, not 1: check the device id"
    assert code(lambda: bound.call("GetForwardingPipelineConfig", body), wrong) == Code.INVALID_ARGUMENT
    assert (
        code(lambda: bound.write(atomicity=1), "Updates are applied one after the other: use CONT")
        == Code.UNIMPLEMENTED
    )


def test_stream_with_two_subscriptions_is_ended(client: Client) -> None:
    client.subscribe()
    other = f"The client of a stream is {client.number} and cannot change: open another stream"
    assert code(client.subscribe, other) == Code.FAILED_PRECONDITION


def test_clients_are_bounded(bound: Client) -> None:
    others = [Client(bound.address) for _ in range(LIMITS.streams_of_caller - 1)]
    for other in others:
        other.subscribe()
    late = Client(bound.address)
    assert code(late.subscribe) == Code.RESOURCE_EXHAUSTED
    for other in [*others, late]:
        other.close()


def described(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that changes table ``origin`` in the description of a configuration."""

    def describe(config: Any) -> None:
        document = json.loads(PIPELINE.description)
        change(next(table for table in document["tables"] if table["name"].endswith(".origin.origin")))
        config.bfruntime_info = json.dumps(document).encode()

    return describe


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("A program has a p4_name and one profile, not 0: 'lanesum'", lambda config: config.ClearField("profiles")),
        ("A program has a p4_name and one profile, not 2: ", lambda config: config.profiles.add()),
        ("A program has a p4_name and one profile, not 1: ''", lambda config: config.ClearField("p4_name")),
        (None, lambda config: setattr(config, "bfruntime_info", b"{")),
        (None, lambda config: setattr(config, "bfruntime_info", b"\xff")),
        (None, lambda config: setattr(config, "bfruntime_info", b"[" * 100_000)),
        (None, lambda config: setattr(config, "bfruntime_info", b"[]")),
        (None, lambda config: setattr(config, "bfruntime_info", b'{"tables": []}')),
        ("The description has no table .*origin: send that", described(lambda table: table.update(name="other"))),
        (
            "The description has other key fields of table .*origin: send that",
            described(lambda table: table["key"][0]["type"].update(width=31)),
        ),
        (
            "The description has other actions of table .*origin: send that",
            described(lambda table: table["action_specs"].pop()),
        ),
        (None, lambda config: setattr(config, "bfruntime_info", b'{"tables": [{"id": -1}]}')),
        (None, lambda config: setattr(config.profiles[0], "binary", b"no program")),
        (None, lambda config: setattr(config.profiles[0], "binary", b"\xff")),
    ],
)
def test_refused_program_leaves_the_one_that_runs(
    bound: Client, message: str | None, change: Callable[[Any], Any]
) -> None:
    bound.write((_Update.INSERT, origin()))
    config = forwarding_config(PIPELINE)
    change(config)
    assert code(lambda: bound.push(config), message) == Code.INVALID_ARGUMENT
    assert bound.read(key_of(origin())) == [origin()]
    bound.write((_Update.DELETE, origin()))


def test_random_bodies_are_answered_and_end_nothing(caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(7)
    with running(TofinoSwitch()) as client:
        write, read = messages.WriteRequest(client_id=client.number), messages.ReadRequest(client_id=client.number)
        for request in (write, read):
            request.target.pipe_id = messages.ALL_PIPES
        for entry in (origin(), node(), group((300,)), route(24)):
            write.updates.add(type=_Update.INSERT).entity.table_entry.CopyFrom(entry)
            read.entities.add().table_entry.CopyFrom(key_of(entry))
        bodies = {"Write": write, "Read": read, "SetForwardingPipelineConfig": write}
        seen = set()
        for _ in range(200):
            method = rng.choice(sorted(bodies))
            body = bytearray(bodies[method].SerializeToString())
            for _ in range(rng.randrange(1, 4)):
                body[rng.randrange(len(body))] = rng.randrange(256)
            try:
                client.call(method, bytes(body))
            except grpc.RpcError as error:
                seen.add(error.code())
        assert {Code.INTERNAL, Code.UNKNOWN, Code.NOT_FOUND} <= seen, "bodies get as far as single updates"
        assert client.read(messages.TableEntry(table_id=ORIGIN.id))[-1].is_default_entry
    assert [record for record in caplog.records if record.exc_info] == []


def test_warm_restart_keeps_the_earlier_program_until_its_end(bound: Client, device: TofinoSwitch) -> None:
    earlier = device.tables["IngressPipeline.origin.origin"]
    bound.write((_Update.INSERT, origin()), (_Update.INSERT, node()), (_Update.INSERT, group((300,))))
    early = f"Client {bound.number} has not begun a warm restart: begin one first"
    assert code(lambda: bound.set(_Set.WARM_INIT_END), early) == Code.INVALID_ARGUMENT
    bound.set(_Set.VERIFY_AND_WARM_INIT_BEGIN, CONFIG)
    assert len(bound.read(messages.TableEntry(table_id=ORIGIN.id))) == 1, "the next program has no entries yet"
    written = [origin(b"\n\0\0\2"), node(301), group((301,), number=2), route(24, b"\n\0\0\0")]
    bound.write(*[(_Update.INSERT, entry) for entry in written])
    cell = register(lo=bytes(4), hi=bytes(4))
    assert codes(lambda: bound.write((_Update.MODIFY, cell))) == [Code.UNIMPLEMENTED.value[0]]
    assert code(lambda: bound.read(key_of(cell))) == Code.UNIMPLEMENTED
    assert device.tables["IngressPipeline.origin.origin"] is earlier
    assert (len(list(earlier.entries())), list(device.multicast_groups)) == (1, [1])
    bound.set(_Set.WARM_INIT_END)
    assert [entry.match for entry in device.tables["IngressPipeline.origin.origin"].entries()] != [
        entry.match for entry in earlier.entries()
    ]
    assert list(device.multicast_groups) == [2]
    assert [bound.read(key_of(entry)) for entry in written] == [[entry] for entry in written]
    bound.write((_Update.DELETE, key_of(written[2])), (_Update.MODIFY, cell))
    assert not device.multicast_groups
    twice = "No warm restart has begun, or a push has ended it: begin one first"
    assert code(lambda: bound.set(_Set.WARM_INIT_END), twice) == Code.INVALID_ARGUMENT
    bound.push(CONFIG)


def test_warm_restart_is_dropped_once_its_client_leaves(client: Client) -> None:
    with running(TofinoSwitch()) as first:
        first.write((_Update.INSERT, origin()))
        second = Client(first.address)
        second.subscribe()
        assert code(lambda: second.set(_Set.VERIFY_AND_WARM_INIT_BEGIN, CONFIG)) == (Code.ALREADY_EXISTS)
        first.set(_Set.VERIFY_AND_WARM_INIT_BEGIN, CONFIG)
        assert code(lambda: second.set(_Set.WARM_INIT_END)) == Code.INVALID_ARGUMENT
        first.close()
        refused = messages.ForwardingPipelineConfig()
        assert code(lambda: second.set(_Set.VERIFY_AND_WARM_INIT_BEGIN, refused)) == Code.INVALID_ARGUMENT
        assert code(lambda: second.set(_Set.WARM_INIT_END)) == Code.INVALID_ARGUMENT, "this would run the first's"
        second.set(_Set.BIND, messages.ForwardingPipelineConfig(p4_name="lanesum"))
        assert second.read(key_of(origin())) == [origin()]
        second.close()


def test_warm_restart_is_dropped_once_another_client_binds() -> None:
    with running(TofinoSwitch()) as first:
        first.write((_Update.INSERT, origin()))
        first.close()
        second, third = Client(first.address), Client(first.address)
        second.subscribe()
        third.subscribe()
        second.set(_Set.VERIFY_AND_WARM_INIT_BEGIN, CONFIG)
        third.set(_Set.BIND, messages.ForwardingPipelineConfig(p4_name="lanesum"))
        assert third.read(key_of(origin())) == [origin()], "third reads the program that packets pass through"
        assert code(lambda: second.set(_Set.WARM_INIT_END)) == Code.INVALID_ARGUMENT
        second.close()
        third.close()


def test_link_that_changes_is_told_to_clients_that_asked() -> None:
    with tempfile.TemporaryDirectory() as folder, BfRuntimeServer(TofinoSwitch(), f"unix:{folder}/agent") as server:
        asking, other = Client(server.address), Client(server.address)
        asking.subscribe(ports=True)
        other.subscribe()
        server.set_link(8, is_up=False)
        server.set_link(300, is_up=True)
        for number, is_up in ((8, False), (300, True)):
            news = next(asking.stream).port_status_change_notification
            assert (news.table_entry, news.port_up) == (key_of(port(number)), is_up)
        other.outgoing.put(None)
        assert list(other.stream) == []
        asking.close()
        other.close()


def test_program_of_another_name_ends_the_bound_session() -> None:
    with running(TofinoSwitch()) as client:
        config = forwarding_config(PIPELINE)
        config.p4_name = "other"
        client.push(config)
        assert "set_forwarding_pipeline_config_response" in [message.WhichOneof("update") for message in client.stream]
        assert code(client.read) == Code.UNAVAILABLE
