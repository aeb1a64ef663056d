# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The controller with a switch that runs the Tofino program: ports, pipes and constant entries."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanesum.errors import ConfigurationError
from lanesum.protocol import Header, LaneOp, Packet
from lanesum.protocol.spec import UDP_PORT, Flag
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.planner.network import Network
from lanesum_control.switches.managed import RemoteSwitch
from lanesum_control.switches.switch import DELETE
from lanesum_fabric.errors import NotOfferedError, PipelineError
from lanesum_fabric.program.capabilities import CPU_PORT, OWNER_REGISTER, RECIRCULATION, owner_word
from lanesum_fabric.program.pipelines import bmv2_pipeline, tofino_pipeline
from lanesum_fabric.program.switch_job import NO_ROLE, SWITCH_MAC, HostPort, Member, Role, SwitchJob
from lanesum_fabric.topology import load
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.frames import UdpFrame
from lanesum_switch.p4runtime import P4RuntimeServer
from lanesum_switch.tna.switch import TofinoSwitch
from tests.control_plane.control_fakes import FakeServer
from tests.control_plane.protocols import PROTOCOLS, Protocol

PIPELINE = tofino_pipeline("tofino1-w32")
WIDE = tofino_pipeline("tofino2-w256")
RECIRCULATION_PORTS = (68, 196, 324, 452)
SECOND = 1_000_000_000
SERVER = HostPort(5, 0x0A000064, bytes([2, 0, 0, 0, 0, 0x64]))


class Process:
    """The chip's agent; its time begins with the program."""

    def __init__(self, folder: Path, protocol: Protocol) -> None:
        self.now = 0
        self.device = TofinoSwitch(clock=lambda: self.now)
        bare = f"unix:{folder}/agent"
        self.address = protocol.prefix + bare
        self.server = protocol.server(self.device, bare)


over_both = pytest.mark.parametrize("protocol", PROTOCOLS, ids=str)


@pytest.fixture
def process(protocol: Protocol, tmp_path: Path) -> Iterator[Process]:
    one = Process(tmp_path, protocol)
    with one.server:
        yield one


@pytest.fixture
def remote(process: Process) -> Iterator[RemoteSwitch]:
    switch = RemoteSwitch(process.address, PIPELINE)
    assert switch.connect(5.0) == ["program pushed"]
    yield switch
    switch.close()


def host(port: int) -> HostPort:
    return HostPort(port, 0x0A010000 + port, bytes([2, 0, 0, 1, port >> 8, port & 0xFF]))


def job(number: int, ports: tuple[int, ...], *, tag: int = 7, role: Role = NO_ROLE, lease: int = 10) -> SwitchJob:
    members = tuple(Member(bit, (host(port),), 19539) for bit, port in enumerate(ports))
    return SwitchJob(number, tag, 0, 4, number, members, (LaneOp.ADD32,), role=role, lease=lease)


def contribution(of: SwitchJob, worker: int, value: int, words: int = 32) -> tuple[int, bytes]:
    member = of.members[worker]
    header = Header(job=of.job, tag=of.tag, racks=words)
    payload = Packet(header, np.full(words, value, np.uint32)).pack()
    frame = UdpFrame(member.host.mac, SWITCH_MAC, member.host.ip, SERVER.ip, member.udp_port, UDP_PORT, payload)
    return member.host.port, frame.pack(checksum=True)


def sums(process: Any, port: int, frame: bytes) -> dict[int, int]:
    """Return the first payload word of the packets at each port."""
    out = {}
    for sent in process.device.process(port, frame):
        datagram = UdpFrame.unpack(sent.frame)
        assert datagram is not None
        out[sent.port] = int(Packet.unpack(datagram.payload).payload[0])
    return out


def turning(remote: RemoteSwitch) -> list[tuple[int, int]]:
    return sorted((entry.match["pipe"], entry.params["port"]) for entry in remote.device.entries(RECIRCULATION))


@over_both
def test_recirculation_is_set_up_and_kept(remote: RemoteSwitch) -> None:
    assert remote.reconcile([], []) == ["10 inserted (combine 4, recirculation 4, station 2)"]
    assert turning(remote) == list(enumerate(RECIRCULATION_PORTS))
    assert remote.reconcile([], []) == []
    remote.device.connection.write([(DELETE, entity) for entity in remote.device.own_entities()[-8::4]])
    assert remote.reconcile([], []) == ["2 inserted (combine 1, recirculation 1)"]


