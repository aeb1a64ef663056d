# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Devices whose results fail their check: events, metric, and switches that are left out of the job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lanesum.rpc import controller as rpc
from lanesum.transport.stats import FailedChunk
from lanesum.transport.ticket import JobTicket
from lanesum_control.controller.controller import Controller
from lanesum_control.controller.process import controller_samples
from lanesum_control.jobs.failing_devices import MAX_FAILED, WINDOW_S
from lanesum_control.jobs.records import Taken
from lanesum_control.state.store import Store
from tests.control_plane.control_fakes import Site, request, what


def ticket(controller: Controller, worker: int = 0, name: str = "a") -> JobTicket:
    return controller.join(name, worker, Taken(f"claimant {worker}", "a test"))


def report(controller: Controller, held: JobTicket, *chunks: tuple[int, ...], claimant: str = "") -> dict[str, Any]:
    """Report chunks, which are given as ``FailedChunk`` has its fields."""
    claimant = claimant or f"claimant {held.worker}"
    failed = [FailedChunk(*one) for one in chunks]
    return controller.workers.state(held.job, held.tag, held.worker, claimant, failed_chunks=failed)


def told(controller: Controller, name: str = "a") -> list[str]:
    return [one for one in what(controller, name) if "failed their check" in one]


def by_switch(number: int) -> tuple[int, ...]:
    return number, 0, number, number % 8, 2, 0


def by_server(number: int, results: int) -> tuple[int, ...]:
    return number, 0, number, number % 8, 0, results


def totals(controller: Controller) -> dict[str, float]:
    """Return the metric of failed results by device."""
    family = "lanesum_job_device_failed_results"
    (found,) = [one for one in controller_samples(controller).collect() if one.name == family]
    return {one.labels["device"]: one.value for one in found.samples}


def test_failed_chunk_names_device_slots_and_worker(controller: Controller) -> None:
    controller.admit(request("a", certified=True))
    held = ticket(controller, 1)
    report(controller, held, by_switch(1), by_switch(2))
    report(controller, held, by_switch(1), by_switch(2))
    assert told(controller) == [
        "results of slots [1, 2] of s1 failed their check at worker 1 (w2), and were not used",
    ]
    report(controller, held, by_server(3, 1))
    assert "results of slots [3] of server failed their check" in told(controller)[-1]
    assert totals(controller) == {"s1": 2.0, "server": 1.0}
    assert set(controller.job("a").switch_jobs) == {"s1"}


def test_chunk_that_all_workers_report_counts_once(controller: Controller) -> None:
    controller.admit(request("a", certified=True))
    for worker in range(4):
        report(controller, ticket(controller, worker), *(by_switch(number) for number in range(1, MAX_FAILED)))
    controller.expire()
    assert totals(controller) == {"s1": MAX_FAILED - 1.0}
    assert set(controller.job("a").switch_jobs) == {"s1"}


def test_failures_of_other_processes_count_not(controller: Controller) -> None:
    controller.admit(request("a", certified=True))
    held = ticket(controller)
    report(controller, held, *map(by_switch, range(1, 9)), claimant="another process")
    failed = [FailedChunk(*by_switch(1))]
    controller.workers.state(held.job, held.tag, held.worker, failed_chunks=failed)
    assert told(controller) == [] and totals(controller) == {}


def test_switch_that_fails_again_is_left_out(site: Site, tmp_path: Path) -> None:
    """The controller drains it for this job alone, which continues; also after a restart of the controller."""
    with Store(tmp_path / "state") as store:
        controller = site.start(store=store)
        admitted = controller.admit(request("a", certified=True))
        controller.admit(request("b", certified=True))
        woken: list[bool] = []
        controller.watch_leases(lambda: woken.append(True))
        held = ticket(controller)
        report(controller, held, *map(by_switch, range(1, MAX_FAILED)))
        assert not woken and controller.workers.seconds_left() != 0.0
        report(controller, held, by_switch(MAX_FAILED))
        assert woken and controller.workers.seconds_left() == 0.0
        assert controller.expire() != 0.0
        job = controller.job("a")
        why = "it is drained: 3 of its results failed their check within 60 minutes"
        assert (job.switch_jobs, job.left_out, job.tickets) == ({}, {"s1": why}, admitted.tickets)
        assert what(controller, "a")[-1] == f"sums of s1 moved to the server: {why}"
        assert set(controller.job("b").switch_jobs) == {"s1"}
        controller.close()
    with Store(tmp_path / "state") as store:
        controller = site.start(store=store)
        assert controller.job("a").switch_jobs == {}
        assert controller.undrain("s1", name="a") == ["a", "b"]
        report(controller, held, *map(by_switch, range(4, 4 + MAX_FAILED - 1)))
        controller.expire()
        assert set(controller.job("a").switch_jobs) == {"s1"}, "its return begins a new count"
        controller.close()


def test_failures_long_ago_leave_no_switch_out(controller: Controller, site: Site) -> None:
    controller.admit(request("a", certified=True))
    held = ticket(controller)
    for number in range(1, 2 * MAX_FAILED):
        report(controller, held, by_switch(number))
        site.clock.now += WINDOW_S / (MAX_FAILED - 1)
        report(controller, held)
    controller.expire()
    assert totals(controller)["s1"] == 2 * MAX_FAILED - 1
    assert set(controller.job("a").switch_jobs) == {"s1"}


def test_results_of_server_name_racks_that_take_part() -> None:
    """The server adds partial sums of racks, where no upper switch does; each of them may be wrong."""
    site = Site("tree2x2", controlled=["s1", "s2"])
    controller = site.start()
    job = controller.admit(request("a", workers=4, certified=True))
    assert set(job.switch_jobs) == {"s1", "s2"}
    report(controller, ticket(controller), by_server(1, MAX_FAILED))
    (event,) = told(controller)
    assert "of server or s1 or s2 failed their check" in event
    controller.expire()
    assert controller.job("a").switch_jobs == {}
    controller.close()


def test_result_of_upper_switch_names_racks_too() -> None:
    site = Site("tree2x2")
    controller = site.start()
    controller.admit(request("a", workers=4, certified=True))
    report(controller, ticket(controller), by_switch(1))
    (event,) = told(controller)
    upper = site.network.upper
    assert f"of {upper} or " in event and set(totals(controller)) == set(site.switches)
    controller.close()


def test_removed_job_leaves_no_counts(controller: Controller) -> None:
    controller.admit(request("a", certified=True))
    report(controller, ticket(controller), by_switch(1))
    controller.remove("a")
    controller.admit(request("a", certified=True))
    assert totals(controller) == {}


def test_keep_alive_message_with_failed_chunks_is_read(address: str, controller: Controller) -> None:
    controller.admit(request("a", certified=True))
    held = ticket(controller)
    message = {"job": held.job, "tag": held.tag, "worker": 0, "claimant": "claimant 0", "failed_chunks": [by_switch(1)]}
    rpc.call(address, rpc.KEEPALIVE, message)
    assert len(told(controller)) == 1
    with pytest.raises(rpc.ControllerError, match="are no 6 numbers"):
        rpc.call(address, rpc.KEEPALIVE, {**message, "failed_chunks": [[1]]})
