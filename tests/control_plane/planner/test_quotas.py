# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Quotas of tenants, and guarantees that cannot be met because a table of a switch is full."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lanesum.errors import ConfigurationError
from lanesum.rpc import caller
from lanesum.rpc import controller as rpc
from lanesum.rpc.caller import Caller
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.errors import AdmissionError, QuotaError, StoreError
from lanesum_control.jobs.records import Taken
from lanesum_control.planner import quotas
from lanesum_control.planner.placement import Assignment
from lanesum_control.planner.quotas import SLOTS, Quotas, Rate, TenantQuota
from lanesum_control.state.store import Store
from lanesum_control.switches.switch import P4RuntimeSwitch
from lanesum_fabric.program.capabilities import GROUPS, JOB_TABLES
from lanesum_fabric.program.pipelines import bmv2_pipeline, tofino_pipeline
from lanesum_fabric.program.switch_job import HostPort, Member, Role, SwitchJob
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site, request, what

BLUE, RED = (Caller(name, caller.CallerRole.TENANT) for name in ("blue", "red"))
ANY_RATE = TenantQuota(jobs=1000, admissions_per_minute=1000)


@pytest.fixture(autouse=True)
def _many_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum_control.planner.planning.MAX_STREAMS", 1 << 20)


def started(
    topology: str = "star4", *, quota: TenantQuota = ANY_RATE, slots: int = 1024, **sizes: int
) -> tuple[Controller, Site]:
    """Return a controller whose switches have the tables of the committed build, but for ``sizes``."""
    site = Site(topology, slots=slots)
    built = bmv2_pipeline().capabilities
    for switch in site.switches.values():
        switch.capabilities = replace(built, sizes={**built.sizes, **sizes})
    return site.start(quota=quota), site


def best_effort(name: str, **fields: Any) -> JobRequest:
    return request(name, best_effort=True, slots=64, codec="fixed", **fields)


def test_idle_tenant_saves_admissions_of_one_minute() -> None:
    now = [0.0]
    rate = Rate(lambda: now[0], "Tenant", "admissions")
    rate.take("blue", 2)
    now[0] = 3600.0
    rate.take("blue", 2)
    rate.take("blue", 2)
    with pytest.raises(AdmissionError, match="Tenant 'blue' has used its 2 admissions per minute"):
        rate.take("blue", 2)
    now[0] += 29.0
    with pytest.raises(AdmissionError, match=r"Try again in 1\.0 s"):
        rate.take("blue", 2)


def test_tenant_cannot_fill_a_table_of_a_switch() -> None:
    controller, site = started(receiver=40)
    for number in range(12):
        controller.admit(best_effort(f"blue{number}"), caller=BLUE)
    assert set(site.switches["s1"].jobs) == set(range(1, 6))
    assert controller.job("blue11").left_out == {
        "s1": "other jobs of tenant 'blue' use 20 of its 20 entries of table receiver, and the job needs 4"
    }
    assert controller.admit(request("red"), caller=RED).left_out == {}
    assert controller.admit(request("operator")).left_out == {}


def test_best_effort_jobs_leave_full_table_to_guarantee() -> None:
    controller, _ = started(receiver=40)
    for number in range(12):
        controller.admit(best_effort(f"a{number}"))
    full = "other jobs use 40 of 40 entries of table receiver, and the job needs 4"
    assert [controller.job(f"a{number}").left_out for number in (9, 10, 11)] == [{}, {"s1": full}, {"s1": full}]
    assert controller.admit(request("guaranteed")).left_out == {}
    assert controller.job("a9").left_out == {"s1": full}, "the youngest one had to go"
    controller.remove("a0")
    assert controller.job("a9").left_out == {}


