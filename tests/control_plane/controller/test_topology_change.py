# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of another topology with that of a running controller, and its start with that topology."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanesum_control.controller.controller import Controller
from lanesum_control.planner.network import Network
from lanesum_control.state.store import Store
from lanesum_fabric.topology import available
from lanesum_fabric.topology.files import parse
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site, request

TREE = available()["tree2x2"].read_text()
MOVED = TREE.replace('"s2:2", "w4"', '"s1:3", "w4"')


@pytest.fixture
def site() -> Site:
    return Site("tree2x2")


def test_same_topology_changes_no_job(controller: Controller, address: str, site: Site) -> None:
    controller.admit(request())
    found = invoke(["topology", "diff", "tree2x2", "--controller", address])
    assert found.output.splitlines() == ["The network is the same.", "1 other jobs do not change."]


def test_diff_names_what_changes_for_which_job(
    controller: Controller, address: str, site: Site, tmp_path: Path
) -> None:
    controller.admit(request())
    controller.admit(request("b", workers=2, udp_port=40000))
    site.told()
    path = tmp_path / "moved.yaml"
    path.write_text(MOVED)
    found = invoke(["topology", "diff", str(path), "--controller", address])
    assert found.output.splitlines() == [
        "host w4: 10.19.0.4 at s2:2 becomes 10.19.0.4 at s1:3",
        "job a begins a new incarnation: its workers have other addresses or places than before.",
        "1 other jobs do not change.",
    ]
    assert site.told() == [], "it changes nothing"
    assert '"unchanged": 1' in invoke(["topology", "diff", str(path), "--json", "--controller", address]).output


def test_diff_names_missing_hosts_and_other_switches(controller: Controller) -> None:
    controller.admit(request())
    controller.admit(request("b", workers=2, udp_port=40000))
    lines = [line for line in TREE.split("\n") if "w4" not in line]
    found = controller.differences(parse("\n".join(lines), "x"))
    assert found["network"] == ["host w4 is removed"]
    assert found["jobs"]["a"] == {"before": ["s1", "s2", "s0"], "after": [], "restarts": [], "lacks": ["w4"]}
    renamed = controller.differences(parse(TREE.replace("s1", "s7"), "x"))
    assert renamed["jobs"]["b"] == {"before": ["s1"], "after": [], "restarts": [], "lacks": []}
    assert {"switch s1 is removed", "switch s7 is added", "link s0:1 - s7:5 is added"} <= set(renamed["network"])


@pytest.mark.parametrize(("text", "restarted"), [(TREE, set()), (MOVED, {"a"})])
def test_restart_with_the_topology_does_what_diff_says(text: str, restarted: set[str], tmp_path: Path) -> None:
    site = Site("tree2x2")
    with Store(tmp_path / "state.db") as store:
        controller = site.start(store=store)
        tags = {name: controller.admit(request(name, workers=n, udp_port=port)).tickets[0].tag
                for name, n, port in (("a", 4, 1000), ("b", 2, 2000))}  # fmt: skip
        found = controller.differences(parse(text, "x"))
        controller.close()
    site.network = Network.of(parse(text, "x"), loopback=False)
    with Store(tmp_path / "state.db") as store:
        again = site.start(store=store)
        assert {name for name, tag in tags.items() if again.job(name).tickets[0].tag != tag} == restarted
    assert {name for name, job in found["jobs"].items() if job["restarts"]} == restarted
