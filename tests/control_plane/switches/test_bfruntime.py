# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Switches over BF Runtime: what differs from P4Runtime; ``test_switches_remote`` has what does not."""

from __future__ import annotations

import dataclasses
import json

import grpc
import pytest

from lanesum.errors import ConfigurationError
from lanesum_control.controller.controller import Controller
from lanesum_control.controller.monitor import Monitor
from lanesum_control.errors import NotPrimaryError, SwitchUnreachableError
from lanesum_control.planner.network import Network
from lanesum_control.switches.bfruntime.connection import BfRuntimeConnection, LinkNews, forwarding_config
from lanesum_control.switches.bfruntime.entries import ReplicationEngine, to_p4runtime
from lanesum_control.switches.managed import RemoteSwitch
from lanesum_control.switches.protocols import check_address
from lanesum_control.switches.switch import DELETE, INSERT
from lanesum_control.threads import run
from lanesum_fabric.bfruntime import messages
from lanesum_fabric.bfruntime.description import Description
from lanesum_fabric.bfruntime.ports import PortSettings, PortTable
from lanesum_fabric.errors import PipelineError, SwitchWriteError
from lanesum_fabric.program.capabilities import OWNER_REGISTER, owner_word
from lanesum_fabric.program.pipelines import bmv2_pipeline, tofino_pipeline
from lanesum_fabric.program.switch_job import HostPort, Member, SwitchJob
from lanesum_fabric.protobufs import p4runtime_pb2
from lanesum_fabric.topology import load
from lanesum_switch.api import Replica
from lanesum_switch.bfruntime.fixed_tables import DESCRIPTION
from tests.control_plane.control_fakes import FakeClock, FakeServer, request, what
from tests.control_plane.protocols import BF_RUNTIME, Process, Protocol
from tests.control_plane.switches.test_switches_tofino import SERVER, contribution, host, job, sums
from tests.waiting import wait_until

PIPELINE = BF_RUNTIME.pipeline()
FORWARD = "IngressPipeline.forward.forward"


@pytest.fixture
def protocol() -> Protocol:
    return BF_RUNTIME


def connection_of(remote: RemoteSwitch) -> BfRuntimeConnection:
    connection = remote.device.connection
    assert isinstance(connection, BfRuntimeConnection)
    return connection


def test_job_is_summed_and_register_has_owner(process: Process, remote: RemoteSwitch) -> None:
    mine = job(0x1234, (0, 1), tag=0xCAFEF00D)
    remote.reconcile([host(0), host(1), SERVER], [mine])
    assert sums(process, *contribution(mine, 0, 3)) == {}
    assert sums(process, *contribution(mine, 1, 4)) == {0: 7, 1: 7}
    decided = remote.device.decisions()
    assert (decided["aggregate"], decided["claim"], decided["contribute_and_complete"]) == (2, 1, 1)
    connection = connection_of(remote)
    owner = connection.read_register(OWNER_REGISTER, 0)
    assert owner == {"lo": [owner_word(0x1234, 0xCAFEF00D), 0, 0, 0], "hi": [0, 0, 0, 0]}
    assert connection.read_register("IngressPipeline.lanes.words_0", 0) == {"f1": [7, 0, 0, 0]}
    connection.write_register(OWNER_REGISTER, 0, {"lo": 5, "hi": 6})
    assert connection.read_register(OWNER_REGISTER, 0) == {"lo": [5] * 4, "hi": [6] * 4}
    with pytest.raises(PipelineError, match="has the fields lo, hi, not lo"):
        connection.write_register(OWNER_REGISTER, 0, {"lo": 5})
    with pytest.raises(SwitchWriteError, match=r"The switch at .* refused cell 1048576 of register .*slot_owner"):
        connection.write_register(OWNER_REGISTER, 1 << 20, {"lo": 5, "hi": 6})
    with pytest.raises(PipelineError, match="The switch's program has no register nothing"):
        connection.read_register("nothing", 0)
    with pytest.raises(SwitchUnreachableError, match=r"Reading from the switch at .* failed: NOT_FOUND"):
        connection.read_register(OWNER_REGISTER, 1 << 20)


