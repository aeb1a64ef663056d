# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tickets, claims, readiness, leases and changes of workers at the controller, without sockets."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lanesum.rpc.caller import Caller, CallerRole
from lanesum_control.controller import workers
from lanesum_control.controller.controller import Controller
from lanesum_control.errors import AdmissionError, UnknownJobError
from lanesum_control.jobs.joining import CLAIM_LAPSE_S, MAX_DESCRIPTIONS, MAX_NAMED, readiness
from lanesum_control.jobs.liveness import Gone
from lanesum_control.jobs.records import Incarnation, Job, JobRequest, Taken
from lanesum_control.planner.network import Network
from lanesum_control.planner.quotas import TenantQuota
from lanesum_fabric.topology import load
from tests.control_plane.control_fakes import FakeServer, Site, request, what

ONE = Taken("one", "process 1 at w1")
NETWORK = Network.of(load("star4"), loopback=False)
OTHER = Taken("other", "process 2 at w9")


@pytest.fixture
def controller(site: Site) -> Controller:
    controller = site.start()
    controller.admit(request())
    return controller


def join_all(controller: Controller, **descriptions: str) -> int:
    """Take all tickets; return the tag of the incarnation."""
    tags = set()
    for worker, host in enumerate(controller.job("a").request.workers):
        tags.add(controller.join("a", worker, Taken(host, f"process at {host}", descriptions.get(host))).tag)
    (tag,) = tags
    return tag


def test_second_join_is_a_new_incarnation(controller: Controller, site: Site) -> None:
    """Two sessions must never share a tag: the switch could answer the second one with results of the first."""
    first = controller.job("a").switch_jobs["s1"]
    tags = {controller.join("a", worker).tag for worker in range(4)}
    assert tags == {first.tag}
    again = controller.join("a", 2)
    assert again.tag != first.tag
    (job,) = site.switches["s1"].jobs.values()
    assert (job.tag, job.slot_base, job.job) == (again.tag, first.slot_base, first.job)
    assert site.server.jobs[job.job].tag == again.tag
    assert {controller.join("a", worker).tag for worker in (0, 1, 3)} == {again.tag}
    assert again.seed != first.tag
    assert again.seed != controller.join("a", 0).seed


def test_by_host_or_number(controller: Controller) -> None:
    assert controller.join("a", "w3").worker == 2
    with pytest.raises(AdmissionError, match="Host w9 has no part in job 'a'; w1, w2, w3, w4 have"):
        controller.join("a", "w9")
    with pytest.raises(AdmissionError, match=r"has no worker 4; it has 4\. Start as many ranks as it has workers"):
        controller.join("a", 4)
    with pytest.raises(UnknownJobError, match="No job 'b' is admitted"):
        controller.join("b", 0)


def test_two_processes_are_not_the_same_worker(controller: Controller, site: Site) -> None:
    ticket = controller.join("a", 0, ONE)
    with pytest.raises(AdmissionError) as caught:
        controller.join("a", 0, OTHER)
    assert "claimed twice: by process 1 at w1, and now by process 2 at w9" in str(caught.value)
    assert "w2, w3, w4 are awaited" in str(caught.value)
    site.clock.now += CLAIM_LAPSE_S
    controller.workers.state(ticket.job, ticket.tag, 0, "one")  # it waits, and has a description
    site.clock.now += CLAIM_LAPSE_S
    with pytest.raises(AdmissionError, match="claimed twice"):
        controller.join("a", 0, OTHER)
    site.clock.now += 1
    assert controller.join("a", 0, OTHER).tag != ticket.tag, "the first one is dead, it seems"
    why = "job 'a' has a new incarnation: worker 0 of process 2 at w9 began again"
    assert controller.workers.state(ticket.job, ticket.tag, 0, "one") == {"state": "superseded", "why": why}


def test_join_by_other_process_after_start_renews_incarnation(controller: Controller) -> None:
    tag = join_all(controller)
    assert controller.join("a", 0, OTHER).tag != tag


def test_workers_that_rejoin_meet_in_one_incarnation(controller: Controller) -> None:
    first = join_all(controller)
    tags = {controller.join("a", worker, Taken(host, host)).tag for worker, host in enumerate(("w1", "w2"))}
    assert len(tags) == 1
    assert first not in tags


