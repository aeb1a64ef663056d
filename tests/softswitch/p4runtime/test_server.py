# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Addresses, start and stop, and additions to simple_switch_grpc."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from lanesum.errors import ConfigurationError
from lanesum.rpc.caller import Caller
from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.p4runtime import P4RuntimeServer
from lanesum_switch.p4runtime.arbitration import MAX_QUEUED, Connection
from lanesum_switch.p4runtime.calls import MAX_STREAM_MESSAGE_BYTES
from lanesum_switch.p4runtime.server import LIMITS, Devices

from .client import OK, Client, Outcome, Program, exact
from .fake_switch import FakeSwitch

Set = p4rt.SetForwardingPipelineConfigRequest


@pytest.fixture
def switch() -> FakeSwitch:
    return FakeSwitch(cpu_port=510)


@pytest.fixture
def server(switch: FakeSwitch) -> Iterator[P4RuntimeServer]:
    with P4RuntimeServer(switch, "127.0.0.1:0", 1) as running:
        yield running


@pytest.fixture
def client(server: P4RuntimeServer) -> Iterator[Client]:
    found = Client(server.address)
    yield found
    found.close()


def test_free_port_is_reported(server: P4RuntimeServer) -> None:
    host, _, port = server.address.rpartition(":")
    assert host == "127.0.0.1"
    assert int(port) > 0


def test_port_in_use_raises_with_next_step(server: P4RuntimeServer) -> None:
    with pytest.raises(ConfigurationError, match="Stop the process that uses it") as failure:
        P4RuntimeServer(FakeSwitch(), server.address).start()
    assert server.address in str(failure.value)
    assert failure.value.exit_code == 2


def test_malformed_addresses() -> None:
    for address in ("", "nowhere", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:-1", ":5"):
        with pytest.raises(ConfigurationError, match="host:port"):
            P4RuntimeServer(FakeSwitch(), address).start()
    with pytest.raises(ConfigurationError):
        P4RuntimeServer(FakeSwitch(), "256.0.0.1:1").start()


def test_unix_sockets(tmp_path: Path, small: Program) -> None:
    address = f"unix:{tmp_path}/p4rt.sock"
    with P4RuntimeServer(FakeSwitch(), address, 1) as server:
        assert server.address == address
        client = Client(address)
        assert client.push(small.config()) == OK
        client.close()
        with pytest.raises(ConfigurationError):
            P4RuntimeServer(FakeSwitch(), address).start()
    # The socket file of a killed server is no obstacle.
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / "stale.sock"))
    with P4RuntimeServer(FakeSwitch(), f"unix:{tmp_path}/stale.sock"):
        pass
    (tmp_path / "file").write_text("not a socket")
    with pytest.raises(ConfigurationError):
        P4RuntimeServer(FakeSwitch(), f"unix:{tmp_path}/file").start()


def test_close_ends_open_streams_and_may_be_repeated(switch: FakeSwitch) -> None:
    server = P4RuntimeServer(switch, "127.0.0.1:0", 1)
    server.start()
    client = Client(server.address)
    stream = client.stream()
    stream.arbitrate(1)
    assert stream.role() == ("OK", 1)
    server.close()
    server.close()
    assert isinstance(stream.get(), Outcome)
    assert switch.cpu_listener is None
    client.close()


def test_packet_outs_are_injected_at_the_cpu_port(small: Program) -> None:
    injected: list[tuple[int, bytes]] = []
    switch = FakeSwitch(cpu_port=192)
    with P4RuntimeServer(switch, "127.0.0.1:0", 1, inject=lambda p, f: injected.append((p, f))) as server:
        client = Client(server.address)
        assert client.push(small.config()) == OK
        stream = client.stream()
        stream.arbitrate(1)
        assert stream.role() == ("OK", 1)
        # The program has no controller headers: no metadata either way.
        stream.send(packet=p4rt.PacketOut(payload=b"raw"))
        dropped = p4rt.PacketOut(payload=b"with metadata")
        dropped.metadata.add(metadata_id=1, value=b"\x01")
        stream.send(packet=dropped)
        assert stream.silent()
        assert injected == [(192, b"raw")]
        assert switch.cpu_listener is not None
        switch.cpu_listener(b"to the controller")
        assert stream.get().packet == p4rt.PacketIn(payload=b"to the controller")
        client.close()


