# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs over two spines: a spine that is lost, drained or back, and restarts of the controller meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanesum_control.controller.controller import Controller
from lanesum_control.controller.process import controller_samples
from lanesum_control.controller.service import ControllerService
from lanesum_control.doctor import site as site_module
from lanesum_control.errors import AdmissionError, QuotaError
from lanesum_control.state.store import Store
from lanesum_fabric.program.pipelines import bmv2_pipeline
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site, request, what

RACKS, BOTH = {"s1", "s2"}, {"spine1", "spine2"}


@pytest.fixture
def site() -> Site:
    return Site("tree2x2x2", servers=2)


def summing(controller: Controller, name: str = "a") -> set[str]:
    return set(controller.job(name).switch_jobs)


def lose(controller: Controller, site: Site, spine: str) -> None:
    site.switches[spine].away = True
    controller.reconciler.check_switch(spine)


def bring_back(controller: Controller, site: Site, spine: str) -> None:
    site.switches[spine].restart()
    site.switches[spine].away = False
    controller.reconciler.check_switch(spine)


def uplinks(site: Site) -> set[int]:
    """Return the ports of rack s1 towards the servers."""
    servers = {site.network.seen["s3"]["server1"].ip, site.network.seen["s4"]["server2"].ip}
    return {host.port for host in site.switches["s1"].hosts if host.ip in servers}


def test_other_spine_takes_over_from_lost_one(controller: Controller, site: Site) -> None:
    before = controller.admit(request())
    assert (summing(controller), uplinks(site)) == (RACKS | BOTH, {5, 6})
    lose(controller, site, "spine1")
    job = controller.job("a")
    assert (summing(controller), uplinks(site)) == (RACKS | {"spine2"}, {6})
    assert (job.left_out, job.moved, job.tickets) == ({}, {}, before.tickets)
    assert what(controller, "a")[-1] == "sums of spine1 moved to spine2"
    assert site.switches["s1"].jobs[1].uplinks == (6,)
    bring_back(controller, site, "spine1")
    assert (summing(controller), uplinks(site)) == (RACKS | BOTH, {5, 6})
    assert {name: set(switch.jobs) for name, switch in site.switches.items()} == {
        **{name: {1} for name in RACKS | BOTH}, "s3": set(), "s4": set(),
    }  # fmt: skip


def test_job_leaves_a_rack_before_its_paths_change(controller: Controller, site: Site) -> None:
    """Entries of the members at other ports would be those of another client for the repair of a switch."""
    controller.admit(request())
    site.told()
    lose(controller, site, "spine1")
    told = [one for one in site.told() if one.startswith("s1:")]
    assert told == ["s1: remove 1", "s1: reconcile", "s1: admit 1"]
    assert site.told() == []


def test_loss_of_both_spines_leaves_paths_and_racks(controller: Controller, site: Site) -> None:
    controller.admit(request())
    lose(controller, site, "spine1")
    lose(controller, site, "spine2")
    assert (summing(controller), uplinks(site)) == (RACKS | {"s3", "s4"}, {5, 6})
    bring_back(controller, site, "spine2")
    assert (summing(controller), uplinks(site)) == (RACKS | {"spine2"}, {6})


def test_drained_spine_moves_paths_and_sums(controller: Controller, site: Site) -> None:
    controller.admit(request())
    assert controller.drain("spine2", "new line card") == {"a": ["s1", "s2", "spine1"]}
    assert uplinks(site) == {5}
    lose(controller, site, "spine1")
    assert uplinks(site) == {6}, "a drained spine is better than a lost one"
    assert summing(controller) == RACKS | {"s3", "s4"}
    assert controller.undrain("spine2") == ["a"]
    assert summing(controller) == RACKS | {"spine2"}


def test_restarted_controller_keeps_paths_around_a_lost_spine(site: Site, tmp_path: Path) -> None:
    with Store(tmp_path / "state.db") as store:
        controller = site.start(store=store)
        controller.admit(request())
        lose(controller, site, "spine1")
        controller.close()
    site.told()
    with Store(tmp_path / "state.db") as store:
        again = site.start(store=store)
        assert (summing(again), uplinks(site)) == (RACKS | {"spine2"}, {6})
        assert [one for one in site.told() if "admit" in one or "remove" in one] == []
        bring_back(again, site, "spine1")
        assert summing(again) == RACKS | BOTH
        again.close()
        site.told()
        site.start(store=store)
    assert [one for one in site.told() if "admit" in one or "remove" in one] == []


def test_restarted_controller_keeps_paths_around_drained_spine(site: Site, tmp_path: Path) -> None:
    with Store(tmp_path / "state.db") as store:
        controller = site.start(store=store)
        controller.admit(request())
        controller.drain("spine1", "new line card")
        controller.close()
    site.told()
    with Store(tmp_path / "state.db") as store:
        again = site.start(store=store)
        assert (summing(again), uplinks(site)) == (RACKS | {"spine2"}, {6})
        again.close()
    assert [one for one in site.told() if "admit" in one or "remove" in one] == []


