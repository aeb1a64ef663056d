# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Number and hosts of the aggregation servers of a run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lanesum.errors import ConfigurationError
from lanesum_fabric.topology.files import parse
from lanesum_lab.run.options import RunOptions
from lanesum_lab.run.plan import RunPlan, make_plan
from lanesum_lab.run.site import Scratch, start_plan


def plan(out: Path, **options: Any) -> RunPlan:
    return make_plan(RunOptions(**{"runner": "loopback", "codec": "fixed", "out": out, **options}))


def test_one_server_without_asking(tmp_path: Path) -> None:
    made = plan(tmp_path)
    assert (made.servers, made.topology_source) == ({"server": "server"}, "star4")


def test_several_servers_are_in_topology_of_run(tmp_path: Path) -> None:
    made = plan(tmp_path, servers=3)
    assert made.servers == {"server": "server", "server2": "server2", "server3": "server3"}
    assert made.topology_source == str(tmp_path / "topology.yaml")
    assert list(parse(made.topology.to_yaml(), "x.yaml").server_hosts()) == list(made.servers.values())


def test_every_server_has_own_control_address_and_journal(tmp_path: Path) -> None:
    made, scratch = plan(tmp_path, servers=2), Scratch(tmp_path)
    started: dict[str, list[str]] = {}
    supervisor: Any = SimpleNamespace(start=lambda name, command, **_: started.setdefault(name, command))
    site = start_plan(made, scratch, supervisor)
    commands = [started[name] for name in made.servers]
    addresses = [command[command.index("--control") + 1] for command in commands]
    assert addresses == list(site.servers.values())
    assert len(set(addresses)) == len({command[command.index("--journal") + 1] for command in commands}) == 2
    control = started["controller"]
    assert [control[at + 1] for at, word in enumerate(control) if word == "--server"] == addresses


def test_servers_on_workers_require_no_host_or_switch(tmp_path: Path) -> None:
    made = plan(tmp_path, servers=2, on_workers=True, switch="none")
    assert made.servers == {"server": "w1", "server2": "w2"}
    with pytest.raises(ConfigurationError, match="on the same host, as on w1"):
        plan(tmp_path, servers=2, on_workers=True)
    with pytest.raises(ConfigurationError, match="on the same host, as on w1"):
        plan(tmp_path, on_workers=True, switch="none", faults="lossy")


@pytest.mark.parametrize(("servers", "on_workers"), [(0, False), (-1, True), (5, True), (300, False)])
def test_plan_impossible_number_of_servers_is_refused(tmp_path: Path, servers: int, on_workers: bool) -> None:
    with pytest.raises(ConfigurationError, match=f"servers = {servers}: "):
        plan(tmp_path, servers=servers, on_workers=on_workers, switch="none")


def test_fault_plan_can_name_any_server(tmp_path: Path) -> None:
    faults = tmp_path / "faults.yaml"
    faults.write_text("processes: [{kind: kill, process: server2, step: 1, restart_after_s: 1}]\n")
    assert plan(tmp_path, servers=2, faults=str(faults)).faults is not None
    with pytest.raises(ConfigurationError, match="there is no process 'server2'"):
        plan(tmp_path, faults=str(faults))
