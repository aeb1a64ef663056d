# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ports of a switch of a topology on loopback, and their fault injectors."""

from __future__ import annotations

import select
import socket
from pathlib import Path

import pytest

from lanesum._internal.udp_socket import open_udp_socket
from lanesum.errors import ConfigurationError
from lanesum_fabric.topology import available, load
from lanesum_fabric.topology.files import parse
from lanesum_switch.faults.links import LinkFaults
from lanesum_switch.faults.plan import FaultPlan
from lanesum_switch.faults.topology_names import names_in, switch_links
from lanesum_switch.ports.faulty import FaultyPort
from lanesum_switch.ports.topology import ServerPort, TrunkPort, links_of, loopback_ports, worker_address
from lanesum_switch.ports.udp import UdpPort

# Addresses of its own, so that a run on this machine is not in the way.
TREE = parse(available()["tree2x2"].read_text().replace("10.19.", "10.91."), "tree")


def test_links_and_processes_have_names() -> None:
    names = names_in(TREE)
    assert names.links == {"w1", "w2", "w3", "w4", "server", "controller", "s1-s0", "s2-s0"}
    assert names.processes == {"w1", "w2", "w3", "w4", "server", "controller", "s0", "s1", "s2"}
    without = names_in(TREE, switches=False)
    assert without.links == {"w1", "w2", "w3", "w4"}
    assert without.processes == {"w1", "w2", "w3", "w4", "server", "controller"}


def test_server_position_decides_the_uplink_direction() -> None:
    moved = available()["tree2x2"].read_text().replace('"s0:5", "server"', '"s1:9", "server"')
    links = {link.name for link in switch_links(parse(moved, "moved"))}
    assert links == {"s0-s1", "s2-s0"}


def test_every_link_has_one_injector() -> None:
    everywhere = [link for switch in TREE.switches() for link in links_of(TREE, switch)]
    assert sorted(everywhere) == sorted(names_in(TREE).links)
    assert links_of(load("star4"), "s1") == load("star4").ports()


def test_ports_of_all_switches_at_once(tmp_path: Path) -> None:
    plan = FaultPlan.parse("rules: [{kind: drop, where: w1}, {kind: drop, where: s0-s2}]\n", "test")
    faults = LinkFaults(plan, tmp_path / "counts")
    ports = {switch: loopback_ports(TREE, switch, faults) for switch in TREE.switches()}
    try:
        kinds = {switch: {number: type(port) for number, port in opened.items()} for switch, opened in ports.items()}
        assert kinds == {
            "s0": {1: TrunkPort, 2: FaultyPort, 5: ServerPort},
            "s1": {1: FaultyPort, 2: UdpPort, 5: TrunkPort},
            "s2": {1: UdpPort, 2: UdpPort, 5: TrunkPort},
        }
        assert sorted(path.name for path in (tmp_path / "counts").iterdir()) == ["s2-s0.counts", "w1.counts"]
        ports["s1"][5].send(b"up")
        frames: list[bytes] = []
        while not frames:  # the test's time limit ends it
            select.select([ports["s0"][1]], [], [], 0.1)
            frames = ports["s0"][1].receive_batch()
        assert frames == [b"up"]
    finally:
        for opened in ports.values():
            for port in opened.values():
                port.close()


def test_every_server_has_a_port_and_a_process() -> None:
    tree = TREE.with_servers(3)
    assert {"server", "server2", "server3"} <= names_in(tree).processes & names_in(tree).links
    ports = loopback_ports(tree, "s0")
    assert [number for number, port in ports.items() if isinstance(port, ServerPort)] == [
        tree.ports("s0")[server] for server in tree.server_hosts()
    ]
    for port in ports.values():
        port.close()


def test_ports_worker_and_server_together_are_refused() -> None:
    beside = TREE.with_servers(2, on_workers=True)
    assert {"server", "server2"} <= names_in(beside).processes
    with pytest.raises(ConfigurationError, match="on the same host, as on w1"):
        loopback_ports(beside, "s0")


def test_ports_with_one_taken_leave_none_open() -> None:
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.bind(("127.255.0.1", 19539))
    with link, pytest.raises(ConfigurationError, match="link between two switches"):
        loopback_ports(TREE, "s1")
    for port in loopback_ports(TREE, "s1").values():
        port.close()
    with (
        open_udp_socket(worker_address(TREE, "w3")),
        pytest.raises(ConfigurationError, match="from the worker's address"),
    ):
        loopback_ports(TREE, "s0")
    for port in loopback_ports(TREE, "s0").values():
        port.close()
