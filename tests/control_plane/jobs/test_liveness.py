# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Streams of workers: how many one has, and what a failure and an earlier incarnation mean for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanesum.rpc import controller as rpc
from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.liveness import CUT_OFF_RECONNECT_S, RECONNECT_S, STREAMS_PER_WORKER, Gone, Liveness, Watch
from lanesum_control.jobs.records import Job, Taken
from lanesum_control.state.store import Store
from tests.control_plane.control_fakes import Site, request, what

KEY = (1, 2, 0)


def stream(key: tuple[int, int, int] = KEY) -> Watch:
    return Watch(key, lambda: {"state": "ready"}, lambda: None, lambda _watch, _is_cut_off: None)


def test_worker_keeps_its_latest_streams() -> None:
    liveness, streams = Liveness(lambda: 0.0), [stream() for _ in range(STREAMS_PER_WORKER + 1)]
    for one in streams:
        liveness.open(one)
    assert [one.ended for one in streams] == [True] + [False] * STREAMS_PER_WORKER


@pytest.mark.parametrize(("kind", "gone"), [(rpc.LOST, False), (rpc.FAILED, True), (rpc.LEFT, True)])
def test_stream_brings_back_only_a_lost_worker(kind: str, gone: bool) -> None:
    liveness = Liveness(lambda: 0.0)
    woken: list[int] = []
    liveness.open(Watch((1, 2, 1), lambda: {"state": "ready"}, lambda: woken.append(1), lambda *_: None))
    assert liveness.report(*KEY, Gone(kind, "")) and woken
    woken.clear()
    assert liveness.open(stream()) is bool(woken) is not gone
    assert liveness.is_gone(*KEY) is gone


@pytest.mark.parametrize(("is_cut_off", "wait_s"), [(False, RECONNECT_S), (True, CUT_OFF_RECONNECT_S)])
def test_worker_without_stream_has_time_to_reconnect(is_cut_off: bool, wait_s: float) -> None:
    now = 0.0
    liveness, watch = Liveness(lambda: now), stream()
    liveness.open(watch)
    assert liveness.close(watch, is_cut_off)
    now = 0.9 * wait_s
    assert liveness.take_lost() == [] and list(liveness.deadlines()) == [wait_s]
    now = wait_s
    assert liveness.take_lost() == [KEY]


def test_first_report_of_worker_is_its_cause() -> None:
    liveness = Liveness(lambda: 0.0)
    first = Gone(rpc.FAILED, "RuntimeError: out of memory")
    assert liveness.report(*KEY, first)
    assert not liveness.report(*KEY, Gone(rpc.LEFT, "closed its session"))
    assert liveness.gone(*KEY[:2]) == {KEY[2]: first}


def test_watch_without_news_has_no_answer() -> None:
    one = stream()
    assert one.poll() == {"state": "ready"} and one.poll() is None
    one.ask({"asked": True})
    assert one.poll() == {"state": "ready", "asked": True}


def test_stream_of_earlier_incarnation_is_not_alive(site: Site) -> None:
    controller = site.start()
    controller.admit(request(lease_s=10.0))
    ticket = controller.join("a", 0, Taken("one", "here"))
    watch = controller.workers.watch(ticket.job, ticket.tag, 0, "one")
    assert controller.join("a", 0, Taken("one", "here")).tag != ticket.tag
    site.clock.now += 9.0
    watch.close()
    site.clock.now += 2.0
    controller.expire()
    assert controller.jobs() == []


def test_restart_keeps_jobs_of_hosts_without_calls(site: Site, tmp_path: Path) -> None:
    """The path between controller and hosts may be cut: nothing shows that the workers are dead."""
    with Store(tmp_path / "state.db") as store:
        before = site.start(store=store)
        before.admit(request("a", workers=2, lease_s=10.0))
        before.admit(request("b", workers=1, lease_s=10.0))
        controller = site.start(store=store)
        site.clock.now += 11.0
        controller.expire()
        assert len(controller.present()) == 2
        assert what(controller, "a")[-1] == "kept: none of its hosts has reached this controller yet"
        count = len(what(controller, "a"))
        controller.expire()
        assert len(what(controller, "a")) == count
        controller.join("b", 0, Taken("one", "here"))  # at w1, where a worker of a is too
        controller.expire()
        assert [job.request.name for job in controller.present()] == ["b"]

        again = site.start(store=store)
        site.clock.now += 3601.0
        again.expire()
        assert not again.present(), "a job without any sign is not kept for ever"


def test_suspended_controller_counts_no_silence(site: Site) -> None:
    controller = site.start()
    controller.admit(request(lease_s=10.0))
    ticket = controller.join("a", 0, Taken("one", "here"))
    workers = controller.workers
    watch = workers.watch(ticket.job, ticket.tag, 0, "one")
    workers.suspend()
    assert watch.ended and workers.watch(ticket.job, ticket.tag, 0, "one").ended
    site.clock.now += 60.0
    assert controller.expire() is None and controller.present()
    workers.resume()
    controller.expire()
    assert controller.present() and not workers.state(ticket.job, ticket.tag, 1).get("gone")


def test_living_worker_is_not_replaced_before_start(site: Site) -> None:
    controller = site.start()
    controller.admit(request())
    ticket = controller.join("a", 0, Taken("one", "here"))
    controller.workers.watch(ticket.job, ticket.tag, 0, "one")
    site.clock.now += 60.0
    with pytest.raises(AdmissionError, match="was claimed twice"):
        controller.join("a", 0, Taken("other", "there"))


def test_sign_of_life_during_expiry_keeps_job(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may arrive between the search for jobs without a lease and the lock of one of them."""
    controller = site.start()
    controller.admit(request(lease_s=10.0))
    site.clock.now += 10.5
    found = controller.workers.expired

    def expired() -> list[Job]:
        jobs = list(found())
        controller.join("a", 0, Taken("one", "here"))
        return jobs

    monkeypatch.setattr(controller.workers, "expired", expired)
    controller.expire()
    assert controller.job("a").tickets
