# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Admission, slots at run time, and the state of jobs while switches or servers are unreachable."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lanesum import codecs
from lanesum.errors import ConfigurationError
from lanesum.protocol import LaneOp
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.errors import AdmissionError, QuotaError, UnknownJobError
from lanesum_control.planner.planning import NO_SLOTS
from lanesum_control.servers.remote_server import ServerError
from lanesum_control.state.store import Store
from lanesum_fabric.program.switch_job import SWITCH_MAC, HostPort, Role
from tests.control_plane.control_fakes import Site, request, what


def test_job_gets_slots_group_tag_table_and_tickets(controller: Controller, site: Site) -> None:
    admitted = controller.admit(request(seed=9))
    job = site.switches["s1"].jobs[admitted.number]
    assert admitted.switch_jobs == {"s1": job}
    assert (job.slot_base, job.slot_count, job.group, job.fan_in, job.role) == (0, 40, 1, 4, Role(0))
    assert job.code_table == codecs.get("thc", workers=4).code_table.tobytes()  # type: ignore[union-attr]
    assert [ticket.worker for ticket in admitted.tickets] == [0, 1, 2, 3]
    assert {ticket.tag for ticket in admitted.tickets} == {job.tag}
    assert admitted.tickets[2].local == ("10.19.0.3", 19539)
    assert admitted.tickets[2].server == ("10.19.0.100", 19539)
    assert {ticket.seed for ticket in admitted.tickets} == {9}
    assert len({ticket.epoch for ticket in admitted.tickets}) == 1
    assert len(site.switches["s1"].hosts) == 6
    served = site.server.jobs[admitted.number]
    assert (served.tag, served.slots, served.on_switches) == (job.tag, 40, False)
    assert set(served.members) == {ticket.local for ticket in admitted.tickets}


def test_two_levels(site: Site) -> None:
    site = Site("tree2x2")
    admitted = site.start().admit(request())
    assert {name: job.role for name, job in admitted.switch_jobs.items()} == {
        "s1": Role.ASCEND, "s2": Role.ASCEND, "s0": Role.UPPER,
    }  # fmt: skip
    assert {name: switch.jobs[1] for name, switch in site.switches.items()} == dict(admitted.switch_jobs)
    assert admitted.tickets[3].places == ((0, 0), (0, 1), (1, 0), (1, 1))
    served = site.server.jobs[admitted.number]
    assert served.on_switches
    assert {(place.rack, place.bit) for place in served.members.values()} == set(admitted.tickets[0].places)


def test_no_switch_at_all() -> None:
    site = Site(controlled=())
    admitted = site.start().admit(request(slots=500, quota=500))
    assert not admitted.switch_jobs
    assert admitted.left_out == {"s1": "no controller programs it"}
    assert not site.server.jobs[admitted.number].on_switches


@pytest.mark.parametrize(
    ("topology", "controlled", "joined"),
    [
        ("star4", [], True),
        ("star4", ["s1"], False),
        ("tree2x2", ["s1"], False),
        ("tree2x2", ["s0"], False),
        ("tree2x2", ["s2"], True),
    ],
)
def test_packets_are_joined_without_switch_on_path(topology: str, controlled: list[str], joined: bool) -> None:
    site = Site(topology, controlled=controlled)
    admitted = site.start().admit(request(workers=2))
    assert {ticket.joined_packets for ticket in admitted.tickets} == {joined}
    assert site.server.jobs[admitted.number].joined_packets == joined


def test_quorum_goes_to_switch_server_and_tickets(controller: Controller, site: Site) -> None:
    admitted = controller.admit(request(quorum=3))
    assert admitted.switch_jobs["s1"].role == Role.ASCEND | Role.QUORUM
    assert admitted.switch_jobs["s1"].fan_in == 3
    assert {ticket.quorum for ticket in admitted.tickets} == {3}
    assert (site.server.jobs[1].quorum, site.server.jobs[1].on_switches) == (3, True)
    complete = controller.admit(request("b", quorum=4))
    assert {ticket.quorum for ticket in complete.tickets} == {0}, "a quorum of all is none"


def test_slots_are_given_again_and_numbers_are_not(controller: Controller, site: Site) -> None:
    first = controller.admit(request("a"))
    b = controller.admit(request("b")).switch_jobs["s1"]
    assert (b.slot_base, b.group) == (40, 2)
    with pytest.raises(QuotaError, match="40 slots cannot be met at s1: other jobs use 80 of 100 guaranteed slots"):
        controller.admit(request("c"))
    c = controller.admit(request("c", slots=20)).switch_jobs["s1"]
    assert c.slot_base == 80
    controller.remove("a")
    assert first.number not in site.server.jobs
    d = controller.admit(request("d", slots=30)).switch_jobs["s1"]
    assert (d.slot_base, d.group) == (0, 1)
    assert d.job not in {first.number, b.job, c.job}