@over_both
def test_cpu_port_is_written_with_host_and_kept(remote: RemoteSwitch) -> None:
    """Not for hosts behind another switch, which have the same MAC address here."""
    elsewhere = HostPort(3, 0x0A010003, SWITCH_MAC, attached=False)
    remote.reconcile([host(1), elsewhere], [])
    assert remote.device.entries(CPU_PORT) == []
    hosts = [host(1), HostPort(64, 0x0A0100FE, SWITCH_MAC)]
    assert "cpu_port 1" in "".join(remote.reconcile(hosts, []))
    (entry,) = remote.device.entries(CPU_PORT)
    assert entry.params == {"port": 64}
    assert remote.reconcile(hosts, []) == []
    remote.reconcile([host(1)], [])
    assert remote.device.entries(CPU_PORT) == []


def test_recirculation_ports_are_the_configuration_s(process: Process) -> None:
    switch = RemoteSwitch(process.address, PIPELINE, recirculation=[196])
    switch.connect(5.0)
    switch.reconcile([], [])
    assert turning(switch) == [(1, 196)]
    switch.close()


@pytest.mark.parametrize(
    ("ports", "message"),
    [
        ([69], r"Port 69 is no recirculation port of Tofino 1\. It has 68, 196, 324, 452, one in each pipe"),
        ([68, 128], r"Port 128 is no recirculation port"),
        ([68, 68], r"A recirculation port is named twice: 68, 68"),
    ],
)
def test_ports_without_recirculation_are_refused_before_push(process: Process, ports: list[int], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        RemoteSwitch(process.address, PIPELINE, recirculation=ports)
    assert process.device.tna is None


def test_bmv2_sends_nothing_around(process: Process) -> None:
    RemoteSwitch(process.address, bmv2_pipeline(), recirculation=[])
    with pytest.raises(ConfigurationError, match=r"bmv2-w64\.json does not recirculate"):
        RemoteSwitch(process.address, bmv2_pipeline(), recirculation=[68])


def test_switch_of_another_kind_names_the_required_one(process: Process, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"[^.]\. It has to be a switch for BMv2 programs; .* \(make p4\)\.$"):
        RemoteSwitch(process.address, bmv2_pipeline()).connect(5.0)
    address = f"unix:{tmp_path}/bmv2"
    with (
        P4RuntimeServer(EmbeddedSwitch(), address, device_id=1),
        pytest.raises(PipelineError, match=r"It has to be a switch for Tofino 1 programs; .* \(make tofino\)\.$"),
    ):
        RemoteSwitch(address, PIPELINE).connect(5.0)


def network(**ports: int) -> Network:
    """Return star4 with other ports for some hosts."""
    star = Network.of(load("star4"), loopback=False)
    seen = {name: dataclasses.replace(one, port=ports.get(name, one.port)) for name, one in star.seen["s1"].items()}
    return dataclasses.replace(star, seen={"s1": seen})


@pytest.mark.parametrize(
    ("port", "message"),
    [
        (100, r"Tofino 1 has no port 100\. Give .* pipe \(0, 1, 2, 3\) times 128, and a number below 72"),
        (512, r"Tofino 1 has no port 512"),
        (196, r"Port 196 is the recirculation port of pipe 1 of Tofino 1\. Give the link another port"),
    ],
)
def test_network_with_ports_chip_lacks_is_refused(process: Process, port: int, message: str) -> None:
    switch = RemoteSwitch(process.address, PIPELINE)
    with pytest.raises(ConfigurationError, match=message):
        Controller(network(w3=port), FakeServer(), {"s1": switch}, accumulator_words=32)
    assert process.device.tna is None


def job_in_pipes() -> SwitchJob:
    """Return a job of two workers in pipe 0, which combines, and two in pipe 3."""
    rack = Member(2, (host(385), host(386)), 19539, aggregate=True)
    mine = job(5, (1, 2), role=Role.UPPER)
    return dataclasses.replace(mine, members=(*mine.members, rack), combining_pipe=0)


def check_sum_of_pipes(process: Process, mine: SwitchJob) -> None:
    (rack,) = mine.pipe_sums
    for of, worker, value in ((rack, 0, 1), (mine, 0, 20), (rack, 1, 300)):
        assert sums(process, *contribution(of, worker, value)) == {}
    assert sums(process, *contribution(mine, 1, 4000)) == dict.fromkeys((1, 2, 385, 386), 4321)


@over_both
def test_entries_of_all_pipes_are_repaired(process: Process, remote: RemoteSwitch) -> None:
    mine, hosts = job_in_pipes(), [host(port) for port in (1, 2, 385, 386)] + [SERVER]
    assert remote.reconcile(hosts, [mine])[0].endswith("(arp 5, combine 4, forward 5, member 6, multicast group 2, "
                                                       "origin 5, receiver 4, recirculation 4, station 2)")  # fmt: skip
    results, members = remote.device.job_entities(mine)
    remote.device.connection.write([(DELETE, one) for one in (results[0], results[-1], members[0])])
    (said,) = remote.reconcile(hosts, [mine])
    assert said == "3 inserted (member 1, multicast group 1, receiver 1)"
    check_sum_of_pipes(process, mine)
    shorter = dataclasses.replace(mine, slot_count=2)
    remote.device.modify(mine, shorter)
    assert remote.reconcile(hosts, [shorter]) == []
    remote.device.remove(shorter)
    assert remote.reconcile(hosts, []) == []


def test_restarted_agent_gets_parts_of_all_pipes(protocol: Protocol, tmp_path: Path) -> None:
    mine, hosts = job_in_pipes(), [host(port) for port in (1, 2, 385, 386)] + [SERVER]
    switch = RemoteSwitch(Process(tmp_path, protocol).address, PIPELINE)
    for _ in range(2):
        process = Process(tmp_path, protocol)
        with process.server:
            assert switch.connect(5.0) == ["program pushed"]
            assert switch.reconcile(hosts, [mine]) != []
            check_sum_of_pipes(process, mine)
    switch.close()


@over_both
def test_workers_in_two_pipes_are_summed_by_chip(process: Process) -> None:
    switch = RemoteSwitch(process.address, PIPELINE)
    controller = Controller(
        network(w3=130), FakeServer(), {"s1": switch}, accumulator_words=32, connect_timeout_s=120.0
    )
    apart = controller.admit(JobRequest("apart", ("w1", "w2", "w3"), slots=8))
    (mine,) = apart.switch_jobs.values()
    assert (mine.combining_pipe, apart.left_out) == (0, {})
    assert [ticket.place for ticket in apart.tickets] == [(0, 0), (1, 0), (2, 0)]
    for worker in range(2):
        assert sums(process, *contribution(mine, worker, worker + 1)) == {}
    ports = [member.host.port for member in mine.members]
    assert sums(process, *contribution(mine, 2, 10)) == dict.fromkeys(ports, 13)
    controller.remove("apart")
    assert switch.reconcile(list(network(w3=130).seen["s1"].values()), []) == []
    controller.close()


def test_workers_in_uncombinable_pipes_are_summed_by_server(process: Process) -> None:
    """As with programs without table combine. With a quorum the server would have to sum the pipes' sums."""
    switch = RemoteSwitch(process.address, PIPELINE, recirculation=[])
    controller = Controller(
        network(w3=130), FakeServer(), {"s1": switch}, accumulator_words=32, connect_timeout_s=120.0
    )
    here = controller.admit(JobRequest("here", ("w1", "w2"), slots=8))
    apart = controller.admit(JobRequest("apart", ("w2", "w4", "w3"), slots=8))
    some = controller.admit(JobRequest("some", ("w3", "w4"), slots=8, quorum=1))
    assert set(here.switch_jobs) == {"s1"}
    assert apart.switch_jobs == some.switch_jobs == {}
    assert apart.left_out == {
        "s1": "its members are at several pipes of the chip, and pipe 0 cannot combine their sums"
    }
    assert some.left_out == {"s1": "its members are at pipes 0, 1 of the chip, and a pipe sums alone"}
    controller.close()


@pytest.mark.parametrize("pipe", range(4))
def test_abandoned_entry_is_taken_over_in_every_pipe(process: Process, remote: RemoteSwitch, pipe: int) -> None:
    """By recirculation; the partial sum of the earlier job is discarded."""
    ports = tuple(128 * pipe + port for port in range(3))
    old, new = job(1, ports[:2], role=Role.SHARED), job(2, ports[1:], role=Role.SHARED)
    process.now += SECOND
    remote.reconcile([host(port) for port in ports] + [SERVER], [old, new])
    assert sums(process, *contribution(old, 0, 1000)) == {}
    assert set(sums(process, *contribution(new, 0, 3))) == {SERVER.port}
    process.now += SECOND
    assert sums(process, *contribution(new, 0, 3)) == {}
    assert sums(process, *contribution(new, 1, 4)) == dict.fromkeys(ports[1:], 7)
    decided = remote.device.decisions()
    # The entry was free, then owned by the old job. Each of the four packets is counted once; two were recirculated.
    assert (decided["take_over"], decided["collide"], decided["claim"]) == (2, 1, 2)
    assert (decided["aggregate"], decided["accept"], decided["genuine"]) == (4, 4, 4)


def test_pipe_without_recirculation_leaves_foreign_entries_alone(process: Process) -> None:
    switch = RemoteSwitch(process.address, PIPELINE, recirculation=[])
    switch.connect(5.0)
    old, new = job(1, (0,), role=Role.SHARED), job(2, (1,), role=Role.SHARED)
    switch.reconcile([host(0), host(1), SERVER], [old, new])
    process.now += SECOND
    for _ in range(2):
        assert set(sums(process, *contribution(new, 0, 3))) == {SERVER.port}
    switch.close()


@pytest.mark.parametrize("pipe", range(4))
def test_packets_of_several_passes_recirculate_in_every_pipe(process: Process, pipe: int) -> None:
    """A recirculation port in their own pipe is enough."""
    switch = RemoteSwitch(process.address, WIDE, recirculation=[128 * pipe + 6])
    switch.connect(5.0)
    ports = (128 * pipe, 128 * pipe + 1)
    mine = job(1, ports)
    switch.reconcile([*map(host, ports), SERVER], [mine])
    process.now += SECOND
    assert sums(process, *contribution(mine, 0, 3, 256)) == {}
    assert sums(process, *contribution(mine, 1, 4, 256)) == dict.fromkeys(ports, 7)
    switch.close()


def test_pipe_without_recirculation_gets_no_multi_pass_packets(process: Process) -> None:
    switch = RemoteSwitch(process.address, WIDE, recirculation=[134])
    switch.connect(5.0)
    switch.reconcile([host(0), host(1), SERVER], [])
    with pytest.raises(NotOfferedError, match="at pipe 0 of the chip, which has no recirculation port"):
        switch.device.admit(job(1, (0, 1)))
    assert switch.reconcile([host(0), host(1), SERVER], []) == []
    switch.close()


def test_workers_without_recirculation_port_are_summed_by_server(process: Process) -> None:
    switch = RemoteSwitch(process.address, WIDE, recirculation=[134])
    controller = Controller(network(), FakeServer(), {"s1": switch}, accumulator_words=256, connect_timeout_s=120.0)
    still = controller.admit(JobRequest("still", ("w1", "w2"), slots=8))
    assert still.switch_jobs == {}
    assert "no recirculation port" in still.left_out["s1"]
    controller.close()


def test_entries_know_their_owner_by_the_owner_word(process: Process, remote: RemoteSwitch) -> None:
    mine = job(0x1234, (0, 1), tag=0xCAFEF00D)
    remote.reconcile([host(0), host(1), SERVER], [mine])
    process.device.process(*contribution(mine, 0, 1))
    assert process.device.read_register(f"{OWNER_REGISTER}.lo", 0) == owner_word(0x1234, 0xCAFEF00D)


@over_both
def test_missing_operations_are_refused_before_any_write(remote: RemoteSwitch) -> None:
    remote.reconcile([host(0), SERVER], [])
    wrong = dataclasses.replace(job(3, (0,)), ops=(LaneOp.ADD32, LaneOp.TABLE8), code_table=bytes(16))
    with pytest.raises(NotOfferedError, match="TABLE8"):
        remote.device.admit(wrong)
    with pytest.raises(NotOfferedError, match="TABLE8"):
        remote.reconcile([host(0), SERVER], [wrong])
    assert remote.reconcile([host(0), SERVER], []) == []


def test_operations_that_it_lacks_pass_to_the_server(process: Process, remote: RemoteSwitch) -> None:
    mine = job(4, (0,))
    remote.reconcile([host(0), SERVER], [mine])
    header = Header(job=4, tag=7, racks=32, op=LaneOp.TABLE8)
    payload = Packet(header, np.arange(16, dtype=np.uint32)).pack()
    sender = host(0)
    frame = UdpFrame(sender.mac, SWITCH_MAC, sender.ip, SERVER.ip, 19539, UDP_PORT, payload).pack(checksum=True)
    (sent,) = process.device.process(0, frame)
    assert (sent.port, UdpFrame.unpack(sent.frame).payload) == (SERVER.port, payload)  # type: ignore[union-attr]
    assert not Header.unpack(payload).flags & Flag.COLLISION
