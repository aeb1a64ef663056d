# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Counts of workers at the controller, and ``lanesum top``."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from lanesum.errors import LanesumError
from lanesum.joining import join
from lanesum.keep_alive import KeepAlive
from lanesum.rpc import controller as rpc
from lanesum.rpc.caller import Caller, CallerRole
from lanesum.transport.latency import LatencyHistogram
from lanesum.transport.stats import FailedChunk, TransportStats
from lanesum.transport.ticket import JobTicket
from lanesum_control.cli import screen, top
from lanesum_control.cli.top import snapshot
from lanesum_control.controller.controller import Controller
from lanesum_control.controller.examination import _covered
from lanesum_control.controller.service import ControllerService
from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.worker_reports import COUNTS, read_counts, read_failed_chunks
from lanesum_control.observe.live_view import Poll, view
from lanesum_control.planner.allocation import SlotRange
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site, request

ZERO = dict.fromkeys(COUNTS, 0)
NOTHING_LISTENS = "127.0.0.1:1"


class Transport:
    """Listener of a keep-alive with fixed counts."""

    def __init__(self) -> None:
        latency = LatencyHistogram()
        latency.record(0.25)
        self.failed_chunks: list[FailedChunk] = []
        self.stats = TransportStats(packets_sent=7, packets_received=5, retransmissions=2, latency=latency)

    def interrupt(self, error: LanesumError, patience_s: float) -> None:
        raise AssertionError(error)


def ticket(controller: Controller, worker: int = 0) -> JobTicket:
    return controller.join("a", worker)


def state(controller: Controller, held: JobTicket, counts: dict[str, int]) -> dict[str, Any]:
    return controller.workers.state(held.job, held.tag, held.worker, counts=counts)


def reported(controller: Controller) -> list[int | None]:
    """Return the packets that each worker of the only job has reported."""
    (figures,) = controller.ask(controller.jobs()).values()
    return [None if one.report is None else one.report.counts["packets_sent"] for one in figures]


def test_top_shows_the_fullest_table() -> None:
    assert top._fullest({}) == "-"
    tables = {"member": {"used": 100, "size": 1024}, "descend": {"used": 31, "size": 32}}
    assert top._fullest(tables) == "descend 31/32"


def test_live_asks_a_worker_which_reports_its_counts(address: str, site: Site) -> None:
    rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w1", "w2"], "slots": 8})
    with KeepAlive(join(controller=address, job="a", worker=0), address) as keep_alive:
        keep_alive.listen(transport := Transport())
        while True:  # the test's time limit ends it
            site.clock.now += 1
            answer = rpc.call(address, rpc.LIVE, {})
            first, second = answer["jobs"][0]["figures"]
            if first["report"] is not None:
                break
        assert (first["host"], first["state"], second["state"]) == ("w1", "alive", "awaited")
        sent = transport.stats.report()
        assert first["report"]["counts"] == {name: sent[name] for name in COUNTS}
        assert first["report"]["counts"]["latency_us"] == pytest.approx(250_000, rel=0.02)
        assert second["report"] is None
        assert answer["counters"]["slots"] == {
            "s1": {"all": 100, "used": 8, "tables": {}, "lost": None, "drained": None}
        }


def test_report_names_every_count_that_the_controller_reads() -> None:
    assert set(TransportStats().report()) >= set(COUNTS)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([], "no object of at most 64 numbers"),
        ({str(one): 0 for one in range(65)}, "no object of at most 64 numbers"),
        ({}, "packets_sent = 'None' is no number"),
        ({**ZERO, "rounds": -1}, "rounds = '-1' is no number from 0"),
        ({**ZERO, "chunks": 1.5}, r"chunks = '1\.5' is no number"),
        ({**ZERO, "chunks": True}, "chunks = 'True' is no number"),
        ({**ZERO, "latency_us": 1 << 63}, "latency_us = '9223372036854775808' is no number"),
    ],
)
def test_counts_that_are_wrong_are_refused(address: str, controller: Controller, counts: object, message: str) -> None:
    controller.admit(request(workers=1))
    held = ticket(controller)
    with pytest.raises(rpc.ControllerError, match=message):
        rpc.call(address, rpc.KEEPALIVE, {"job": held.job, "tag": held.tag, "worker": held.worker, "counts": counts})
    assert reported(controller) == [None]