def test_higher_priority_takes_and_returns_slots(controller: Controller, site: Site) -> None:
    low = controller.admit(request("low", slots=90, quota=10))
    controller.join("low", 0)
    site.told()
    controller.admit(request("high", slots=80, quota=20, priority=1))
    assert controller.job("low").switch_jobs["s1"].slot_count == 20
    assert controller.job("high").switch_jobs["s1"].slot_count == 80
    assert site.told() == ["s1: modify 1 to 0+20", "s1: admit 2"]
    assert controller.join("low", 1).slots == low.tickets[0].slots == 90, "workers keep their number of slots"
    assert controller.job("low").tickets[0].tag == low.tickets[0].tag, "no new incarnation"
    controller.remove("high")
    assert site.told() == ["s1: remove 2", "s1: modify 1 to 0+90"]


def test_tree_slots_shrink_downwards_and_grow_upwards() -> None:
    site = Site("tree2x2")
    controller = site.start()
    controller.admit(request("low", slots=90, quota=10))
    order: list[str] = []
    for name, switch in site.switches.items():
        switch.log = _Order(order, name)  # type: ignore[assignment]
    controller.admit(request("high", slots=80, quota=20, priority=1))
    assert [one for one in order if "modify" in one] == [f"{s}: modify 1 to 0+20" for s in ("s0", "s2", "s1")]
    order.clear()
    controller.remove("high")
    assert [one.split(":")[0] for one in order] == ["s0", "s2", "s1", "s1", "s2", "s0"]


class _Order(list[str]):
    def __init__(self, order: list[str], name: str) -> None:
        super().__init__()
        self._order, self._name = order, name

    def append(self, item: str) -> None:
        self._order.append(f"{self._name}: {item}")


def test_best_effort_jobs_share_what_is_left(controller: Controller, site: Site) -> None:
    controller.admit(request("own", slots=60))
    one = controller.admit(request("b", slots=30, best_effort=True)).switch_jobs["s1"]
    other = controller.admit(request("c", slots=30, quota=0)).switch_jobs["s1"]
    assert (one.slot_base, other.slot_base) == (60, 60)
    assert Role.SHARED in one.role & other.role
    everything = controller.admit(request("d", slots=40))
    assert everything.switch_jobs["s1"].slot_count == 40
    assert controller.job("b").left_out == {"s1": NO_SLOTS}
    assert set(site.switches["s1"].jobs) == {1, 4}
    controller.remove("d")
    assert set(site.switches["s1"].jobs) == {1, 2, 3}


def test_resize_without_a_new_incarnation(controller: Controller, site: Site) -> None:
    tag = controller.admit(request(slots=50, quota=10)).tickets[0].tag
    assert controller.resize("a", 20).switch_jobs["s1"].slot_count == 20
    grown = controller.resize("a", 90)
    assert grown.switch_jobs["s1"].slot_count == 50, "workers use no more than they began with"
    assert {ticket.slots for ticket in grown.tickets} == {50}
    assert {ticket.tag for ticket in grown.tickets} == {tag}
    assert controller.resize("a", 5).request.quota == 5
    with pytest.raises(AdmissionError, match="quota = 10 is not between 0 and 5"):
        controller.resize("a", quota=10)
    controller.resize("a", 90)
    for worker in (0, 0):
        ticket = controller.join("a", worker)
    assert ticket.slots == 90


