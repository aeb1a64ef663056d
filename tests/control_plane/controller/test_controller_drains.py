# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Switches that an operator drains and returns while jobs run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from lanesum import codecs
from lanesum.rpc import controller as rpc
from lanesum.rpc.caller import Caller, CallerRole
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.controller.service import ControllerService
from lanesum_control.errors import AdmissionError, UnknownJobError, UnknownSwitchError
from lanesum_control.jobs.left_out import Cause
from lanesum_control.security.access import Access
from lanesum_control.state.store import Store
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_switch.dataplane import EmbeddedSwitch
from tests.command_line import invoke
from tests.control_plane import sites
from tests.control_plane.control_fakes import Site, request, what
from tests.waiting import wait_until

OPERATOR = Caller("ann", CallerRole.OPERATOR)


def test_drained_switch_has_no_part_until_its_return(controller: Controller, site: Site) -> None:
    before = controller.admit(request())
    assert controller.drain("s1", "new fans", OPERATOR) == {"a": []}
    job = controller.job("a")
    assert (job.switch_jobs, job.left_out) == ({}, {"s1": "it is drained: new fans"})
    assert job.moved["s1"].why.cause is Cause.DRAINED
    assert site.switches["s1"].jobs == {}
    assert job.tickets == before.tickets, "no new incarnation"
    assert controller.admit(request("b")).switch_jobs == {}
    assert what(controller, "s1")[-1] == "drained: new fans"
    assert what(controller, "a")[-1] == "sums of s1 moved to the server: it is drained: new fans"
    assert controller.undrain("s1", OPERATOR) == ["a", "b"]
    assert set(site.switches["s1"].jobs) == {1, 2}
    assert what(controller, "a")[-1] == "sums of s1 are back from the server"
    assert controller.drains() == []


def test_drain_of_one_job_leaves_the_others(controller: Controller, site: Site) -> None:
    controller.admit(request())
    controller.admit(request("b"))
    assert controller.drain("s1", "wrong sums", name="a") == {"a": []}
    assert set(site.switches["s1"].jobs) == {2}
    assert what(controller, "s1")[-1] == "drained: wrong sums (job a)"
    controller.leave("a", "w4")
    assert controller.job("a").switch_jobs == {}, "a new incarnation keeps the drain"
    controller.remove("a")
    assert controller.drains() == []
    assert set(controller.admit(request()).switch_jobs) == {"s1"}


def test_drain_of_a_rack_leaves_the_other_one() -> None:
    site = Site("tree2x2")
    controller = site.start()
    controller.admit(request())
    site.told()
    assert controller.drain("s1", "cables") == {"a": ["s2"]}
    assert sorted(one for one in site.told() if "remove" in one) == ["s0: remove 1", "s1: remove 1"]
    assert controller.job("a").left_out["s0"] == "its results would lack the workers at s1"
    assert controller.undrain("s1") == ["a"]
    assert set(controller.job("a").switch_jobs) == {"s0", "s1", "s2"}


@pytest.mark.parametrize("name", [None, "a"])
def test_drain_survives_a_restart_of_the_controller(name: str | None, tmp_path: Path) -> None:
    site = Site()
    with Store(tmp_path / "state.db") as store:
        controller = site.start(store=store)
        controller.admit(request())
        controller.drain("s1", "first", name=name)
        controller.drain("s1", "second", name=name)
        controller.close()
    with Store(tmp_path / "state.db") as store:
        again = site.start(store=store)
        (drain,) = again.drains()
        assert (drain["switch"], drain["job"], drain["why"]) == ("s1", name, "second")
        assert site.switches["s1"].jobs == {}
        assert again.undrain("s1", name=name) == ["a"]
        assert store.drains() == []


def test_lost_switch_that_is_drained_returns_without_jobs(controller: Controller, site: Site) -> None:
    controller.admit(request())
    site.switches["s1"].away = True
    controller.reconciler.check_switch("s1")
    controller.drain("s1", "it flaps")
    site.switches["s1"].away = False
    controller.reconciler.check_switch("s1")
    assert site.switches["s1"].jobs == {}
    assert controller.job("a").left_out == {"s1": "it is drained: it flaps"}