def test_short_packets_to_the_controller_are_dropped(client: Client, switch: FakeSwitch, everything: Program) -> None:
    assert client.push(everything.config()) == OK
    stream = client.stream()
    stream.arbitrate(1)
    assert stream.role() == ("OK", 1)
    assert switch.cpu_listener is not None
    switch.cpu_listener(b"abc")
    assert stream.silent()
    switch.cpu_listener(b"\x80\xff\xff\xf0rest")
    packet = stream.get().packet
    assert [m.value for m in packet.metadata] == [b"\x01\x01", b"\x7f", b"\x0f\xff", b"\0"]
    assert packet.payload == b"rest"


def test_client_not_reading_loses_packets_but_no_arbitration() -> None:
    connection = Connection()
    for number in range(MAX_QUEUED + 5):
        connection.send(number)
    assert connection.dropped == 5
    connection.send("arbitration", must_arrive=True)
    received = [connection.take() for _ in range(MAX_QUEUED + 1)]
    assert received == [*range(MAX_QUEUED), "arbitration"]
    connection.close()
    assert connection.take() is None


def test_silent_streams_leave_room_for_others(client: Client) -> None:
    """A stream without a message occupies no place for long: one more ends the oldest."""
    silent = [client.stream() for _ in range(LIMITS.silent)]
    speaking = client.stream()
    speaking.arbitrate(1)
    assert speaking.role() == ("OK", 1)
    while not (ended := [stream for stream in silent if not stream.messages.empty()]):
        time.sleep(0.01)
    assert [stream.get() for stream in ended] == [Outcome("RESOURCE_EXHAUSTED")]
    assert client.stub.Capabilities(p4rt.CapabilitiesRequest(), timeout=120).p4runtime_api_version


def test_caller_at_stream_limit_leaves_streams_to_others(switch: FakeSwitch) -> None:
    def named(metadata: Any, _context: Any) -> Caller:
        return Caller(name=metadata["user-agent"].split()[0])

    with P4RuntimeServer(switch, "127.0.0.1:0", 1, authenticate=named) as server:
        greedy, other = Client(server.address, name="greedy"), Client(server.address, name="other")
        for election_id in range(2, LIMITS.streams_of_caller + 2):
            stream = greedy.stream()
            stream.arbitrate(election_id)
            assert stream.role() == ("OK", election_id)
        late = greedy.stream()
        late.arbitrate(100)
        assert late.get() == Outcome("RESOURCE_EXHAUSTED")
        stream = other.stream()
        stream.arbitrate(1)
        assert stream.role() == ("ALREADY_EXISTS", LIMITS.streams_of_caller + 1)
        for client in (greedy, other):
            client.close()


def test_stream_without_a_message_ends_in_time(switch: FakeSwitch) -> None:
    with P4RuntimeServer(switch, "127.0.0.1:0", 1, limits=replace(LIMITS, message_s=0.2)) as server:
        client = Client(server.address)
        assert client.stream().get() == Outcome("DEADLINE_EXCEEDED")
        while True:
            speaking = client.stream()
            speaking.arbitrate(1)
            if (answer := speaking.get()) != Outcome("DEADLINE_EXCEEDED"):  # a busy machine may send too late
                break
        assert answer.arbitration.election_id.low == 1
        assert speaking.silent(0.5)
        client.close()


def test_stream_message_beyond_a_packet_is_refused(client: Client) -> None:
    """Stream messages are read where all calls are: a large one would delay the others."""
    stream = client.stream()
    stream.arbitrate(1)
    assert stream.role() == ("OK", 1)
    stream.send(packet=p4rt.PacketOut(payload=bytes(MAX_STREAM_MESSAGE_BYTES)))
    assert stream.get() == Outcome("RESOURCE_EXHAUSTED")


def test_devices_keeps_only_what_a_stream_holds() -> None:
    devices = Devices()
    assert devices.get(2**64 - 1) is not devices.get(2**64 - 1)
    held = devices.hold(7)
    assert devices.hold(7) is devices.get(7) is held
    devices.release(held)
    assert devices.get(7) is held
    devices.release(held)
    assert devices.get(7) is not held


def test_stream_that_ended_does_not_become_primary(client: Client) -> None:
    for _ in range(20):
        short = client.stream()
        short.arbitrate(9)
        short.cancel()
    last = client.stream()
    last.arbitrate(1)
    message = last.get()
    while message.arbitration.election_id.low != 1:
        message = last.get()
    assert message.arbitration.status.code == 0
    assert last.silent()


# -- configurations that do not fit together: BMv2 loads them, and fails later