def test_counts_of_earlier_build_lack_failed_results() -> None:
    assert read_counts({name: 0 for name in COUNTS if name != "failed_results"}) == ZERO


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ({}, "failed_chunks are no list of at most 64"),
        ([[0] * 6] * 65, "no list of at most 64 records"),
        ([[0] * 5], "are no 6 numbers from 0"),
        ([[1, 2, 3, 4, 5, -1]], "are no 6 numbers from 0"),
        ([7], "'7' are no 6 numbers"),
    ],
)
def test_failed_chunks_that_are_wrong_are_refused(chunks: object, message: str) -> None:
    with pytest.raises(AdmissionError, match=message):
        read_failed_chunks(chunks)


def test_counts_of_a_void_ticket_are_ignored(controller: Controller) -> None:
    controller.admit(request(workers=2))
    old = ticket(controller, 0)
    state(controller, old, {**ZERO, "packets_sent": 3})
    assert reported(controller) == [3, None]
    controller.leave("a", 1)
    assert reported(controller) == [None]
    assert state(controller, old, {**ZERO, "packets_sent": 4})["state"] == "superseded"
    assert reported(controller) == [None]


def test_worker_is_asked_at_most_twice_per_second(controller: Controller, site: Site) -> None:
    controller.admit(request(workers=1))
    held = ticket(controller)
    watch = controller.workers.watch(held.job, held.tag, held.worker, "")

    def asked() -> bool:
        controller.ask(controller.jobs())
        found = watch.poll()
        return found is not None and found.get("asked", False)

    assert asked() and not asked()
    site.clock.now += 0.4
    assert not asked()
    site.clock.now += 0.2
    assert asked()


def test_tenant_gets_its_own_jobs_without_counters(address: str, controller: Controller) -> None:
    for name, host, owner in (("a", "w1", "alice"), ("b", "w2", "bob")):
        job = request(name, 1)
        controller.admit(type(job)(name, (host,), slots=8), caller=Caller(owner, CallerRole.TENANT))
    service = ControllerService(controller, "127.0.0.1:0")
    answer = service._live({}, Caller("alice", CallerRole.TENANT))
    assert [job["name"] for job in answer["jobs"]] == ["a"] and "counters" not in answer
    assert len(service._live({}, Caller("root", CallerRole.OPERATOR))["jobs"]) == 2
    assert "counters" not in service._live({"job": "b"}, Caller("root", CallerRole.OPERATOR))
    service.close()


def test_slots_in_several_ranges_count_once() -> None:
    assert _covered([SlotRange(0, 4), SlotRange(2, 4), SlotRange(10, 5), SlotRange(11, 2)]) == 11
    assert _covered([]) == 0


# Rates between two answers.


def figures(host: str, at_s: float, state: str = "alive", **counts: int) -> dict[str, Any]:
    return {"host": host, "state": state, "age_s": 0.1, "report": {"at_s": at_s, "counts": {**ZERO, **counts}}}


def answer(*workers: dict[str, Any], **more: Any) -> dict[str, Any]:
    job = {
        "name": "a",
        "owner": "",
        "incarnation": "7",
        "placement": {"s1": {"slots": 8}},
        "moved": {},
        "result_bytes": 256,
    }
    return {"jobs": [{**job, "figures": list(workers)}], **more}