@pytest.mark.parametrize(
    ("sizes", "fields", "full"),
    [
        ({"receiver": 7}, {}, "s1: other jobs use 4 of 7 entries of table receiver, and the job needs 4"),
        ({"member": 7}, {}, "s1: other jobs use 4 of 7 entries of table member, and the job needs 4"),
        ({"lookup": 1}, {"codec": "thc"}, "s1: other jobs use 1 of 1 entries of table lookup, and the job needs 1"),
        ({GROUPS: 1}, {}, "s1: other jobs use 1 of 1 multicast groups, and the job needs 1"),
        ({}, {"slots": 600}, "s1: other jobs use 600 of 1024 guaranteed slots, and the job needs 600"),
    ],
)
def test_guarantee_that_cannot_be_met_names_bottleneck(
    sizes: dict[str, int], fields: dict[str, Any], full: str
) -> None:
    controller, site = started(**sizes)
    controller.admit(request("first", **fields))
    before = controller.jobs()
    with pytest.raises(QuotaError) as caught:
        controller.admit(request("second", **fields))
    assert caught.value.what.endswith(f"slots cannot be met at {full}.")
    assert controller.jobs() == before
    assert set(site.switches["s1"].jobs) == set(site.server.jobs) == {1}
    assert controller.admit(request("second", **{**fields, "best_effort": True})).left_out.keys() <= {"s1"}


def test_job_beyond_code_tables_of_switch_is_refused() -> None:
    """The committed program holds the code tables of 32 jobs."""
    controller, site = started()
    for number in range(32):
        controller.admit(request(f"a{number}", workers=2, slots=8, codec="thc"))
    with pytest.raises(QuotaError, match="s1: other jobs use 32 of 32 entries of table lookup, and the job needs 1"):
        controller.admit(request("b", workers=2, slots=8, codec="thc"))
    assert len(site.switches["s1"].jobs) == len(site.server.jobs) == 32
    full = {"s1": "other jobs use 32 of 32 entries of table lookup, and the job needs 1"}
    assert controller.admit(request("b", workers=2, slots=8, codec="thc", best_effort=True)).left_out == full
    assert what(controller, "b") == [f"admitted as job 34; s1 is left out: {full['s1']}"]
    assert controller.admit(request("c", workers=2, slots=8, codec="fixed")).left_out == {}


def test_full_table_of_upper_jobs_is_named() -> None:
    controller, _ = started("tree2x2", descend=1)
    controller.admit(request("first"))
    with pytest.raises(QuotaError, match="at s1: other jobs use 1 of 1 entries of table descend"):
        controller.admit(request("second"))
    assert controller.admit(JobRequest("one rack", ("w1", "w2"), slots=8)).left_out == {}


@pytest.mark.parametrize(
    ("sizes", "fields", "full"),
    [
        ({"receiver": 15}, {}, "blue' use 4 of its 7 entries of table receiver"),
        ({"member": 15}, {}, "blue' use 4 of its 7 entries of table member"),
        ({"lookup": 3}, {"codec": "thc"}, "blue' use 1 of its 1 entries of table lookup"),
        ({GROUPS: 3}, {}, "blue' use 1 of its 1 multicast groups"),
        ({}, {"slots": 300}, "blue' use 300 of its 512 guaranteed slots"),
    ],
)
def test_tenant_at_its_share_is_refused_other_admitted(
    sizes: dict[str, int], fields: dict[str, Any], full: str
) -> None:
    controller, _ = started(**sizes)
    controller.admit(request("first", **fields), caller=BLUE)
    with pytest.raises(QuotaError, match=full):
        controller.admit(request("second", **fields), caller=BLUE)
    assert controller.admit(request("second", **fields), caller=RED).left_out == {}


def test_share_holds_after_a_return_of_the_switch() -> None:
    site = Site()
    site.switches["s1"].capabilities = replace(bmv2_pipeline().capabilities, sizes={"receiver": 15})
    controller = site.start(quota=ANY_RATE)
    site.switches["s1"].away = True
    controller.reconciler.check_switch("s1")
    for name in ("one", "two"):
        controller.admit(request(name, slots=10), caller=BLUE)
    site.switches["s1"].away = False
    controller.reconciler.check_switch("s1")
    assert controller.job("one").left_out == {}
    assert "tenant 'blue' use 4 of its 7" in controller.job("two").left_out["s1"]
    assert controller.counters()["slots"]["s1"]["tables"] == {"receiver": {"used": 4, "size": 15}}


def test_resize_and_extension_beyond_a_share_change_nothing() -> None:
    controller, site = started(receiver=7)
    controller.admit(request("job", workers=3, slots=400), caller=BLUE)
    held = dict(site.switches["s1"].jobs)
    with pytest.raises(QuotaError, match="0 of its 256 guaranteed slots, and the job needs 400"):
        controller.reconciler.quotas = Quotas(TenantQuota(share=0.25))
        controller.extend("job", "w4", BLUE)
    controller.reconciler.quotas = Quotas(ANY_RATE)
    with pytest.raises(QuotaError, match="entries of table receiver"):
        controller.extend("job", "w4", BLUE)
    assert site.switches["s1"].jobs == held
    assert controller.job("job").request.workers == ("w1", "w2", "w3")