def message_of(client: Client, config: Any, action: int = Set.VERIFY_AND_COMMIT) -> str:
    import grpc

    request = p4rt.SetForwardingPipelineConfigRequest(device_id=1, action=action, config=config)
    with pytest.raises(grpc.RpcError) as failure:
        client.stub.SetForwardingPipelineConfig(request)
    error: Any = failure.value
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    details: str = error.details()
    return details


def test_mismatches_are_named(client: Client, everything: Program, small: Program) -> None:
    config = everything.config()
    config.p4_device_config = small.json
    for action in (Set.VERIFY, Set.VERIFY_AND_SAVE, Set.VERIFY_AND_COMMIT, Set.RECONCILE_AND_COMMIT):
        assert "table IngressImpl.exact_table" in message_of(client, config, action)

    config = everything.config()
    config.p4info.tables[0].action_refs[0].id = everything.ids["metered"]
    assert "IngressImpl.exact_table" in message_of(client, config)
    assert "IngressImpl.metered" in message_of(client, config)

    config = everything.config()
    config.p4info.tables[0].action_refs[0].id = 0x01FFFFFF
    assert "0x1ffffff" in message_of(client, config)

    config = everything.config()
    config.p4info.tables[0].match_fields[1].bitwidth = 5
    assert "nibble" in message_of(client, config)

    config = everything.config()
    config.p4info.tables[0].match_fields[1].match_type = 4
    assert "nibble" in message_of(client, config)

    config = everything.config()
    del config.p4info.tables[0].match_fields[1]
    assert "1 match fields" in message_of(client, config)

    config = everything.config()
    action = next(a for a in config.p4info.actions if a.preamble.alias == "set_odd")
    action.params[0].bitwidth = 13
    assert "IngressImpl.set_odd" in message_of(client, config)

    for field in ("counters", "meters", "action_profiles", "digests"):
        config = everything.config()
        getattr(config.p4info, field)[0].preamble.name = "elsewhere"
        assert "elsewhere" in message_of(client, config)


def test_translated_types_may_have_another_width(client: Client, everything: Program) -> None:
    config = everything.config()
    field = config.p4info.tables[0].match_fields[1]
    field.bitwidth = 32
    field.type_name.name = "nibble_id_t"
    assert client.push(config, Set.VERIFY) == OK
    action = next(a for a in config.p4info.actions if a.preamble.alias == "set_odd")
    action.params[0].bitwidth = 32
    action.params[0].type_name.name = "odd_id_t"
    assert client.push(config, Set.VERIFY) == OK


def test_push_invalid_device_config_is_refused(client: Client, small: Program) -> None:
    for garbage in (b"{", b"[]", b"{}", b"\xff\xfe"):
        config = p4rt.ForwardingPipelineConfig(p4info=small.p4info, p4_device_config=garbage)
        assert "BMv2 JSON" in message_of(client, config)
    # No program is installed.
    assert client.pipeline() == p4rt.ForwardingPipelineConfig()


def nested(depth: int) -> bytes:
    """Return a WriteRequest with P4Data within P4Data, more deeply than protobuf allows."""

    def field(number: int, content: bytes) -> bytes:
        size, out = len(content), bytearray([number << 3 | 2])
        while size > 0x7F:
            out.append(size & 0x7F | 0x80)
            size >>= 7
        return bytes([*out, size]) + content

    data = b""
    for _ in range(depth):
        data = field(4, field(1, data))  # P4Data.tuple, P4StructLike.members
    register = field(11, field(3, data))  # Entity.register_entry, RegisterEntry.data
    return field(4, field(2, register))  # WriteRequest.updates, Update.entity


def refusal(client: Client, data: bytes) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as raised:
        client.channel.unary_unary("/p4.v1.P4Runtime/Write")(data, timeout=60)
    return raised.value.code(), raised.value.details()


def test_message_with_invalid_text_is_refused(client: Client) -> None:
    data = p4rt.WriteRequest(role="role").SerializeToString().replace(b"role", b"r\xffle")
    assert refusal(client, data) == (grpc.StatusCode.INTERNAL, "The message is no p4.v1.WriteRequest.")


def test_message_nested_too_deeply_is_refused(client: Client, small: Program) -> None:
    assert p4rt.WriteRequest.FromString(nested(9)).updates[0].entity.register_entry.data.tuple.members
    for depth in (1000, 5000):
        assert refusal(client, nested(depth)) == (grpc.StatusCode.INTERNAL, "The message is no p4.v1.WriteRequest.")
    assert client.push(small.config()) == OK