PARTS = ("s1", "server", "controller")


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (request(workers=0), "asks for 0 workers"),
        (replace(request(), workers=("w1", "w1")), "names a host twice"),
        (replace(request(), workers=("w1", "x9")), "Job 'a' names unknown hosts: x9"),
        (request(slots=0), "slots = 0 is not between 1 and"),
        (request(slots=101), "A quota of 101 slots cannot be met at s1: other jobs use 0 of 100 guaranteed slots"),
        (request(quota=41), "quota = 41 is not between 0 and 40"),
        (request(quorum=5), "quorum = 5 is not between 0 and 4"),
        (request(lease_s=-1), "lease_s = -1 is not between"),
        (request(lease_s=float("nan")), "lease_s = nan is not between"),
        (request(seed=1 << 64), "seed = 18446744073709551616 is not between"),
        (request(udp_port=0), "udp_port = 0 is not between"),
        (request(ops=()), "names no lane operation"),
        (replace(request(), worker_token="secret"), "worker_token is no SHA-256 in hexadecimal digits"),
        (request(""), "A job needs a name"),
        *((request(one), f"Job name '{one}' has spaces in a row or at an end") for one in ("a  b", " a", "a ")),
        *((request(one), f"Job name '{one}' is that of a switch, a server or the controller") for one in PARTS),
    ],
)
def test_refusals(controller: Controller, site: Site, bad: JobRequest, says: str) -> None:
    with pytest.raises(AdmissionError, match=says):
        controller.admit(bad)
    assert not site.switches["s1"].jobs
    assert not site.server.jobs
    assert controller.admit(request()).switch_jobs["s1"].slot_base == 0