def test_readiness(controller: Controller) -> None:
    ticket = controller.join("a", 1, Taken("w2", "w2"))

    def state() -> dict[str, object]:
        return controller.workers.state(ticket.job, ticket.tag, 1, "w2")

    assert state() == {"state": "waiting", "for": ["w1", "w3", "w4"]}
    for worker in (0, 2, 3):
        controller.join("a", worker)
    assert state() == {"state": "ready"}
    controller.join("a", 0)
    assert state()["state"] == "superseded"
    controller.remove("a")
    assert state()["state"] == "removed"


def test_all_learn_who_uses_another_codec(controller: Controller) -> None:
    tag = join_all(controller, w1="thc bits=4", w2="thc bits=4", w3="fixed")
    answers = [controller.workers.state(1, tag, worker) for worker in range(4)]
    said = {"worker 0 (w1), worker 1 (w2)": "thc bits=4", "worker 2 (w3)": "fixed"}
    assert answers == [{"state": "mismatch", "descriptions": said}] * 4
    again = controller.join("a", 2, Taken("w3", "w3", "thc bits=4"))
    assert again.tag != tag
    assert controller.workers.state(1, again.tag, 2)["state"] == "waiting"


def test_description_may_follow_the_join(controller: Controller) -> None:
    """A codec depends on the number of workers, which the ticket has."""
    tag = join_all(controller)
    assert controller.workers.state(1, tag, 0) == {"state": "ready"}, "it has nothing to compare"
    assert controller.workers.state(1, tag, 0, "w1", "thc") == {"state": "waiting", "for": ["w2", "w3", "w4"]}
    controller.workers.state(1, tag, 1, "w2", "thc")
    controller.workers.state(1, tag, 2, "w3", "thc")
    controller.workers.state(1, tag, 3, "another claimant", "fixed")
    controller.workers.state(1, tag, 3, None, "fixed")
    assert controller.workers.state(1, tag, 0) == {"state": "waiting", "for": ["w4"]}
    assert controller.workers.state(1, tag, 3, "w4", "thc") == {"state": "ready"}
    assert controller.workers.state(1, tag, 0) == {"state": "ready"}


@pytest.mark.parametrize("differ", [False, True])
def test_answer_about_thousand_workers_is_bounded(differ: bool) -> None:
    """One call of 42 bytes was answered with 3.9 MB."""
    hosts = tuple(f"host-{worker:04}.rack-with-a-long-name.example" for worker in range(1024))
    now = Incarnation(7, 1, 2, 64, (("10.0.0.1", 19539),), True)
    taken = {worker: Taken("one", "a process", f"{worker if differ else 0:04}" * 2048) for worker in range(1000)}
    job = Job(1, 1, 1, JobRequest("a", hosts), replace(now, taken=taken))
    answer = readiness(job, tag=7, worker=0)
    assert len(json.dumps(answer)) < 1 << 16
    if differ:
        assert len(answer["descriptions"]) == MAX_DESCRIPTIONS
    else:
        assert answer["for"] == [*hosts[1000 : 1000 + MAX_NAMED], "8 more"]


def test_causes_are_named_for_first_workers_alone(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "MAX_NAMED", 1)
    tag = join_all(controller)
    for worker in (1, 2):
        controller.workers.watch(1, tag, worker, f"w{worker + 1}")
        controller.workers.report(1, tag, worker, f"w{worker + 1}", Gone("failed", "no memory"))
    gone = controller.workers.state(1, tag, 0)["gone"]
    assert [(one["worker"], one["kind"], one["cause"]) for one in gone] == [
        (1, "failed", "no memory"),
        (2, "failed", ""),
    ]


@pytest.mark.parametrize(("role", "limit"), [(CallerRole.OPERATOR, 60), (CallerRole.TENANT, 6)])
def test_incarnations_by_joins_are_bounded(role: CallerRole, limit: int) -> None:
    """201 calls of Join began 201 incarnations in 12 s."""
    now = [0.0]
    quota = TenantQuota(admissions_per_minute=3 if role is CallerRole.TENANT else 1000)
    controller = Controller(NETWORK, FakeServer(), clock=lambda: now[0], quota=quota)
    for name in ("a", "b"):
        controller.admit(JobRequest(name, ("w1",) if name == "a" else ("w2",), slots=4), caller=Caller("bob", role))
    controller.join("a", 0)
    for _ in range(limit):
        controller.join("a", 0)
    with pytest.raises(AdmissionError, match=rf"has used its {limit} new incarnations by workers .* Try again in"):
        controller.join("a", 0)
    controller.join("b", 0)
    now[0] = 60.0 / limit + 0.01
    controller.join("a", 0)