def test_spine_lost_by_a_write_moves_its_jobs(controller: Controller, site: Site) -> None:
    controller.admit(request())
    site.switches["spine1"].away = True
    controller.admit(request("b", slots=5))
    controller.reconciler.check_switch("spine1")
    assert summing(controller) == summing(controller, "b") == RACKS | {"spine2"}


def test_full_spine_refuses_a_guaranteed_quota(site: Site) -> None:
    site.switches["spine1"].slots = 50
    controller = site.start()
    controller.admit(request())
    with pytest.raises(QuotaError, match="40 slots cannot be met at spine1: other jobs use 40 of 50"):
        controller.admit(request("b"))
    controller.admit(request("b", best_effort=True))
    assert summing(controller, "b") == RACKS | BOTH


def test_events_name_servers_by_their_hosts_and_jobs(controller: Controller, site: Site) -> None:
    assert what(controller, "server1") == ["connected: no differences"]
    assert set(controller.counters()["servers"]) == {"server1", "server2"}
    site.switches["spine1"].full = True
    controller.admit(request("train", best_effort=True))
    assert what(controller, "spine1")[-1] == "job train: it refused the job: The table is full"


def test_drained_link_moves_paths_of_its_rack(site: Site, tmp_path: Path) -> None:
    with Store(tmp_path / "state.db") as store:
        controller = site.start(store=store)
        controller.admit(request())
        assert controller.drain("s1-spine1", "a cable is loose") == {"a": ["s1", "s2", "s3", "spine2"]}
        assert uplinks(site) == {6}
        with pytest.raises(AdmissionError, match="Link s1-spine1 cannot be drained for one job"):
            controller.drain("s1-spine1", "a cable is loose", name="a")
        controller.close()
        again = site.start(store=store)
        assert uplinks(site) == {6}
        assert again.undrain("s1-spine1") == ["a"]
        assert (summing(again), uplinks(site)) == (RACKS | BOTH, {5, 6})


def test_commands_drain_list_and_return_a_link(controller: Controller, address: str) -> None:
    controller.admit(request())
    at = ("--controller", address)
    drained = invoke(["controller", "drain", "s1-spine1", "--reason", "new cable", *at])
    assert drained.output.splitlines()[-1] == "s1-spine1 is drained; 1 jobs moved."
    listed = invoke(["controller", "switches", *at]).output
    assert "s1-spine1" in listed and "new cable" in listed
    assert invoke(["controller", "undrain", "s1-spine1", *at]).output == "s1-spine1 is returned, and sums for a.\n"


def top(address: str, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the cells of all rows of ``lanesum top``."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("lanesum_control.cli.top._ONCE_S", 0.0)
    lines = invoke(["top", "--once", "--controller", address]).output.splitlines()
    return [[cell.strip() for cell in line.strip("│┃ ").split("│")] for line in lines if "│" in line]


def test_drained_link_is_shown_by_every_view(
    controller: Controller, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = set(controller.network.spine_links)
    for why in ("new cable", None):
        if why is None:
            controller.undrain("s1-spine1")
        else:
            controller.drain("s1-spine1", why)
        rows = top(address, monkeypatch)
        assert ["s1-spine1", f"drained: {why}" if why else "up"] in rows and ["s2-spine1", "up"] in rows
        samples = {one.name: one.samples for one in controller_samples(controller).collect()}["lanesum_link_drained"]
        assert {one.labels["link"]: one.value for one in samples} == {
            link: float(why is not None and link == "s1-spine1") for link in links
        }
        findings = site_module.checks(address, controller.examine())
        found = [(one.what, one.next_step) for one in findings if one.name == "s1-spine1"]
        step = "Return it if the reason is gone: lanesum controller undrain s1-spine1."
        assert found == ([("Drained of all jobs: new cable.", step)] if why else [])


def test_views_count_entries_for_hosts(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.switches["s1"].capabilities = bmv2_pipeline().capabilities
    controller, hosts = site.start(), len(site.network.seen["s1"])
    tables = controller.counters()["slots"]["s1"]["tables"]
    assert tables["forward"] == tables["origin"] == {"used": hosts, "size": 1024}
    with ControllerService(controller, "127.0.0.1:0") as service:
        rows = top(f"127.0.0.1:{service.port}", monkeypatch)
    assert ["s1", "forward", str(hosts), "1,024", f"{hosts / 1024:.2%}"] in rows


def test_cut_links_of_a_rack_leave_its_paths(controller: Controller, site: Site) -> None:
    controller.admit(request())
    controller.drain("s1-spine1", "cut")
    controller.drain("s1-spine2", "cut")
    assert uplinks(site) == {5, 6}