def test_quota_of_grown_job_fits_its_slots() -> None:
    """They keep their number of slots until their next incarnation, so more are of no use."""
    controller, _ = started(slots=100)
    controller.admit(request("grown", slots=60))
    controller.resize("grown", 100)
    assert controller.admit(request("other", slots=40)).left_out == {}


def test_resize_of_older_job_spares_guarantee_of_younger() -> None:
    controller, _ = started(slots=100)
    controller.admit(request("older", slots=60))
    controller.resize("older", 20)
    controller.admit(request("younger", slots=60))
    with pytest.raises(QuotaError, match="other jobs use 60 of 100 guaranteed slots, and the job needs 60"):
        controller.resize("older", 60)
    assert controller.job("younger").left_out == {}


def test_session_after_session_needs_no_guarantee() -> None:
    """A new incarnation of a job whose switch cannot meet its quota any more is no refusal."""
    site = Site(slots=100)
    controller = site.start()
    controller.admit(request("one", slots=60))
    site.switches["s1"].away = True
    controller.reconciler.check_switch("s1")
    controller.admit(request("two", slots=60))
    site.switches["s1"].away = False
    controller.reconciler.check_switch("s1")
    assert "guaranteed slots" in controller.job("two").left_out["s1"]
    before = controller.join("two", 0, Taken("p", "x"))
    assert controller.join("two", 0, Taken("p", "x")).tag != before.tag


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"share": 0.0}, "The share of a tenant is 0: expected a number above 0, at most 1"),
        ({"share": 1.5}, r"The share of a tenant is 1\.5: expected a number above 0, at most 1"),
        ({"jobs": 0}, "A tenant has 0 jobs: expected at least 1"),
        ({"admissions_per_minute": 0}, "A tenant has 0 admissions per minute: expected at least 1"),
        ({"packets": 0}, "A tenant has 0 packets: expected at least 1"),
    ],
)
def test_quota_beyond_its_limits_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        TenantQuota(**wrong)


def test_admissions_per_minute_are_counted_by_tenant() -> None:
    site = Site()
    controller = site.start(quota=TenantQuota(admissions_per_minute=3))
    for number in range(3):
        controller.admit(request(f"blue{number}", slots=1), caller=BLUE)
    with pytest.raises(AdmissionError, match=r"'blue' has used its 3 admissions per minute.*again in 20\.0 s"):
        controller.admit(request("blue3", slots=1), caller=BLUE)
    with pytest.raises(AdmissionError, match="3 admissions per minute"):
        controller.resize("blue0", 2, BLUE)
    controller.admit(request("red", slots=1), caller=RED)
    site.clock.now += 20.5
    controller.admit(request("blue3", slots=1), caller=BLUE)
    with pytest.raises(AdmissionError, match="3 admissions per minute"):
        controller.admit(request("blue4", slots=1), addresses=["10.19.0.1"], caller=BLUE)


def test_tenant_job_quota_is_enforced_and_released() -> None:
    controller, _ = started(quota=TenantQuota(jobs=2))
    for name in ("a", "b"):
        controller.admit(request(name, slots=1), caller=BLUE)
    with pytest.raises(AdmissionError, match="'blue' has 2 jobs, its quota"):
        controller.admit(request("c", slots=1), caller=BLUE)
    controller.remove("a")
    controller.admit(request("c", slots=1), caller=BLUE)
    controller.admit(request("d", slots=1))


def test_workers_of_tenant_have_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum_control.planner.planning.MAX_STREAMS", 20)
    controller, _ = started()
    controller.admit(request("a", workers=4, slots=1), caller=BLUE)
    with pytest.raises(AdmissionError, match=r"5 workers of tenant 'blue' need 10 streams.*its quota is 9"):
        controller.reconciler.quotas = Quotas(TenantQuota(share=0.45))
        controller.admit(request("b", workers=1, slots=1), caller=BLUE)
    controller.admit(request("b", workers=4, slots=1), caller=RED)