def test_refused_drains_say_why(controller: Controller) -> None:
    with pytest.raises(UnknownSwitchError, match="No switch 's9' is controlled; there is s1"):
        controller.drain("s9", "x")
    with pytest.raises(UnknownJobError, match="No job 'b' is admitted"):
        controller.drain("s1", "x", name="b")
    with pytest.raises(AdmissionError, match="A drain needs a reason of 1 to 200 characters"):
        controller.drain("s1", " ")
    with pytest.raises(AdmissionError, match="Switch s1 is not drained for all jobs"):
        controller.undrain("s1")
    controller.admit(request())
    controller.drain("s1", "x", name="a")
    with pytest.raises(AdmissionError, match="lanesum controller switches lists the drains"):
        controller.undrain("s1")


def test_drain_that_cannot_be_stored_changes_nothing(
    controller: Controller, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller.admit(request())
    with monkeypatch.context() as patch:
        patch.setattr(Store, "drain", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            controller.drain("s1", "x")
    assert set(controller.job("a").switch_jobs) == {"s1"}
    assert controller.drains() == []
    assert set(site.switches["s1"].jobs) == {1}


def test_commands_drain_list_and_return_a_switch(controller: Controller, address: str) -> None:
    controller.admit(request())
    at = ("--controller", address)
    assert "Missing option '--reason'" in invoke(["controller", "drain", "s1", *at]).output
    drained = invoke(["controller", "drain", "s1", "--reason", "new fans", *at])
    assert drained.output.splitlines() == ["a: summed by the server", "s1 is drained; 1 jobs moved."]
    listed = invoke(["controller", "switches", *at]).output
    assert "0/100" in listed and "drained since" in listed and "new fans" in listed
    assert "drained: new fans" in invoke(["top", "--once", *at]).output
    assert "drained: new fans" in invoke(["job", "list", *at]).output
    returned = invoke(["controller", "undrain", "s1", *at])
    assert (returned.exit_code, returned.output) == (0, "s1 is returned, and sums for a.\n")
    again = invoke(["controller", "undrain", "s1", *at])
    assert again.exit_code == 1 and "Switch s1 is not drained" in again.output
    one_job = invoke(["controller", "drain", "s1", "--reason", "wrong sums", "--job", "a", *at])
    assert "s1 is drained for job a; 1 jobs moved." in one_job.output
    assert '"why": "wrong sums"' in invoke(["controller", "switches", "--json", *at]).output


def test_tenant_may_not_drain_a_switch(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    access = Access(controller.present)
    monkeypatch.setattr(access, "authenticate", lambda *_: Caller("blue", CallerRole.TENANT))
    with (
        ControllerService(controller, "127.0.0.1:0", access=access) as service,
        pytest.raises(rpc.ControllerError, match="The tenant 'blue' may not call Drain"),
    ):
        rpc.call(service.address, rpc.DRAIN, {"switch": "s1", "why": "x"})


def test_running_sessions_stay_exact_through_drains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, cycles, vector = 30, 0, sites.vector

    def vector_at_last(worker: int, number: int) -> np.ndarray:
        if number == rounds - 1:
            wait_until(lambda: cycles >= 3)
        return vector(worker, number)

    codec = codecs.get("fixed", workers=len(sites.HOSTS))
    with (
        sites.running(tmp_path, EmbeddedSwitch(), bmv2_pipeline(), "10.92.") as site,
        ThreadPoolExecutor(1) as pool,
    ):
        job = site.controller.admit(JobRequest("a", sites.HOSTS, slots=8))
        monkeypatch.setattr(sites, "vector", vector_at_last)
        sums = pool.submit(site.reduce, job, codec, rounds, 120.0)
        while not sums.done():
            site.controller.drain("s1", "test")
            site.controller.undrain("s1")
            cycles += 1
        sites.assert_exact(*sums.result())
        assert site.controller.counters()["switches"]["s1"]["contribute_and_complete"] > 0