def test_failed_push_keeps_the_pipeline(client: Client, small: Program, everything: Program) -> None:
    assert client.push(small.config(cookie=1)) == OK
    entity = small.entry("forward", [exact(1, b"\x01")], small.action("nothing"))
    assert client.insert(entity) == "OK"
    config = everything.config(cookie=2)
    config.p4_device_config = small.json
    message_of(client, config)
    assert client.pipeline().cookie.cookie == 1
    assert client.read_ok(small.entry("forward")) == [entity]


def test_p4info_alone_describes_what_is_loaded(
    client: Client, switch: FakeSwitch, small: Program, everything: Program
) -> None:
    switch.load(small.json)
    bare = p4rt.ForwardingPipelineConfig(p4info=small.p4info)
    assert client.push(bare, Set.VERIFY_AND_SAVE) == Outcome("UNKNOWN")
    assert client.push(bare) == OK
    assert client.insert(small.entry("forward", [exact(1, b"\x01")], small.action("nothing"))) == "OK"
    other = p4rt.ForwardingPipelineConfig(p4info=everything.p4info)
    assert "IngressImpl.exact_table" in message_of(client, other)


def test_programs_that_the_switch_cannot_run(client: Client, switch: FakeSwitch, small: Program) -> None:
    def refuse(_: bytes) -> None:
        raise UnsupportedProgramError("extern gyroscope")

    switch.load = refuse  # type: ignore[method-assign]
    assert client.push(small.config()) == Outcome("UNIMPLEMENTED")


def test_saving_needs_a_second_switch(client: Client, small: Program) -> None:
    assert client.push(small.config(), Set.VERIFY_AND_SAVE) == Outcome("UNIMPLEMENTED")


def test_commit_carries_everything_over(small: Program, everything: Program) -> None:
    switch = FakeSwitch(cpu_port=510)
    with P4RuntimeServer(switch, "127.0.0.1:0", 1, spare=FakeSwitch) as server:
        client = Client(server.address)
        assert client.push(small.config()) == OK
        assert client.push(everything.config(), Set.VERIFY_AND_SAVE) == OK
        assert "IngressImpl.exact_table" not in switch.tables
        ids = everything.ids
        choice = everything.action("set_choice", b"\x01")
        member = p4rt.ActionProfileMember(action_profile_id=ids["selector"], member_id=1, action=choice)
        profile_group = p4rt.ActionProfileGroup(action_profile_id=ids["selector"], group_id=1)
        profile_group.members.add(member_id=1, weight=2)
        by_group = p4rt.TableAction(action_profile_group_id=1)
        counted = everything.entry("exact_table", [exact(1, b"\x01"), exact(2, b"\x01")], choice)
        counted.table_entry.counter_data.packet_count = 3
        metered = everything.entry("meter_table", [exact(1, b"\x01")], everything.action("nothing"))
        metered.table_entry.meter_config.pir = 5
        group = p4rt.Entity()
        group.packet_replication_engine_entry.multicast_group_entry.multicast_group_id = 1
        session = p4rt.Entity()
        session.packet_replication_engine_entry.clone_session_entry.session_id = 1
        inserted = [
            p4rt.Entity(action_profile_member=member),
            p4rt.Entity(action_profile_group=profile_group),
            everything.entry("selector_table", [exact(1, b"\x01")], by_group),
            counted,
            metered,
            group,
            session,
        ]
        for entity in inserted:
            assert client.insert(entity) == "OK"
        default = everything.entry("lpm_table", (), choice, is_default_action=True)
        cell = p4rt.Entity(counter_entry=p4rt.CounterEntry(counter_id=ids["cells"]))
        cell.counter_entry.index.index = 2
        cell.counter_entry.data.byte_count = 8
        rates = p4rt.Entity(meter_entry=p4rt.MeterEntry(meter_id=ids["byte_meter"]))
        rates.meter_entry.index.index = 2
        rates.meter_entry.config.pir = 8
        for entity in (default, cell, rates):
            assert client.modify(entity) == "OK"
        details = everything.entry("exact_table")
        details.table_entry.counter_data.SetInParent()
        reads = [*inserted, default, cell, rates, details, p4rt.Entity(table_entry=p4rt.TableEntry())]
        before = [client.read_ok(entity) for entity in reads]
        assert client.push(p4rt.ForwardingPipelineConfig(), Set.COMMIT) == OK
        assert [client.read_ok(entity) for entity in reads] == before
        assert set(switch.tables) >= {t.preamble.name for t in everything.p4info.tables}
        assert list(switch.multicast_groups) == [1]
        assert list(switch.clone_sessions) == [1]
        client.close()