def test_job_without_a_free_udp_port_is_refused(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum_control.planner.planning._MORE_PORTS", ())
    controller.admit(JobRequest("first", ("w1", "w2"), slots=8))
    with pytest.raises(AdmissionError, match=r"Job 'second': its hosts w2, w3 have no UDP port left\. Remove a job"):
        controller.admit(JobRequest("second", ("w2", "w3"), slots=8))


def test_jobs_of_same_hosts_have_separate_ports(controller: Controller) -> None:
    first = controller.admit(JobRequest("first", ("w1", "w2"), slots=8))
    second = controller.admit(JobRequest("second", ("w2", "w3"), slots=8))
    third = controller.admit(JobRequest("third", ("w4",), slots=8))
    ports = [{ticket.local[1] for ticket in job.tickets} for job in (first, second, third)]
    assert [len(one) for one in ports] == [1, 1, 1]
    assert ports[0] == ports[2] != ports[1]
    with pytest.raises(AdmissionError, match=f"UDP port {ports[0].pop()} of w1"):
        controller.admit(JobRequest("fourth", ("w1",), slots=8, udp_port=first.tickets[0].local[1]))
    # An added worker moves the job to a host where its port is in use.
    extended = controller.extend("third", "w1")
    assert {ticket.local[1] for ticket in extended.tickets} != {first.tickets[0].local[1]}


def test_loopback_host_takes_part_in_one_job(site: Site) -> None:
    site.network = replace(site.network, one_port=True)
    controller = site.start()
    controller.admit(JobRequest("first", ("w1", "w2"), slots=8))
    with pytest.raises(AdmissionError, match="On loopback a host takes part in one job"):
        controller.admit(JobRequest("second", ("w2", "w3"), slots=8))
    controller.admit(JobRequest("third", ("w3", "w4"), slots=8))


def test_name_taken_unknown_codec_and_unknown_job(controller: Controller) -> None:
    controller.admit(request(slots=10))
    with pytest.raises(AdmissionError, match="admitted already"):
        controller.admit(request(slots=10))
    with pytest.raises(ConfigurationError, match="no codec 'zip'"):
        controller.admit(request("b", slots=10, codec="zip"))
    with pytest.raises(UnknownJobError, match="No job 'zzz' is admitted; there is a"):
        controller.remove("zzz")


def test_operations_have_to_fill_the_packets(site: Site) -> None:
    """Bit planes come in groups of eight accumulator words."""
    controller = site.start(accumulator_words=36)
    given = controller.admit(request(codec="fixed")).tickets[0]
    assert {op for op in LaneOp if op not in given.ops} == {
        op for op in LaneOp if op.shape.lookup or 36 % op.shape.accumulator_words_per_group
    }
    with pytest.raises(AdmissionError, match=r"'b': EXPAND5TO8 sums whole groups of 8 words.* packets of 36"):
        controller.admit(request("b", codec="fixed", ops=(LaneOp.MAX, LaneOp.EXPAND5TO8)))
    assert controller.admit(request("b", codec="fixed", ops=(LaneOp.EXPAND16,))).tickets[0].ops == (LaneOp.EXPAND16,)


def test_lookup_without_code_table_is_not_permitted(controller: Controller) -> None:
    assert not any(op.shape.lookup for op in controller.admit(request(codec="fixed")).tickets[0].ops)


def test_switch_that_refuses_is_left_out(controller: Controller, site: Site) -> None:
    site.switches["s1"].full = True
    admitted = controller.admit(request(quota=0))
    assert admitted.left_out == {"s1": "it refused the job: The table is full"}
    assert admitted.number in site.server.jobs
    site.switches["s1"].full = False
    controller.admit(request("b"))
    assert not controller.job("a").switch_jobs, "it is not tried again before something goes"
    controller.remove("b")
    assert controller.job("a").switch_jobs.keys() == {"s1"}


def test_switch_that_refused_is_retried_after_restart(controller: Controller, site: Site) -> None:
    switch = site.switches["s1"]
    switch.full = True
    controller.admit(request(quota=0))
    switch.full = False
    switch.restart()
    controller.reconciler.check_switch("s1")
    assert controller.job("a").switch_jobs.keys() == {"s1"} and not controller.job("a").left_out


def test_upper_switch_is_left_out_with_refusing_rack() -> None:
    site = Site("tree2x2")
    controller = site.start()
    site.switches["s2"].full = True
    admitted = controller.admit(request(quota=0))
    assert admitted.switch_jobs.keys() == {"s1"}
    assert {name for name, switch in site.switches.items() if switch.jobs} == {"s1"}
    assert admitted.left_out["s0"] == "its results would lack the workers at s2"


def test_without_the_server_nothing_is_admitted(controller: Controller, site: Site) -> None:
    site.server.away = True
    with pytest.raises(ServerError):
        controller.admit(request())
    assert not site.switches["s1"].jobs
    site.server.away = False
    assert controller.admit(request()).switch_jobs["s1"].slot_base == 0


def test_counters(site: Site) -> None:
    site = Site("tree2x2")
    controller = site.start()
    counters = controller.counters()
    assert counters["packets"] == {"claim": 9}
    assert counters["switches"] == {name: {"claim": 3} for name in ("s0", "s1", "s2")}
    assert counters["server"] == {"decisions": {"claim": 2}, "refused": {"not a member": 1}}
    alone = Site(controlled=()).start().counters()
    assert alone["packets"] == {"aggregate": 3, "accept": 2, "route_other_size": 0, "claim": 2}


# Outages of switches and servers.


def test_switch_that_started_again_is_repaired(controller: Controller, site: Site) -> None:
    switch = site.switches["s1"]
    admitted = controller.admit(request())
    held = dict(switch.jobs)
    switch.restart()
    controller.reconciler.check_switch("s1")
    assert switch.jobs == held
    assert len(switch.hosts) == 6
    assert controller.job("a").tickets == admitted.tickets
    assert what(controller, "s1")[1:] == ["lost: The switch is away.", "connected: 0 jobs became 1"]
    controller.reconciler.check_switch("s1")
    assert len(what(controller, "s1")) == 3


def test_job_comes_to_a_switch_that_was_away(controller: Controller, site: Site) -> None:
    switch = site.switches["s1"]
    controller.admit(request("old"))
    switch.away = True
    controller.reconciler.check_switch("s1")
    new = controller.admit(request("new"))
    assert new.left_out == {"s1": "it cannot be reached: The switch is away"}
    assert controller.job("old").switch_jobs.keys() == {"s1"}, "only the way to the switch may be down"
    controller.remove("old")
    controller.admit(request("newer"))
    switch.away = False
    switch.restart()
    controller.reconciler.check_switch("s1")
    assert set(switch.jobs) == {2, 3}
    assert controller.job("new").left_out == {}


def test_switch_lost_during_admission_is_repaired_later(controller: Controller, site: Site) -> None:
    switch = site.switches["s1"]
    switch.away = True
    admitted = controller.admit(request())
    assert admitted.number in site.server.jobs
    assert what(controller, "s1")[-1] == "lost: The switch is away."
    switch.away = False
    controller.reconciler.check_switch("s1")
    assert set(switch.jobs) == {admitted.number}


def test_quota_that_a_returning_switch_cannot_meet() -> None:
    site = Site("tree2x2")
    controller = site.start()
    site.switches["s1"].away = True
    controller.reconciler.check_switch("s1")
    controller.admit(JobRequest("one", ("w1", "w2"), slots=60))
    controller.admit(JobRequest("other", ("w1", "w2"), slots=60))
    site.switches["s1"].away = False
    controller.reconciler.check_switch("s1")
    assert controller.job("one").switch_jobs.keys() == {"s1"}
    assert controller.job("other").left_out == {"s1": "other jobs use 60 of 100 guaranteed slots, and the job needs 60"}


def test_server_that_started_again_learns_all_jobs(controller: Controller, site: Site) -> None:
    controller.admit(request("a", slots=10))
    tag = controller.admit(request("b", slots=10, quorum=2)).tickets[0].tag
    site.server.restart()
    controller.reconciler.check_server()
    assert set(site.server.jobs) == {1, 2}
    assert site.server.jobs[2].tag == tag, "its journal has the decisions"
    assert what(controller, "server")[-1] == "restarted: 2 jobs admitted again"
    site.server.away = True
    controller.reconciler.check_server()
    controller.reconciler.check_server()
    assert what(controller, "server")[-1] == "lost: The server is away."
    controller.remove("a")
    site.server.away = False
    controller.reconciler.check_server()
    assert set(site.server.jobs) == {2}
    assert what(controller, "server")[-1] == "connected: 1 unexpected jobs removed"


def test_server_without_decisions_restarts_quorum_jobs(controller: Controller, site: Site) -> None:
    site.server.durable = False
    plain = controller.admit(request("plain", slots=10)).tickets[0].tag
    decided = controller.admit(request("decided", slots=10, quorum=2)).tickets[0].tag
    site.server.restart()
    controller.reconciler.check_server()
    assert site.server.jobs[1].tag == plain
    assert site.server.jobs[2].tag != decided
    assert site.switches["s1"].jobs[2].tag == site.server.jobs[2].tag


def test_repair_on_request(controller: Controller, site: Site) -> None:
    controller.admit(request())
    held = dict(site.switches["s1"].jobs)
    site.switches["s1"].jobs.clear()
    controller.reconciler.repair()
    assert site.switches["s1"].jobs == held
    assert what(controller, "s1")[-1] == "repaired: 0 jobs became 1"


def test_sums_moved_to_server_are_job_events() -> None:
    site = Site("tree2x2")
    controller = site.start()
    controller.admit(request("a"))
    (_, since) = controller.job("a").moved, controller.events.now()
    site.switches["s1"].away = True
    controller.reconciler.check_switch("s1")
    assert what(controller, "a")[1:] == ["sums of s1 moved to the server: it is lost: The switch is away"]
    (moved,) = controller.job("a").moved.values()
    assert moved.why == "it is lost: The switch is away" and moved.since >= since
    assert controller.job("a").left_out == {}, "its place there stays reserved"
    controller.reconciler.check_switch("s1")
    assert len(what(controller, "a")) == 2, "one event for one change"
    site.switches["s1"].away = False
    controller.reconciler.check_switch("s1")
    assert what(controller, "a")[2:] == ["sums of s1 are back from the server"]
    assert controller.job("a").moved == {}


def test_sums_left_to_server_by_change_are_events() -> None:
    site = Site("star4", slots=100)
    controller = site.start()
    controller.admit(request("pool", slots=50, best_effort=True))
    controller.admit(request("all", slots=100))
    assert what(controller, "pool")[1:] == ["sums of s1 moved to the server: no slots are left in its shared pool"]
    controller.remove("all")
    assert what(controller, "pool")[2:] == ["sums of s1 are back from the server"]


def test_packets_of_another_size_begin_new_incarnations() -> None:
    store, site = Store(), Site("star4")
    first = site.start(store=store)
    first.admit(request("a", codec="thc"))
    before = first.join("a", 0)
    assert site.start(store=store).join("a", 1).tag == before.tag, "a restart with the same size changes nothing"
    second = site.start(store=store, accumulator_words=2)
    assert what(second, "a")[-1] == "new incarnation: packets have 2 accumulator words now, and had 64"
    after = second.join("a", 0)
    assert (after.accumulator_words, after.tag == before.tag) == (2, False)
    assert all(op.shape.fills(2) for op in after.ops) and len(after.ops) < len(before.ops)
    state = second.workers.state(before.job, before.tag, 0)
    assert state["state"] == "superseded" and "packets have 2 accumulator words" in state["why"]


def test_cpu_port_without_packets_is_an_event() -> None:
    """With a program that lacks the table; neither without such a host, nor where the program has the table."""
    site = Site("star4")
    assert what(site.start(), "s1") == ["connected: no differences"]
    hosts = site.network.seen["s1"] | {"os": HostPort(64, 0x0A1300FE, SWITCH_MAC)}
    site.network = replace(site.network, seen={"s1": hosts})
    assert what(site.start(), "s1")[0] == (
        "redirects no packets to its CPU port: its program drops expired and unroutable ones, or reports them"
    )
    switch = site.switches["s1"]
    switch.capabilities = replace(switch.capabilities, redirects=True)
    assert not any("CPU port" in text for text in what(site.start(), "s1"))