def test_mismatch_shows_before_all_have_joined(controller: Controller) -> None:
    tag = controller.join("a", 0, Taken("w1", "w1", "thc")).tag
    controller.join("a", 1, Taken("w2", "w2", "fixed"))
    assert controller.workers.state(1, tag, 0)["state"] == "mismatch"
    assert controller.join("a", 1, Taken("new process", "w2", "thc")).tag != tag


def test_job_with_expired_lease_is_removed(controller: Controller, site: Site) -> None:
    tag = join_all(controller)
    controller.admit(request("forever", workers=2, lease_s=0))
    site.clock.now += 119
    controller.expire()
    controller.workers.state(1, tag, 3)
    site.clock.now += 119
    controller.expire()
    assert {job.request.name for job in controller.jobs()} == {"a", "forever"}
    site.clock.now += 2
    controller.expire()
    assert [job.request.name for job in controller.jobs()] == ["forever"]
    assert set(site.switches["s1"].jobs) == set(site.server.jobs) == {2}
    why = "removed: no sign of life for 120 s, its lease (lanesum job admit --lease)"
    assert what(controller, "a")[-1] == why
    assert controller.workers.state(1, tag, 3) == {"state": "removed", "why": f"job 'a' was {why}"}


def test_launch_renews_lease_of_its_job(controller: Controller, site: Site) -> None:
    """Before its workers join, too; not for a job that took the place of its own."""
    for _ in range(3):
        site.clock.now += 119
        controller.workers.renew(1)
        controller.expire()
    assert [job.number for job in controller.jobs()] == [1]
    site.clock.now += 121
    controller.expire()
    controller.admit(request("a", workers=2))
    site.clock.now += 119
    controller.workers.renew(1)
    site.clock.now += 2
    controller.expire()
    assert controller.jobs() == []


def test_worker_leaves_and_another_comes(controller: Controller, site: Site) -> None:
    controller.leave("a", "w2")
    tag = join_all(controller)
    controller.admit(request("b", workers=2, slots=30))
    before = site.switches["s1"].jobs[2]
    site.told()
    left = controller.leave("a", 0)
    assert left.request.workers == ("w3", "w4")
    answer = controller.workers.state(1, tag, 2)
    assert answer == {"state": "superseded", "why": "job 'a' has a new incarnation: w1 left"}
    job = site.switches["s1"].jobs[1]
    assert (job.slot_base, job.fan_in, len(site.server.jobs[1].members)) == (0, 2, 2)
    assert [ticket.worker for ticket in left.tickets] == [0, 1]
    extended = controller.extend("a", "w1")
    assert extended.request.workers == ("w3", "w4", "w1")
    assert [member.host.port for member in extended.switch_jobs["s1"].members] == [3, 4, 1]
    assert site.switches["s1"].jobs[2] == before, "others are not disturbed"
    assert not [one for one in site.told() if " 2" in one]
    assert what(controller, "a")[-2:] == ["new incarnation: w1 left", "new incarnation: w1 joined"]


def test_changes_that_cannot_be(controller: Controller) -> None:
    tag = controller.job("a").tickets[0].tag
    with pytest.raises(AdmissionError, match="names a host twice"):
        controller.extend("a", "w1")
    with pytest.raises(AdmissionError, match="unknown hosts: w9"):
        controller.extend("a", "w9")
    controller.admit(request("two", workers=1, slots=10))
    with pytest.raises(AdmissionError, match="w1 is the last worker of job 'two'"):
        controller.leave("two", "w1")
    controller.admit(request("quorum", slots=10, quorum=3))
    controller.leave("quorum", 3)
    with pytest.raises(AdmissionError, match="quorum = 3 is not between 0 and 2"):
        controller.leave("quorum", 0)
    assert controller.job("a").tickets[0].tag == tag


def test_worker_in_another_rack_makes_two_levels() -> None:
    site = Site("tree2x2")
    controller = site.start()
    controller.admit(request("a", workers=2))
    assert site.switches["s1"].jobs.keys() == {1}
    controller.extend("a", "w3")
    assert {name for name, switch in site.switches.items() if 1 in switch.jobs} == {"s0", "s1", "s2"}
    assert controller.job("a").tickets[2].place == (1, 0)
    assert site.server.jobs[1].on_switches