def test_answers_that_another_program_gives_are_refused() -> None:
    tables = json.loads(DESCRIPTION)["tables"]
    for text, said in (
        (b"{}", "The description is no bf-rt JSON: KeyError"),
        (json.dumps({"tables": [*tables, tables[0]]}).encode(), "The description has two tables of one id or name"),
    ):
        with pytest.raises(PipelineError, match=said):
            Description(text)
    description = Description(DESCRIPTION)
    with pytest.raises(PipelineError, match=r"The agent has no table nothing\. Use an agent that has it"):
        description.named("nothing")
    table = next(iter(description.by_id.values()))
    with pytest.raises(PipelineError, match=r"Table .* has no field nothing\. Use an agent that has it"):
        table.key("nothing")
    entry = messages.TableEntry(table_id=table.id)
    entry.key.fields.add(field_id=77)
    with pytest.raises(PipelineError, match=rf"an entry of table {table.id} with number 77, which this program lacks"):
        to_p4runtime(description, entry)
    group = p4runtime_pb2.MulticastGroupEntry(multicast_group_id=1)
    for port in range(257):
        group.replicas.add(egress_port=port, instance=1)
    with pytest.raises(SwitchWriteError, match="Group 1 has 257 replicas; 256 are possible"):
        list(ReplicationEngine(description).insertion(group))


