# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Several aggregation servers: all jobs are at each of them, and outages are independent."""

from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path

import pytest

from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS
from lanesum.server import MemberIndex, ServerJob
from lanesum.server.service import serve
from lanesum_control.controller.controller import Controller
from lanesum_control.controller.messages import job_message
from lanesum_control.errors import AdmissionError
from lanesum_control.servers.controlled_server import ServerLinks, UnservedError
from lanesum_control.servers.remote_server import RemoteServer, ServerError
from lanesum_control.state.events import EventLog
from lanesum_control.state.store import Store
from tests.control_plane.control_fakes import Site, request, what

ADDRESSES = (("10.19.0.100", 19539), ("10.19.0.101", 19539), ("10.19.0.102", 19539))


def jobs_at(site: Site) -> list[dict[int, int]]:
    """Return the tags by job number, at each server."""
    return [{number: job.tag for number, job in server.jobs.items()} for server in site.servers]


def test_job_is_everywhere_and_tickets_name_all_servers() -> None:
    site = Site(servers=3)
    controller = site.start()
    admitted = controller.admit(request())
    assert {ticket.servers for ticket in admitted.tickets} == {ADDRESSES}
    assert jobs_at(site) == [{1: admitted.tickets[0].tag}] * 3
    assert job_message(admitted)["servers"] == ["10.19.0.100:19539", "10.19.0.101:19539", "10.19.0.102:19539"]
    assert set(site.switches["s1"].jobs) == {1}
    again = controller.leave("a", "w1")
    assert jobs_at(site) == [{1: again.tickets[0].tag}] * 3
    controller.remove("a")
    assert jobs_at(site) == [{}] * 3


def test_job_refused_by_one_server_is_at_none() -> None:
    site = Site(servers=3)
    controller = site.start()
    site.servers[2].away = True
    with pytest.raises(
        UnservedError, match=r"needs the aggregation server server3, .*: The server is away\."
    ) as caught:
        controller.admit(request())
    assert isinstance(caught.value, AdmissionError) and isinstance(caught.value, ServerError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.server) == (str(caught.value), "server3")
    assert what(controller, "server3")[1:] == ["lost: The server is away."]
    assert (jobs_at(site), controller.jobs()) == ([{}] * 3, [])
    site.servers[2].away = False
    assert controller.admit(request()).number in site.servers[2].jobs


