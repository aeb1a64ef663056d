# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Networks with more hosts than a switch has table entries: refused before any switch is written."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from lanesum_control.controller.controller import Controller
from lanesum_control.planner.network import Network
from lanesum_fabric.errors import TableSizeError
from lanesum_fabric.program.capabilities import CONGESTION
from lanesum_fabric.program.manifest import BUILDS
from lanesum_fabric.program.pipelines import bmv2_pipeline, tofino_pipeline
from lanesum_fabric.tofino.chips import PIPES, PROFILES
from lanesum_fabric.topology import Topology, TopologyBuilder
from lanesum_fabric.topology.model import MAX_PORT
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site, request

PROGRAM = bmv2_pipeline().capabilities
HOST_ENTRIES = ("forward", "arp", "origin")


def racks(hosts: int, own_ip: str | None = None) -> Topology:
    """Return a tree of switches with ``hosts`` in all, a server and a controller among them."""
    build = TopologyBuilder("many", addresses="10.20.0.0/16")
    build.switch("s0", ip=own_ip)
    build.server("server", at="s0")
    build.controller("controller", at="s0")
    for number in range(hosts - 2):
        rack = f"s{1 + number // 400}"
        if number % 400 == 0:
            build.switch(rack, at="s0")
        build.worker(f"w{number}", at=rack)
    return build.topology()


@pytest.mark.parametrize(("hosts", "own_ip", "table"), [(1025, None, "forward"), (1024, "10.21.0.1", "arp")])
def test_topology_check_refuses_more_hosts_than_entries(
    hosts: int, own_ip: str | None, table: str, tmp_path: Path
) -> None:
    path = tmp_path / "many.yaml"
    path.write_text(racks(hosts, own_ip).to_yaml())
    found = invoke(["topology", "check", str(path)])
    assert found.exit_code == 2
    assert f"The network needs 1025 entries of table {table} at switch s0, which has 1024." in found.output


def test_topology_check_accepts_as_many_hosts_as_entries(tmp_path: Path) -> None:
    path = tmp_path / "many.yaml"
    path.write_text(racks(1024).to_yaml())
    assert "1022 workers" in invoke(["topology", "check", str(path)]).output


@pytest.mark.parametrize("table", HOST_ENTRIES)
def test_controller_with_too_many_hosts_writes_nothing(table: str) -> None:
    site = Site("tree2x2")
    hosts = len(site.network.seen["s1"])
    sizes = {**PROGRAM.sizes, table: hosts - 1}
    site.switches["s1"].capabilities = replace(PROGRAM, sizes=sizes)
    with pytest.raises(TableSizeError) as caught:
        site.start()
    error = caught.value
    assert (error.switch, error.table, error.size, error.needed) == ("s1", table, hosts - 1, hosts)
    assert not any(switch.connected or switch.log for switch in site.switches.values())
    site.switches["s1"].capabilities = replace(PROGRAM, sizes={**sizes, table: hosts})
    site.start()


def test_topology_diff_refuses_more_hosts_than_entries(controller: Controller, address: str, tmp_path: Path) -> None:
    controller.reconciler._switches["s1"].switch.capabilities = PROGRAM  # type: ignore[attr-defined, misc]
    controller.admit(request())
    path = tmp_path / "many.yaml"
    path.write_text(racks(1200).to_yaml())
    found = invoke(["topology", "diff", str(path), "--controller", address])
    text = " ".join(found.output.split())
    assert "needs 1200 entries of table forward at switch s1, which has 1024" in text and found.exit_code


def test_tables_of_all_builds_have_one_size() -> None:
    """``topology check`` need not know the program; other tables have entries by port, pipe or switch alone."""
    builds = [bmv2_pipeline(build.accumulator_words) for build in BUILDS if not build.with_faults]
    builds += [tofino_pipeline(one.name) for one in PROFILES]
    for build in builds:
        assert {table: build.capabilities.sizes[table] for table in HOST_ENTRIES} == {
            table: PROGRAM.sizes[table] for table in HOST_ENTRIES
        }
        assert build.names.table_size(CONGESTION) >= MAX_PORT + PIPES


def test_spines_count_the_hosts_they_see() -> None:
    network = Site("tree2x2x2").network
    assert isinstance(network, Network)
    for switch in network.switches:
        needed = len(network.seen[switch])
        with pytest.raises(TableSizeError, match=re.escape(f"{needed} entries of table origin at switch {switch}")):
            network.check_tables({switch: {"origin": needed - 1}})
        network.check_tables({switch: {"origin": needed}})