def test_packets_of_tenant_in_flight_are_limited() -> None:
    controller, _ = started(quota=TenantQuota(packets=100))
    controller.admit(best_effort("a", workers=1), caller=BLUE)
    with pytest.raises(AdmissionError, match=r"'blue' would have 128 packets in flight.*its quota is 100"):
        controller.admit(best_effort("b", workers=1), caller=BLUE)
    with pytest.raises(AdmissionError, match="'blue' would have 101 packets"):
        controller.resize("a", 101, BLUE)
    controller.admit(best_effort("b", workers=1), caller=RED)


def test_name_of_other_tenant_cannot_be_taken_over() -> None:
    controller, _ = started()
    admitted = controller.admit(request("a"), caller=BLUE)
    with pytest.raises(AdmissionError, match="name 'a' is in use by another tenant"):
        controller.admit(request("a"), take_over=True, caller=RED)
    assert controller.job("a").number == admitted.number
    assert controller.admit(request("a"), take_over=True).owner == "", "an operator may"


def test_needs_are_the_entries_that_a_switch_writes() -> None:
    site = Site("tree2x2")
    controller = site.start()
    controller.admit(request("a", codec="thc"))
    controller.admit(request("b", codec="fixed", quorum=2))
    names = bmv2_pipeline().names
    tables = {names.wildcard(table, counters=False).table_id: table.rpartition(".")[2] for table in JOB_TABLES}
    seen = set()
    for switch in site.switches.values():
        for job in switch.jobs.values():
            written = dict.fromkeys(_assignment(job).needs(looks_up=False), 0)
            for step in P4RuntimeSwitch(None, names).job_entities(job):  # type: ignore[arg-type]
                for entity in step:
                    written[tables.get(entity.table_entry.table_id, GROUPS)] += 1
            assert _assignment(job).needs(looks_up=job.code_table is not None) == written
            seen |= {kind for kind, count in written.items() if count}
    assert seen == {*tables.values(), GROUPS}
    assert bmv2_pipeline().capabilities.sizes == {
        "member": 1024, "receiver": 1024, "descend": 1024, "lookup": 32, GROUPS: 65535,
        "forward": 1024, "arp": 1024, "origin": 1024,
    }  # fmt: skip
    assert quotas.SLOTS == SLOTS


def test_needs_with_pipes_are_the_entries_written() -> None:
    ports = (1, 2, 385, 386)
    hosts = [HostPort(port, 0x0A000001 + port, bytes(5) + bytes([number])) for number, port in enumerate(ports)]
    members = [Member(number, (host,), 19539) for number, host in enumerate(hosts[:2])]
    rack = Member(2, tuple(hosts[2:]), 19539, aggregate=True)
    job = SwitchJob(5, 7, 0, 10, 1, (*members, rack), ops=(), role=Role.UPPER, combining_pipe=0)
    names = tofino_pipeline("tofino1-w32").names
    written = Counter(
        names.table_name(number).rpartition(".")[2] if (number := entity.table_entry.table_id) else GROUPS
        for step in P4RuntimeSwitch(None, names, (68,)).job_entities(job)  # type: ignore[arg-type]
        for entity in step
    )
    assert Counter(_assignment(job).needs(looks_up=False)) == written


def _assignment(job: SwitchJob) -> Assignment:
    return Assignment("s", job.members, uplinks=job.uplinks, combining_pipe=job.combining_pipe)


def test_quota_of_tenant_changes_while_jobs_run() -> None:
    controller, site = started(quota=TenantQuota(jobs=1, admissions_per_minute=1000))
    before = controller.admit(request("a", slots=400), caller=BLUE)
    with pytest.raises(AdmissionError, match="Tenant 'blue' has 1 jobs, its quota"):
        controller.admit(request("b", slots=8), caller=BLUE)
    assert controller.change_tenant("blue", {"jobs": 2}) == TenantQuota(jobs=2, admissions_per_minute=1000)
    controller.admit(request("b", slots=8, udp_port=40000), caller=BLUE)
    controller.admit(request("r", slots=8), caller=RED)
    with pytest.raises(AdmissionError, match="Tenant 'red' has 1 jobs"):
        controller.admit(request("r2", slots=8), caller=RED)
    controller.change_tenant("blue", {"share": 0.3})
    job = controller.job("a")
    assert job.left_out["s1"] == "other jobs of tenant 'blue' use 0 of its 307 guaranteed slots, and the job needs 400"
    assert job.tickets == before.tickets, "its sessions continue"
    assert set(site.switches["s1"].jobs) == {2, 3}
    assert controller.change_tenant("blue", None).jobs == 1
    assert controller.job("a").left_out == {}
    (changed, *_) = [one.what for one in controller.events.since() if one.what.startswith("tenant 'blue'")]
    assert changed == (
        "tenant 'blue' has the quota share 0.5, jobs 2, admissions_per_minute 1000, packets 262144, priority 0"
    )