def job_of(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    (job,) = view(Poll(10.0, before), Poll(12.0, after))["jobs"]
    assert isinstance(job, dict)
    return job


def test_view_of_two_reports_has_their_rates() -> None:
    then = figures("w1", 1.0, chunks=100, packets_sent=1000, latency_us=5)
    grown = {"retransmissions": 30, "duplicate_results": 10, "server_results": 40, "ecn_marks": 8}
    grown |= {"peer_retransmissions": 16, "reordered_results": 50}
    now = figures("w1", 3.0, chunks=300, packets_sent=1400, latency_us=400_005, wait_us=500_000, **grown)
    job = job_of(answer(then), answer(now))
    (worker,) = job["workers"]
    assert worker["goodput_bytes_per_s"] == job["goodput_bytes_per_s"] == 200 * 256 / 2
    assert (worker["packets_per_s"], worker["retransmissions_per_s"], worker["marks_per_s"]) == (200, 15, 4)
    assert (worker["lost_share"], worker["server_share"]) == (4 / 400, 40 / 200)
    assert (worker["peer_share"], worker["needless_share"], worker["reordered_share"]) == (0.04, 0.025, 0.25)
    assert (worker["latency_s"], worker["wait_share"]) == (pytest.approx(0.002), 0.25)
    assert (job["alive"], job["slots"], job["stragglers"]) == (1, {"s1": 8}, [])


def test_view_without_two_reports_has_no_rates() -> None:
    now = answer(figures("w1", 1.0, chunks=5))
    other = answer(figures("w1", 0.5, chunks=5))
    other["jobs"][0]["incarnation"] = "8"
    for before in (None, Poll(10.0, now), Poll(10.0, other), Poll(10.0, {"jobs": []})):
        (job,) = view(before, Poll(12.0, now))["jobs"]
        assert job["workers"][0]["packets_per_s"] is None and job["goodput_bytes_per_s"] is None


def test_view_of_decreased_counts_has_no_negative_rate() -> None:
    job = job_of(answer(figures("w1", 1.0, chunks=50, packets_sent=9)), answer(figures("w1", 2.0, chunks=1)))
    assert (job["goodput_bytes_per_s"], job["workers"][0]["lost_share"]) == (0, None)


@pytest.mark.parametrize(
    ("waits", "stragglers"),
    [
        ((0.5, 0.5, 0.5), []),
        ((0.5, 0.6, 0.1), ["w3"]),
        ((0.3, 0.1), ["w2"]),
        ((0.3, 0.25), []),
        ((0.0, 0.0), []),
        ((0.1,), []),
    ],
)
def test_straggler_is_the_worker_that_waits_least(waits: tuple[float, ...], stragglers: list[str]) -> None:
    hosts = [f"w{number + 1}" for number in range(len(waits))]
    now = [figures(host, 2.0, wait_us=round(share * 1e6)) for host, share in zip(hosts, waits, strict=True)]
    job = job_of(answer(*(figures(host, 1.0) for host in hosts)), answer(*now))
    assert job["stragglers"] == stragglers
    assert [one["host"] for one in job["workers"] if one["straggler"]] == stragglers


def counters(claims: int, server: dict[str, Any] | None, lost: str | None = None) -> dict[str, Any]:
    slots = {"s1": {"all": 100, "used": 8, "lost": lost}}
    switches = {} if lost else {"s1": {"claim": claims}}
    return {"slots": slots, "switches": switches, "servers": {"server": server}}


def test_view_of_counters_has_rates_of_answering_parts() -> None:
    busy = {"decisions": {"claim": 10}, "refused": {}}
    after = {"decisions": {"claim": 50}, "refused": {"size": 6}}
    found = view(Poll(10.0, answer(counters=counters(4, busy))), Poll(12.0, answer(counters=counters(14, after))))
    assert found["switches"][0]["decisions_per_s"] == {"claim": 5}
    assert found["switches"][0]["used_slots"] == 8
    assert found["servers"] == [
        {"name": "server", "up": True, "decisions_per_s": {"claim": 20}, "refused_per_s": {"size": 3}}
    ]
    gone = view(Poll(10.0, answer(counters=counters(4, busy))), Poll(12.0, answer(counters=counters(0, None, "away"))))
    assert (gone["switches"][0]["lost"], gone["switches"][0]["decisions_per_s"]) == ("away", None)
    assert (gone["servers"][0]["up"], gone["servers"][0]["decisions_per_s"]) == (False, None)


def test_snapshot_waits_for_two_reports_per_live_worker() -> None:
    slept: list[float] = []
    silent = {"host": "w1", "state": "alive", "age_s": None, "report": None}
    gone = {**silent, "host": "w2", "state": "lost"}
    polls = iter(
        [
            answer(silent, gone),
            answer(figures("w1", 1.0, chunks=1), gone),
            answer(figures("w1", 1.2, chunks=2), gone),
            answer(figures("w1", 2.0, chunks=9), gone),
        ]
    )
    found = snapshot(lambda: Poll(math.fsum(slept), next(polls)), slept.append)
    assert found["jobs"][0]["workers"][0]["goodput_bytes_per_s"] == pytest.approx(8 * 256)
    assert slept == [0.1, 1.0, 0.1]


def test_snapshot_of_workers_that_never_report_ends() -> None:
    silent = {"host": "w1", "state": "alive", "age_s": None, "report": None}
    slept: list[float] = []
    found = snapshot(lambda: Poll(math.fsum(slept), answer(silent)), slept.append)
    assert found["jobs"][0]["workers"][0]["packets_per_s"] is None
    assert math.fsum(slept) == pytest.approx(5.0)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum_control.cli.top._ONCE_S", 0.0)


@pytest.mark.usefixtures("at_once")
def test_top_once_prints_jobs_and_parts_whole(address: str, controller: Controller) -> None:
    controller.admit(request("[bold]", workers=2))
    table = invoke(["top", "--once", "--controller", address])
    assert table.exit_code == 0, table.output
    for text in ("[bold]", "0/2", "s1:40", "w2", "awaited", "40/100", "server", "up"):
        assert text in table.output
    found = json.loads(invoke(["top", "--json", "--controller", address]).output)
    assert [job["name"] for job in found["jobs"]] == ["[bold]"]
    assert found["switches"][0]["slots"] == 100 and found["servers"][0]["up"]


def answering(*answers: dict[str, Any] | Exception) -> Callable[..., dict[str, Any]]:
    """Return a stand-in for ``rpc.call`` that returns or raises the next of ``answers``."""
    left = iter(answers)

    def call(*_arguments: object, **_options: object) -> dict[str, Any]:
        found = next(left)
        if isinstance(found, Exception):
            raise found
        return found

    return call


def test_top_in_terminal_ends_when_controller_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each refused call is an event; a removed job must not fill the log with them."""
    monkeypatch.setattr(top, "console", lambda: Console(file=io.StringIO(), force_terminal=True))
    monkeypatch.setattr(screen, "time", SimpleNamespace(sleep=lambda _seconds: None))
    refusal = rpc.ControllerError("No job 'a' is admitted.")
    monkeypatch.setattr(rpc, "call", answering(answer(figures("w1", 1.0)), refusal))
    with pytest.raises(rpc.ControllerError, match="No job 'a' is admitted"):
        top.show(NOTHING_LISTENS, "a", 2.0, once=False, as_json=False)


def test_top_in_a_terminal_goes_on_until_sigint(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    terminal = Console(file=shown, force_terminal=True, width=200, height=50)
    monkeypatch.setattr(top, "console", lambda: terminal)
    slow, quick = (figures(f"w{one}", 1.0, wait_us=one * 100_000) for one in (1, 5))
    later = [figures("w1", 2.0, wait_us=150_000), figures("w5", 2.0, wait_us=900_000)]
    restarting = rpc.UnreachableError("No controller answers.")
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(rpc, "call", answering(answer(quick, slow), restarting, answer(*reversed(later))))
    monkeypatch.setattr(screen, "time", SimpleNamespace(sleep=sleep))
    top.show(NOTHING_LISTENS, "a", 2.5, once=False, as_json=False)
    assert len(slept) == 3 and max(slept) <= 2.5
    text = shown.getvalue()
    assert text.index("No controller answers.") < text.index("alive, straggler") < text.rindex(" w5 ")


def test_top_keeps_one_connection_until_it_fails(
    controller: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    call = rpc.call
    monkeypatch.setattr(rpc, "call", lambda *rest, **more: (opened.append(rest[1]), call(*rest, **more))[1])
    address = f"unix:{tmp_path / 'controller.sock'}"
    with top._Connection(address) as connection:
        with ControllerService(controller, address):
            assert [connection.poll({}).answer["jobs"] for _ in range(3)] == [[]] * 3
            assert opened == [rpc.LIVE]
            with pytest.raises(rpc.ControllerError, match="No job 'b' is admitted"):
                connection.poll({"job": "b"})
        with ControllerService(controller, address):
            assert [connection.poll({}).answer["jobs"] for _ in range(2)] == [[]] * 2
    assert len(opened) == 3


@pytest.mark.usefixtures("at_once")
def test_job_top_shows_one_job(address: str, controller: Controller) -> None:
    controller.admit(request("a", workers=1))
    found = json.loads(invoke(["job", "top", "a", "--json", "--controller", address]).output)
    assert [job["name"] for job in found["jobs"]] == ["a"] and "switches" not in found
    refused = invoke(["job", "top", "b", "--controller", address])
    assert refused.exit_code != 0 and "No job 'b' is admitted" in refused.output
