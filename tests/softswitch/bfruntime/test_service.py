# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""BF Runtime of the embedded switch, called message by message: answers, refusals and bounds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

from lanesum_control.switches.bfruntime.connection import forwarding_config
from lanesum_fabric.bfruntime import messages
from lanesum_switch.bfruntime import BfRuntimeServer, agent
from lanesum_switch.p4runtime.server import LIMITS
from lanesum_switch.tna.switch import TofinoSwitch

from .client import (
    CLASSIFY,
    CONFIG,
    FORWARD,
    GROUPS,
    NODES,
    ORIGIN,
    OWNER,
    PIPELINE,
    PORTS,
    Client,
    Code,
    Set,
    Update,
    bound_client,
    changed,
    code,
    codes,
    cut,
    group,
    key_of,
    node,
    origin,
    port,
    refusals,
    register,
    route,
    running,
)


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


@pytest.mark.parametrize(
    ("entry", "kind", "expected", "message"),
    [
        (origin(source=b"\1"), Update.INSERT, Code.INVALID_ARGUMENT, "has 32 bits in 4 bytes, not 0x01"),
        (origin(source=bytes(5)), Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (origin(port=b"\2\0"), Update.INSERT, Code.INVALID_ARGUMENT, "has 9 bits in 2 bytes, not 0x0200"),
        (
            changed(lambda e: e.key.fields.add(field_id=1)),
            Update.INSERT,
            Code.INVALID_ARGUMENT,
            "Field 1 of Table IngressPipeline.origin.origin is there twice: give it once",
        ),
        (changed(lambda e: e.key.fields.add(field_id=7)), Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (changed(lambda e: e.key.fields.pop()), Update.INSERT, Code.INVALID_ARGUMENT, "The key lacks field "),
        (
            changed(lambda e: e.key.fields[0].ternary.SetInParent()),
            Update.INSERT,
            Code.INVALID_ARGUMENT,
            "is matched by exact, not by ternary",
        ),
        (changed(lambda e: e.data.fields.pop()), Update.INSERT, Code.INVALID_ARGUMENT, "lacks parameter "),
        (changed(lambda e: e.data.fields.add(field_id=9)), Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (changed(lambda e: e.data.ClearField("action_id")), Update.INSERT, Code.NOT_FOUND, ""),
        (
            changed(lambda e: setattr(e, "table_id", 5)),
            Update.INSERT,
            Code.NOT_FOUND,
            "There is no table 5 in this program",
        ),
        (
            changed(lambda e: setattr(e, "handle_id", 5)),
            Update.INSERT,
            Code.UNIMPLEMENTED,
            "Entries are named by their keys: leave out",
        ),
        (
            changed(lambda e: setattr(e, "is_default_entry", True)),
            Update.MODIFY,
            Code.INVALID_ARGUMENT,
            "The default entry of IngressPipeline.origin.origin has no key: leave its fields out",
        ),
        (origin(), Update.UNSPECIFIED, Code.UNIMPLEMENTED, "Only INSERT, MODIFY and DELETE are supported"),
        (
            messages.TableEntry(table_id=ORIGIN.id, is_default_entry=True),
            Update.INSERT,
            Code.UNIMPLEMENTED,
            "A default entry takes MODIFY and DELETE",
        ),
        (origin(), 99, Code.INVALID_ARGUMENT, "99 is not a type of update"),
        (origin(), Update.MODIFY_INC, Code.UNIMPLEMENTED, ""),
        (origin(), Update.MODIFY, Code.NOT_FOUND, ""),
        (origin(), Update.DELETE, Code.NOT_FOUND, ""),
        (route(33), Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (route(-1), Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (messages.TableEntry(table_id=CLASSIFY.id, key={}), Update.DELETE, Code.UNIMPLEMENTED, ""),
        (
            messages.TableEntry(table_id=OWNER.id),
            Update.DELETE,
            Code.UNIMPLEMENTED,
            "Registers take INSERT and MODIFY",
        ),
        (
            messages.TableEntry(table_id=OWNER.id),
            Update.INSERT,
            Code.UNIMPLEMENTED,
            "A register is read and written cell by cell",
        ),
        (register(lo=bytes(4)), Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (register(lo=bytes(4), hi=bytes(5)), Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (register(b"\0\xff\0\0", lo=bytes(4), hi=bytes(4)), Update.INSERT, Code.NOT_FOUND, ""),
        (node(rid=b"\1"), Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (
            node(ports=(512,)),
            Update.INSERT,
            Code.INVALID_ARGUMENT,
            "The ports of a node are less than 512, and each is there once: [512]",
        ),
        (node(lags=(1,)), Update.INSERT, Code.UNIMPLEMENTED, "LAGs are not supported: leave the list of a node empty"),
        (node(), Update.MODIFY, Code.UNIMPLEMENTED, "Nodes take INSERT and DELETE"),
        (node(), Update.DELETE, Code.NOT_FOUND, "There is no node 300"),
        (group((300,)), Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (group((), number=0), Update.INSERT, Code.INVALID_ARGUMENT, "Multicast group id 0 is not from 1 to 65535"),
        (group(()), Update.MODIFY, Code.NOT_FOUND, "There is no multicast group 1"),
        (group((), excluded=True), Update.RESET, Code.UNIMPLEMENTED, "Groups take INSERT, MODIFY and DELETE"),
        (node(ports=(1, 1)), Update.INSERT, Code.INVALID_ARGUMENT, "and each is there once: [1, 1]"),
        (cut(node()), Update.INSERT, Code.INVALID_ARGUMENT, "A node needs $MULTICAST_RID, "),
        (cut(group((1,))), Update.INSERT, Code.INVALID_ARGUMENT, "for each, not 1 nodes and 0 flags"),
        (
            messages.TableEntry(table_id=NODES.id),
            Update.DELETE,
            Code.INVALID_ARGUMENT,
            "$pre.node has one key field, not 0",
        ),
        (port(number=512), Update.INSERT, Code.INVALID_ARGUMENT, "There is no port 512: ports are less than 512"),
        (port(speed="1T"), Update.INSERT, Code.INVALID_ARGUMENT, "The speed of a port is one of BF_SPEED_10G, "),
        (
            port(correction=""),
            Update.INSERT,
            Code.INVALID_ARGUMENT,
            "The error correction of a port is one of BF_FEC_TYP_NONE, ",
        ),
        (port(lanes=b"\4"), Update.INSERT, Code.INVALID_ARGUMENT, ""),
        (port(), Update.DELETE, Code.NOT_FOUND, "Port 8 was not added"),
        (port(), Update.MODIFY, Code.UNIMPLEMENTED, "Ports take INSERT and DELETE"),
    ],
)
def test_write_invalid_entry_is_refused_and_changes_nothing(
    bound: Client, entry: Any, kind: int, expected: grpc.StatusCode, message: str
) -> None:
    wildcards = [messages.TableEntry(table_id=table.id) for table in (ORIGIN, FORWARD, NODES, GROUPS, PORTS)]
    before = bound.read(*wildcards)
    (error,) = refusals(lambda: bound.write((kind, entry)))
    assert error.canonical_code == expected.value[0]
    assert message in error.message
    assert bound.read(*wildcards) == before


def test_write_with_refusals_applies_rest_and_names_each(bound: Client) -> None:
    updates = [(Update.INSERT, origin()), (Update.INSERT, origin()), (Update.INSERT, origin(b"\n\0\0\2"))]
    assert codes(lambda: bound.write(*updates)) == [0, Code.ALREADY_EXISTS.value[0]]
    found = bound.read(messages.TableEntry(table_id=ORIGIN.id))
    assert [entry.is_default_entry for entry in found] == [False, False, True]
    assert found[:2] == [origin(), origin(b"\n\0\0\2")]
    bound.write((Update.DELETE, messages.TableEntry(table_id=ORIGIN.id)))
    assert len(bound.read(messages.TableEntry(table_id=ORIGIN.id))) == 1


def test_entries_of_every_kind_are_read_as_written(bound: Client) -> None:
    written = [route(24, b"\n\0\0\0"), route(32)]
    bound.write(*[(Update.INSERT, entry) for entry in written])
    assert sorted(map(str, bound.read(messages.TableEntry(table_id=FORWARD.id))[:2])) == sorted(map(str, written))
    assert bound.read(key_of(written[0])) == written[:1]
    bound.write(*[(Update.DELETE, key_of(entry)) for entry in written])
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
    bound.write((Update.INSERT, node()), (Update.INSERT, node(301, b"\0\2", (2, 3))))
    bound.write((Update.INSERT, group((300, 301))))
    assert [(one.port, one.instance) for one in device.multicast_groups[1]] == [(1, 1), (2, 2), (3, 2)]
    (refused,) = refusals(lambda: bound.write((Update.DELETE, node())))
    assert refused.canonical_code == Code.INVALID_ARGUMENT.value[0]
    assert refused.message == "Node 300 is in a group: remove it from the group first"
    (refused,) = refusals(lambda: bound.write((Update.MODIFY, group((300,), excluded=True))))
    assert refused.canonical_code == Code.UNIMPLEMENTED.value[0]
    assert refused.message == "Exclusion ids are not supported: each flag must be false"
    assert codes(lambda: bound.write((Update.MODIFY, group((300, 300))))) == [Code.INVALID_ARGUMENT.value[0]]
    bound.write((Update.MODIFY, group((301,))), (Update.DELETE, node()))
    assert [(one.port, one.instance) for one in device.multicast_groups[1]] == [(2, 2), (3, 2)]
    assert bound.read(messages.TableEntry(table_id=GROUPS.id)) == [group((301,))]
    bound.write((Update.DELETE, group(())), (Update.DELETE, node(301)))
    assert not device.multicast_groups


def test_register_is_written_in_all_pipes(bound: Client, device: TofinoSwitch) -> None:
    for kind, cell in (
        (Update.INSERT, register(lo=bytes(3) + b"\1", hi=bytes(3) + b"\2")),
        (Update.MODIFY, register(lo=bytes(3) + b"\3", hi=b"\xff" * 4)),
    ):
        bound.write((kind, cell))
        (found,) = bound.read(key_of(cell))
        assert [one.stream for one in found.data.fields] == [one.stream for one in cell.data.fields for _ in range(4)]
    assert [device.read_register("IngressPipeline.slots.slot_owner.lo", 1, pipe) for pipe in range(4)] == [3] * 4
    bound.write((Update.MODIFY, register(lo=bytes(4), hi=bytes(4))))


def test_answer_with_too_many_entries_is_refused(bound: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "MAX_READ_ENTRIES", 5)
    wildcard = messages.TableEntry(table_id=ORIGIN.id)
    assert len(bound.read(*[wildcard] * 5)) == 5
    assert (
        code(lambda: bound.read(*[wildcard] * 6), "An answer has at most 5 entries: read fewer tables")
        == Code.RESOURCE_EXHAUSTED
    )


def test_nodes_are_bounded(bound: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum_switch.bfruntime.fixed_tables.MAX_NODES", 1)
    bound.write((Update.INSERT, node()))
    (refused,) = refusals(lambda: bound.write((Update.INSERT, node(301))))
    assert refused.canonical_code == Code.RESOURCE_EXHAUSTED.value[0]
    assert refused.message == "There are 1 nodes already: delete one first"
    bound.write((Update.DELETE, node()))


def test_details_of_many_refusals_fit_into_the_metadata(bound: Client) -> None:
    refused = codes(lambda: bound.write(*[(Update.DELETE, origin())] * 1000))
    assert set(refused) == {Code.NOT_FOUND.value[0]} and len(refused) == 64


def test_refusals_among_many_updates_are_all_counted(bound: Client) -> None:
    everything = messages.TableEntry(table_id=ORIGIN.id)
    updates = [(Update.DELETE, everything), (Update.DELETE, everything), (Update.DELETE, origin())] * 100
    assert code(lambda: bound.write(*updates), "100 of 300 updates were refused, too many to name") == Code.UNKNOWN


def test_client_that_is_unbound_cannot_read_or_write(bound: Client, client: Client) -> None:
    alone = f"Client {client.number} has no subscription: open a stream first"
    assert code(client.read, alone) == Code.UNAVAILABLE
    assert code(client.write, alone) == Code.UNAVAILABLE
    assert client.subscribe().subscribe.status.code == 0
    unbound = f"Client {client.number} is not bound to the program: send BIND first"
    assert code(client.read, unbound) == Code.NOT_FOUND
    assert code(client.write, unbound) == Code.NOT_FOUND
    lanesum = messages.ForwardingPipelineConfig(p4_name="lanesum")
    taken = f"Client {bound.number} is bound to the program: end its stream first"
    assert code(lambda: client.set(Set.BIND, lanesum), taken) == Code.ALREADY_EXISTS
    other = messages.ForwardingPipelineConfig(p4_name="other")
    assert code(lambda: client.set(Set.BIND, other), "The switch does not run program 'other'") == Code.NOT_FOUND
    assert code(lambda: client.set(Set.BIND)) == Code.INVALID_ARGUMENT
    several = "Programs are bound, or pushed in one or two steps"
    assert code(lambda: client.set(Set.VERIFY, lanesum), several) == Code.UNIMPLEMENTED


def test_request_from_other_connection_is_refused() -> None:
    with BfRuntimeServer(TofinoSwitch(), "127.0.0.1:0", spare=TofinoSwitch) as server:
        owner, other = bound_client(server.address), Client(server.address)
        other.subscribe()
        other.number = owner.number
        elsewhere = f"The stream of client {owner.number} is on another connection"
        assert code(other.read, elsewhere) == Code.PERMISSION_DENIED
        assert code(other.write, elsewhere) == Code.PERMISSION_DENIED
        assert code(lambda: other.push(CONFIG), elsewhere) == Code.PERMISSION_DENIED
        owner.read()
        other.close()
        owner.close()


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
    bound.write((Update.INSERT, origin()))
    config = forwarding_config(PIPELINE)
    change(config)
    assert code(lambda: bound.push(config), message) == Code.INVALID_ARGUMENT
    assert bound.read(key_of(origin())) == [origin()]
    bound.write((Update.DELETE, origin()))


def test_warm_restart_keeps_earlier_program_until_end(bound: Client, device: TofinoSwitch) -> None:
    earlier = device.tables["IngressPipeline.origin.origin"]
    bound.write((Update.INSERT, origin()), (Update.INSERT, node()), (Update.INSERT, group((300,))))
    early = f"Client {bound.number} has not begun a warm restart: begin one first"
    assert code(lambda: bound.set(Set.WARM_INIT_END), early) == Code.INVALID_ARGUMENT
    bound.set(Set.VERIFY_AND_WARM_INIT_BEGIN, CONFIG)
    assert len(bound.read(messages.TableEntry(table_id=ORIGIN.id))) == 1, "the next program has no entries yet"
    written = [origin(b"\n\0\0\2"), node(301), group((301,), number=2), route(24, b"\n\0\0\0")]
    bound.write(*[(Update.INSERT, entry) for entry in written])
    cell = register(lo=bytes(4), hi=bytes(4))
    assert codes(lambda: bound.write((Update.MODIFY, cell))) == [Code.UNIMPLEMENTED.value[0]]
    assert code(lambda: bound.read(key_of(cell))) == Code.UNIMPLEMENTED
    assert device.tables["IngressPipeline.origin.origin"] is earlier
    assert (len(list(earlier.entries())), list(device.multicast_groups)) == (1, [1])
    bound.set(Set.WARM_INIT_END)
    assert [entry.match for entry in device.tables["IngressPipeline.origin.origin"].entries()] != [
        entry.match for entry in earlier.entries()
    ]
    assert list(device.multicast_groups) == [2]
    assert [bound.read(key_of(entry)) for entry in written] == [[entry] for entry in written]
    bound.write((Update.DELETE, key_of(written[2])), (Update.MODIFY, cell))
    assert not device.multicast_groups
    twice = "No warm restart has begun, or a push has ended it: begin one first"
    assert code(lambda: bound.set(Set.WARM_INIT_END), twice) == Code.INVALID_ARGUMENT
    bound.push(CONFIG)