def test_priority_of_tenant_counts_before_jobs_own() -> None:
    controller, site = started(slots=100)
    controller.admit(request("a", slots=90, quota=10, priority=9), caller=BLUE)
    controller.admit(request("b", slots=90, quota=10), caller=RED)
    assert {number: job.slot_count for number, job in site.switches["s1"].jobs.items()} == {1: 90, 2: 10}
    controller.change_tenant("red", {"priority": 1})
    assert {number: job.slot_count for number, job in site.switches["s1"].jobs.items()} == {1: 10, 2: 90}


def test_quota_of_a_tenant_survives_a_restart(tmp_path: Path) -> None:
    site = Site()
    with Store(tmp_path / "state.db") as store:
        site.start(store=store).change_tenant("blue", {"share": 0.25, "priority": 3})
    with Store(tmp_path / "state.db") as store:
        assert site.start(store=store).reconciler.quotas.of("blue") == TenantQuota(share=0.25, priority=3)
        with store.transaction():
            store._db.execute("UPDATE tenants SET quota = ?", ('{"share": 7}',))
        with pytest.raises(StoreError, match="is broken: The share of a tenant is 7"):
            store.tenants()


def test_wrong_changes_of_a_tenant_are_refused(controller: Controller, address: str) -> None:
    with pytest.raises(AdmissionError, match="is no name of a tenant"):
        controller.change_tenant(" ", {"jobs": 2})
    with pytest.raises(rpc.ControllerError, match="The share of a tenant is 2: expected a number above 0"):
        rpc.call(address, rpc.TENANT, {"tenant": "blue", "quota": {"share": 2}})
    for wrong in ({"jobs": "x"}, {"jobs": True}, {"color": 1}, {}, [1]):
        with pytest.raises(rpc.ControllerError, match="is no change of a quota"):
            rpc.call(address, rpc.TENANT, {"tenant": "blue", "quota": wrong})
    assert controller.reconciler.quotas.own == {}


def test_commands_change_and_list_quotas_of_tenants(controller: Controller, address: str) -> None:
    at = ("--controller", address)
    done = invoke(["controller", "tenant", "blue", "--jobs", "3", "--priority", "2", *at])
    assert json.loads(done.output)["jobs"] == 3
    assert json.loads(invoke(["controller", "tenants", *at]).output)["tenants"]["blue"]["quota"]["priority"] == 2
    assert "Give either --default or a part" in invoke(["controller", "tenant", "blue", *at]).output
    assert json.loads(invoke(["controller", "tenant", "blue", "--default", *at]).output)["jobs"] == 64
    assert json.loads(invoke(["controller", "tenants", *at]).output)["tenants"] == {}


def test_resize_below_the_quota_lowers_the_quota(controller: Controller, site: Site, address: str) -> None:
    controller.admit(request("a", slots=64, quota=48))
    assert controller.resize("a", 16).request.guaranteed == 16
    assert what(controller, "a")[-1] == "resized to 16 slots, quota 16 in place of 48"
    assert site.switches["s1"].jobs[1].slot_count == 16
    resized = invoke(["job", "resize", "a", "--quota", "4", "--priority", "7", "--controller", address])
    assert (json.loads(resized.output)["quota"], json.loads(resized.output)["priority"]) == (4, 7)
    assert what(controller, "a")[-1] == "resized to 16 slots, quota 4 in place of 16, priority 7 in place of 0"
    again = invoke(["job", "resize", "a", "--quota", "40", "--controller", address])
    assert again.exit_code == 1 and "quota = 40 is not between 0 and 16" in again.output
    assert "names neither slots nor quota" in invoke(["job", "resize", "a", "--controller", address]).output