def test_refused_job_on_full_disk_leaves_no_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allocate = os.posix_fallocate

    def fill(file: int, begin: int, size: int) -> None:
        allocate(file, begin, size // 2)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    journals, control = tmp_path / "journals", f"unix:{tmp_path}/control"
    job = ServerJob(1, 2, {("10.19.0.1", 5): MemberIndex(0, 0, 0), ("10.19.0.2", 5): MemberIndex(1, 0, 1)}, 4, quorum=1)
    with serve(("127.0.0.1", 0), control, journals), Store() as store:
        monkeypatch.setattr(os, "posix_fallocate", fill)
        links = ServerLinks([RemoteServer(control)], EventLog(store), ["server"])
        with pytest.raises(UnservedError, match=r"cannot keep its results in .*: No space left on device"):
            links.admit(job)
        assert list(journals.iterdir()) == []


def test_events_name_server_lost_and_restored() -> None:
    site = Site(servers=2)
    controller = site.start()
    controller.admit(request())
    before = jobs_at(site)
    site.servers[1].away = True
    controller.reconciler.check_server("server2")
    site.servers[1].away = False
    site.servers[1].restart()
    controller.reconciler.check_server("server2")
    assert jobs_at(site) == before
    assert what(controller, "server2")[1:] == ["lost: The server is away.", "restarted: 1 jobs admitted again"]
    assert what(controller, "server") == ["connected: no differences"]


def test_decisions_forgotten_by_one_server_restart_job_everywhere() -> None:
    site = Site(servers=2)
    controller = site.start()
    for server in site.servers:
        server.durable = False
    plain = controller.admit(request("a", 2)).tickets[0].tag
    decided = controller.admit(request("b", 4, quorum=3, udp_port=20000)).tickets[0].tag
    site.servers[1].restart()
    controller.reconciler.check_server("server2")
    (one, other) = jobs_at(site)
    assert one == other
    assert (one[1], one[2] != decided) == (plain, True)
    assert any("the server2 lost what it had decided" in event for event in what(controller, "b"))


def test_counters_of_each_and_of_all() -> None:
    site = Site(servers=2, controlled=())
    controller = site.start()
    counters = controller.counters()
    one = {"decisions": {"claim": 2}, "refused": {"not a member": 1}}
    assert counters["servers"] == {"server": one, "server2": one}
    assert counters["server"] == {"decisions": {"claim": 4}, "refused": {"not a member": 2}}
    assert counters["packets"]["claim"] == 4
    site.servers[0].away = True
    counters = controller.counters()
    assert (counters["servers"], counters["server"]) == ({"server": None, "server2": one}, one)
    site.servers[1].away = True
    assert controller.counters()["server"] is None


def test_controller_has_as_many_servers_as_its_network() -> None:
    site = Site(servers=2)
    with pytest.raises(
        ConfigurationError, match=r"has 1 aggregation servers.*addressed to 2: 10.19.0.100, 10.19.0.101"
    ):
        Controller(site.network, site.server, site.switches)


def test_job_learns_that_its_servers_are_others(tmp_path: Path) -> None:
    """Old workers would send slots to other servers than new ones."""
    site = Site(servers=2)
    with Store(tmp_path / "state") as store:
        controller = site.start(store=store)
        before = controller.join("a", 0) if controller.admit(request()) else None
        assert before is not None
    with Store(tmp_path / "state") as store:
        assert site.start(store=store).job("a").tickets[0] == before, "nothing has changed"
    more = Site(servers=3)
    with Store(tmp_path / "state") as store:
        controller = more.start(store=store)
        job = controller.job("a")
        assert (job.tickets[0].servers, job.joined) == (ADDRESSES, frozenset())
        assert job.tickets[0].tag != before.tag
        assert jobs_at(more) == [{1: job.tickets[0].tag}] * 3
        assert what(controller, "a")[-1] == "new incarnation: its servers are others than before"
        assert controller.workers.state(1, before.tag, 0)["state"] == "superseded"


def test_workers_beside_server_send_from_own_port() -> None:
    site = Site(servers=2, on_workers=True)
    controller = site.start()
    job = controller.admit(request())
    assert job.tickets[0].servers == (("10.19.0.1", 19539), ("10.19.0.2", 19539))
    assert {ticket.local[1] for ticket in job.tickets} == {19540}
    assert job.left_out == {"s1": "w1 reaches the server on its own host without it"}
    with pytest.raises(AdmissionError, match=r"UDP port 19539 of w1, w2, or a server has it"):
        controller.admit(request("b", 4, udp_port=19539))


def test_server_accepts_aggregates_after_controller_starts_with_switches(tmp_path: Path) -> None:
    site, without = Site("tree2x2"), Site("tree2x2", controlled=())
    without.servers = site.servers
    told = []
    for one, options in ((without, {"accumulator_words": DEFAULT_ACCUMULATOR_WORDS}), (site, {}), (without, {})):
        with Store(tmp_path / "state") as store:
            controller = one.start(store=store, **options)
            if not controller.present():
                controller.admit(request())
            told.append(
                (site.server.jobs[1].on_switches, controller.job("a").tickets[0].tag, what(controller, "server"))
            )
    assert [sums for sums, _, _ in told] == [False, True, False]
    assert told[0][1] != told[1][1], "a switch would read joined packets"
    assert told[1][1] == told[2][1], "running rounds continue"
    assert told[2][2][-1] == "connected: 1 jobs admitted again"