class FailedCall(grpc.RpcError):
    """The agent's answer to a call that it cannot carry out."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.INTERNAL

    def details(self) -> str:
        return "Warm init failed."


def test_agent_that_cannot_restart_is_named(remote: RemoteSwitch, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise FailedCall

    connection = connection_of(remote)
    monkeypatch.setattr(connection, "_call", fail)
    monkeypatch.setattr(connection, "_is_pushing", True)
    with pytest.raises(PipelineError, match=r"The switch at .* did not end its restart: Warm init failed\. Look at"):
        connection.end_push()
    monkeypatch.setattr(connection, "_engine", None)
    monkeypatch.setattr(connection, "_config", lambda: None)
    with pytest.raises(SwitchUnreachableError, match=r"The switch at .* runs no program"):
        _ = connection._engine_here


def test_refused_entry_is_named_and_others_are_written(process: Process, remote: RemoteSwitch) -> None:
    mine = job(1, (0, 1))
    remote.reconcile([host(0), host(1), SERVER], [mine])
    results, members = remote.device.job_entities(mine)
    missing, _ = remote.device.job_entities(job(2, (0, 1)))
    with pytest.raises(SwitchWriteError) as caught:
        remote.device.connection.write([(INSERT, one) for one in (results[1], missing[1], members[0])])
    assert "ALREADY_EXISTS" in str(caught.value) and "(secret)" in str(caught.value)
    assert remote.reconcile([host(0), host(1), SERVER], [mine]) == ["1 deleted (receiver 1)"]


def test_nodes_left_behind_are_repaired(process: Process, remote: RemoteSwitch) -> None:
    """A write of a group ended between its nodes, and between nodes and group."""
    mine = job(1, (0, 1))
    hosts = [host(0), host(1), SERVER]
    remote.reconcile(hosts, [mine])
    group = remote.device.job_entities(job(2, (0, 1)))[0][0].packet_replication_engine_entry.multicast_group_entry
    connection = connection_of(remote)
    updates = list(ReplicationEngine(Description(DESCRIPTION)).insertion(group))

    def write(*some: object) -> None:
        message = messages.WriteRequest(client_id=1, updates=some)
        message.target.pipe_id = messages.ALL_PIPES
        run(connection._session.call("Write", message.SerializeToString(), 15.0))

    write(updates[0])
    assert remote.reconcile(hosts, [mine]) == ["1 deleted (multicast group 1)"]
    assert remote.reconcile(hosts, [mine]) == []
    write(updates[0], updates[1])
    both = [mine, job(2, (0, 1), tag=8)]
    assert remote.reconcile(hosts, both) == [
        "4 inserted (member 2, receiver 2)", "1 corrected (multicast group 1)",
    ]  # fmt: skip
    assert process.device.multicast_groups[2] == (Replica(0, 2), Replica(1, 3))
    assert remote.reconcile(hosts, [mine]) == ["5 deleted (member 2, multicast group 1, receiver 2)"]
    assert process.device.multicast_groups.keys() == {1}
    with pytest.raises(SwitchWriteError, match="NOT_FOUND"):
        remote.device.connection.write([(DELETE, remote.device.job_entities(both[1])[0][0])])


def test_other_program_runs_until_next_entries_are_written(process: Process) -> None:
    before = process.remote(BF_RUNTIME.other_pipeline())
    before.connect(5.0)
    before.reconcile([host(0)], [])
    before.close()
    earlier = process.device.tna
    remote = process.remote()
    assert remote.connect(5.0) == ["program pushed"]
    assert process.device.tna is earlier and len(list(process.device.tables[FORWARD].entries())) == 1
    assert "forward 2" in remote.reconcile([host(0), host(1)], [])[0]
    assert process.device.tna is not earlier and len(list(process.device.tables[FORWARD].entries())) == 2
    remote.check()
    assert remote.agrees([host(0), host(1)], []) and remote.reconcile([host(0), host(1)], []) == []
    remote.close()


def test_agent_without_warm_restart_uses_single_step_push(
    remote: RemoteSwitch, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.close()
    monkeypatch.setattr(process.server._service._agent, "_spare", None)
    other = process.remote(BF_RUNTIME.other_pipeline())
    earlier = process.device.tna
    assert other.connect(5.0) == ["program pushed"]
    assert process.device.tna is not earlier
    other.reconcile([host(0)], [])
    other.check()
    other.close()


def test_second_controller_waits_until_the_first_leaves(remote: RemoteSwitch, process: Process) -> None:
    second = process.remote(priority=2)
    with pytest.raises(NotPrimaryError, match=r"Another BF Runtime client is bound to lanesum .* is client 2\. Stop"):
        second.connect(5.0)
    remote.check()
    second.watch(lambda: None)

    def connected() -> bool:
        try:
            return second.connect(0.0) == []
        except (NotPrimaryError, SwitchUnreachableError):
            return False

    assert not connected()
    remote.close()
    wait_until(connected)
    second.check()
    second.close()


def test_client_id_in_use_is_refused(remote: RemoteSwitch, process: Process) -> None:
    with pytest.raises(SwitchUnreachableError, match="refused a session: Client id 1 is in use"):
        process.remote().connect(5.0)
    remote.check()


def test_push_of_another_client_is_noticed(remote: RemoteSwitch, process: Process) -> None:
    """Any client may push; the entries are gone, though the program is the same."""
    remote.reconcile([host(0)], [])
    remote.check()
    assert run(remote.unchanged())
    session = connection_of(remote)._session
    message = messages.SetForwardingPipelineConfigRequest(
        client_id=9,
        action=messages.SetForwardingPipelineConfigRequest.VERIFY_AND_WARM_INIT_BEGIN_AND_END,
        config=[forwarding_config(PIPELINE)],
    )
    run(session.call("SetForwardingPipelineConfig", message.SerializeToString(), 60.0))
    wait_until(lambda: not session.was_primary)
    assert not run(remote.unchanged())
    with pytest.raises(NotPrimaryError, match="Another BF Runtime client has pushed a program"):
        remote.check()
    assert remote.connect(5.0) == []
    assert "forward 1" in remote.reconcile([host(0)], [])[0]


def test_restarted_agent_is_repaired_by_the_monitor(process: Process) -> None:
    network = Network.of(load("star4"), loopback=False)
    remote = process.remote()
    controller = Controller(
        network, FakeServer(), {"s1": remote}, accumulator_words=PIPELINE.accumulator_words, connect_timeout_s=120.0
    )
    controller.admit(request())
    groups = dict(process.device.multicast_groups)
    with Monitor(controller, interval_s=0.02):
        process.stop()
        wait_until(lambda: any("lost" in text for text in what(controller, "s1")))
        process.start()
        wait_until(lambda: what(controller, "s1")[-1].startswith("connected: program pushed, "))
    assert "member 4" in what(controller, "s1")[-1]
    assert groups and process.device.multicast_groups == groups
    controller.close()


def test_link_news_of_a_flapping_port_are_bounded() -> None:
    clock = FakeClock()
    news = LinkNews(clock)
    told = []
    for number in range(100):
        told += news.take([(2, number % 2 == 0)])
        clock.now += 0.5
    assert told == ["port 2 is up", "port 2 is down"] * 5
    assert news.take([(3, False)]) == ["port 3 is down"]
    clock.now += 60
    assert news.take([]) == ["port 2 is down, after 90 changes"]
    assert news.take([]) == []


def test_link_that_changes_is_an_event(process: Process) -> None:
    network = Network.of(load("star4"), loopback=False)
    controller = Controller(
        network,
        FakeServer(),
        {"s1": process.remote()},
        accumulator_words=PIPELINE.accumulator_words,
        connect_timeout_s=120.0,
    )
    with Monitor(controller):
        wait_until(lambda: any(text.startswith("connected") for text in what(controller, "s1")))
        process.server.set_link(2, is_up=False)
        wait_until(lambda: what(controller, "s1")[-1] == "port 2 is down")
        process.server.set_link(2, is_up=True)
        wait_until(lambda: what(controller, "s1")[-1] == "port 2 is up")
    controller.close()


def test_bmv2_program_is_refused_before_any_call() -> None:
    with pytest.raises(ConfigurationError, match=r"bmv2-w64\.json is no program for Tofino"):
        RemoteSwitch("bfruntime:unix:/nowhere", bmv2_pipeline())


@pytest.mark.parametrize("address", ["bfruntime:127.0.0.1:1", "bfruntime:unix:/x", "127.0.0.1:1", "unix:/x"])
def test_address_names_the_protocol(address: str) -> None:
    check_address(address)
    with pytest.raises(ConfigurationError, match="is no address of a switch"):
        check_address("bfruntime:nowhere")


def test_description_of_another_build_is_refused(process: Process) -> None:
    other = dataclasses.replace(PIPELINE, p4info_path=BF_RUNTIME.other_pipeline().p4info_path)
    with pytest.raises(PipelineError, match=r"refused tofino1-w32\.printed\.p4: The program was refused: The descr"):
        RemoteSwitch(f"bfruntime:{process.address}", other).connect(5.0)
    assert process.device.tna is None
    with pytest.raises(PipelineError, match="has other numbers in the bf-rt description than in the P4Info"):
        mixed = dataclasses.replace(tofino_pipeline("tofino1-w32"))
        object.__setattr__(mixed, "description", other.description)
        with BfRuntimeConnection(process.address) as connection:
            connection.use_names(mixed)


def test_group_with_more_replicas_than_numbers_is_refused(remote: RemoteSwitch) -> None:
    hosts = tuple(HostPort(1, 0x0A000000 + n, bytes(6)) for n in range(257))
    members = tuple(Member(n, (one,), 19539) for n, one in enumerate(hosts))
    with pytest.raises(SwitchWriteError, match="Group 1 has 257 replicas; 256 are possible"):
        remote.device.admit(SwitchJob(1, 7, 0, 4, 1, members, ()))


def test_ports_in_use_get_and_keep_settings(process: Process) -> None:
    table = PortTable(Description(DESCRIPTION)).id

    def connected(settings: str) -> list[str]:
        remote = process.remote(ports=PortSettings.parse(settings))
        remote.check_ports({0, 5})
        done = remote.connect(5.0)
        entries = connection_of(remote)._read_tables([table])
        assert [entry.key.fields[0].exact.value[-1] for entry in entries] == [0, 5]
        speed, *_, enabled = entries[0].data.fields
        assert speed.str_val == f"BF_SPEED_{settings.split(':')[0]}" and enabled.bool_val
        remote.close()
        return done

    assert connected("100G:rs") == ["program pushed", "2 ports configured"]
    assert connected("100G:rs") == []
    assert connected("25G:fc") == ["2 ports configured"]
    assert connected("25G:fc:1") == ["2 ports configured"]
    assert connected("25G:fc:1") == []


@pytest.mark.parametrize(
    "text", ["", "100G", "1T:rs", "100G:best", "100G:rs:", "100G:rs:0", "100G:rs:9", "100G:rs:4:1"]
)
def test_invalid_port_settings_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="Invalid port settings"):
        PortSettings.parse(text)


def test_port_settings_over_p4runtime_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="P4Runtime does not configure the ports"):
        RemoteSwitch("unix:/nowhere", bmv2_pipeline(), ports=PortSettings("100G", "rs"))
