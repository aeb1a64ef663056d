# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Traces: spans of workers at the controller, their clocks, and the file for Perfetto."""

from __future__ import annotations

import errno
import itertools
import json
import math
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanesum._internal.native import availability
from lanesum.errors import ConfigurationError
from lanesum.joining import join
from lanesum.keep_alive import KeepAlive
from lanesum.rpc import controller as rpc
from lanesum.rpc.json_grpc import ReplyStream
from lanesum.session import Session
from lanesum.session.all_reduce import SessionPhases
from lanesum.transport.ticket import JobTicket
from lanesum_control.controller.controller import Controller
from lanesum_control.errors import AdmissionError
from lanesum_control.observe import traces
from lanesum_control.observe.traces import REPORT_S, SPANS, WorkerTrace, read_trace
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site, request
from tests.host.torch.controllers import controlled

ROUND = "lanesum::round"
STEPS = {"lanesum::encode", "lanesum::send", "lanesum::network", "lanesum::decode"}
# Vectors, and the spans of their all-reduces: one call of the native extension, one for each round, and several calls.
SPANS_OF = (
    (np.zeros(100, np.float32), {"lanesum::network", ROUND}),
    (np.zeros(100, np.float64), {"lanesum::encode", "lanesum::network", "lanesum::decode", ROUND}),
    (np.zeros(3000, np.float32), {*STEPS, ROUND}),
)
GOOD: dict[str, Any] = {"spans": [["lanesum::encode", 1, 2]], "steps": [5], "error_us": 3, "offset_us": -4}


def report(controller: Controller, held: JobTicket, trace: WorkerTrace) -> None:
    controller.workers.state(held.job, held.tag, held.worker, trace=trace)


class Training:
    """Workers in threads that sum until ``stop`` is set, and the begin and end of each sum by ``perf_counter``."""

    def __init__(self, address: str, job: str, workers: int) -> None:
        self.stop = threading.Event()
        self.sums: list[list[tuple[float, float]]] = [[] for _ in range(workers)]
        self.all_stopped = [False] * workers
        self._threads = [threading.Thread(target=self._work, args=(address, job, one)) for one in range(workers)]

    def _work(self, address: str, job: str, worker: int) -> None:
        with Session(join(controller=address, job=job, worker=worker, wait=True), codec="fixed") as session:
            stopping = 0.0
            while not stopping:
                vector = SPANS_OF[len(self.sums[worker]) % len(SPANS_OF)][0] + self.stop.is_set()
                begin = time.perf_counter()
                stopping = session.all_reduce(vector)[0]
                self.sums[worker].append((begin, time.perf_counter()))
            self.all_stopped[worker] = True

    def __enter__(self) -> Training:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join()


def intervals(events: list[dict[str, Any]], worker: int, name: str) -> list[tuple[int, int]]:
    """Return the begins and ends of a worker's spans."""
    own = [one for one in events if one["pid"] == worker and one["name"] == name]
    if name != ROUND:
        return [(one["ts"], one["ts"] + one["dur"]) for one in own]
    begins = {one["id"]: one["ts"] for one in own if one["ph"] == "b"}
    ends = {one["id"]: one["ts"] for one in own if one["ph"] == "e"}
    assert begins.keys() == ends.keys()
    return [(begins[number], ends[number]) for number in begins]


def check_format(events: list[dict[str, Any]]) -> None:
    """Check the rules of the Trace Event Format, and of Perfetto's reader, for the events that a timeline has."""
    for event in events:
        assert isinstance(event["name"], str) and isinstance(event["pid"], int) and isinstance(event["tid"], int)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and isinstance(event["args"]["name"], str)
            continue
        assert event["ph"] in ("X", "b", "e") and type(event["ts"]) is int and event["ts"] >= 0
        assert event["cat"] == "lanesum" and event["args"]["step"] >= 0
        assert event["dur"] >= 0 if event["ph"] == "X" else isinstance(event["id"], int)
    spans: dict[int, list[dict[str, Any]]] = {}
    ends: dict[tuple[int, int], int] = {}  # of the last span of a thread
    for event in sorted((one for one in events if "ts" in one), key=lambda one: one["ts"]):
        if event["ph"] == "X":  # the reader drops a span that overlaps another one of its thread
            thread = event["pid"], event["tid"]
            assert ends.get(thread, 0) <= event["ts"]
            ends[thread] = event["ts"] + event["dur"]
        else:
            spans.setdefault(event["id"], []).append(event)
    for begin, end in spans.values():  # one of each, of the same process
        assert (begin["ph"], end["ph"]) == ("b", "e") and begin["pid"] == end["pid"]


def traced(training: Training, address: str, out: Path) -> dict[str, Any]:
    """Return a trace with all parts of an all-reduce at all workers; the test's time limit ends it."""
    while True:
        command = ["job", "trace", "train", "--controller", address, "--seconds", "0.1", "--out", str(out)]
        done = invoke(command)
        if done.exit_code == 0 and "No spans" not in done.output:
            file: dict[str, Any] = json.loads(out.read_text())
            names = [{one["name"] for one in file["traceEvents"] if one["pid"] == worker} for worker in (0, 1)]
            if all({*STEPS, ROUND} <= found for found in names):
                return file


def check_spans_of_steps(events: list[dict[str, Any]], worker: int) -> None:
    """Check the spans of all steps but the first and the last, of which the trace may have a part."""
    found: dict[int, set[str]] = {}
    for event in events:
        if event["pid"] == worker and event["ph"] != "M":
            found.setdefault(event["args"]["step"], set()).add(event["name"])
    for step in sorted(found)[1:-1]:
        assert found[step] == SPANS_OF[step % len(SPANS_OF)][1]


@pytest.mark.skipif(availability().core is None, reason=availability().reason)  # whose spans are expected
def test_trace_of_workers_is_ordered_on_one_clock(tmp_path: Path) -> None:
    with controlled(2, "fixed") as (_, environment):
        address = environment["LANESUM_CONTROLLER"]
        with Training(address, "train", 2) as training:
            file = traced(training, address, tmp_path / "trace.json")
            # A pause between both calls makes the difference less.
            wall_less_counter_us = 1e6 * max(time.time() - time.perf_counter() for _ in range(100))
        assert training.all_stopped == [True, True]
    events, clocks = file["traceEvents"], file["otherData"]["clocks"]
    check_format(events)
    base_us = file["baseTimeNanoseconds"] / 1000
    rounds = [sorted(intervals(events, worker, ROUND)) for worker in (0, 1)]
    errors = [clocks[str(worker)]["error_us"] + 5 for worker in (0, 1)]
    for worker, sums in enumerate(training.sums):
        check_spans_of_steps(events, worker)
        steps = sorted(itertools.chain(*(intervals(events, worker, name) for name in STEPS)))
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(steps))
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(rounds[worker]))
        # Controller and workers have one clock in this test, so the truth is known.
        true = [[1e6 * at + wall_less_counter_us - base_us for at in one] for one in sums]
        for begin, end in rounds[worker]:
            assert any(one - errors[worker] <= begin and end <= other + errors[worker] for one, other in true)
        for event in (one for one in events if one["pid"] == worker and one["ph"] == "X"):
            begin, end = true[event["args"]["step"]]
            assert begin - errors[worker] <= event["ts"] <= event["ts"] + event["dur"] <= end + errors[worker]
        assert abs(clocks[str(worker)]["offset_us"]) <= errors[worker]
    # A round ends only after all workers have begun it.
    for own, others in (rounds, rounds[::-1]):
        for begin, end in own:
            if others[0][0] + sum(errors) <= begin and end <= others[-1][1] - sum(errors):
                assert any(one <= end + sum(errors) and other >= begin - sum(errors) for one, other in others)


def test_nothing_is_recorded_without_a_trace() -> None:
    phases = SessionPhases()
    with phases.encode:
        pass
    phases.add_spans(0.0, ROUND)
    assert phases.spans is None


def test_spans_read_by_controller_are_those_of_phases() -> None:
    phases = SessionPhases()
    names = {one._name for one in vars(phases).values() if hasattr(one, "_name")}
    assert {*SPANS} == names | {ROUND}


def test_trace_of_an_earlier_version_has_no_steps() -> None:
    trace = read_trace({name: value for name, value in GOOD.items() if name != "steps"})
    assert trace.steps == (0,) and trace.to_message() == {**read_trace(GOOD).to_message(), "steps": (0,)}


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, rpc.MAX_TRACE_S + 1])
def test_worker_refuses_a_trace_beyond_the_limits(controller: Controller, seconds: float) -> None:
    controller.admit(request(workers=1))
    keep_alive = KeepAlive(controller.join("a", 0), "127.0.0.1:1")
    keep_alive._phases = phases = SessionPhases()
    with ReplyStream("127.0.0.1:1", rpc.SERVICE, rpc.WATCH, {}) as stream:
        keep_alive._trace(stream, seconds)  # a trace would wait, and call
    assert phases.spans is None


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        ([], "no object with a list of spans"),
        ({**GOOD, "spans": "x"}, "no object with a list of spans"),
        ({**GOOD, "spans": GOOD["spans"] * (rpc.MAX_SPANS + 1)}, "4097 spans, more than 4096"),
        ({**GOOD, "spans": [["lanesum::nap", 1, 2]]}, "is no span"),
        ({**GOOD, "spans": [[["x"], 1, 2]]}, "is no span"),
        ({**GOOD, "spans": [["lanesum::encode", 1]]}, "is no span"),
        ({**GOOD, "spans": [["lanesum::encode", 2, 1]]}, "no begin and end"),
        ({**GOOD, "spans": [["lanesum::encode", -1, 1]]}, "no begin and end"),
        ({**GOOD, "spans": [["lanesum::encode", 1, 2.5]]}, "no begin and end"),
        ({**GOOD, "spans": [["lanesum::encode", 1, 1 << 53]]}, "no begin and end"),
        ({**GOOD, "steps": None}, "no step for each span"),
        ({**GOOD, "steps": []}, "no step for each span"),
        ({**GOOD, "steps": [-1]}, "no step for each span"),
        ({**GOOD, "steps": [True]}, "no step for each span"),
        ({**GOOD, "error_us": -1}, "no error and offset"),
        ({**GOOD, "error_us": True}, "no error and offset"),
        ({**GOOD, "offset_us": None}, "no error and offset"),
    ],
)
def test_trace_that_is_wrong_is_refused(trace: object, message: str) -> None:
    with pytest.raises(AdmissionError, match=message):
        read_trace(trace)


def test_trace_has_a_live_worker_and_a_limit(address: str, controller: Controller, site: Site) -> None:
    controller.admit(request(workers=1))
    message = {"job": "a", "seconds": 1}
    with pytest.raises(rpc.ControllerError, match="No worker of job a lives"):
        rpc.call(address, rpc.TRACE, message)
    held = controller.join("a", 0)
    watch = controller.workers.watch(held.job, held.tag, held.worker, "")
    watch.poll()
    beyond = r"A trace of .* s is not possible: at most"
    for seconds, said in (
        *((one, beyond) for one in (0, -1, 1000, 10**400, math.nan)),
        ("1", "is no num"),
        (True, "is no num"),
    ):
        with pytest.raises(rpc.ControllerError, match=said):
            rpc.call(address, rpc.TRACE, {**message, "seconds": seconds})
    assert rpc.call(address, rpc.TRACE, message) == {"workers": [0]}
    asked = watch.poll()
    assert asked is not None and asked["trace_s"] == 1.0
    with pytest.raises(rpc.ControllerError, match="The job is being traced"):
        rpc.call(address, rpc.TRACE, message)
    site.clock.now += 1 + REPORT_S
    assert rpc.call(address, rpc.TRACE, message) == {"workers": [0]}


def test_reports_are_forgotten_at_the_end(address: str, controller: Controller, site: Site) -> None:
    controller.admit(request(workers=2))
    held, trace = controller.join("a", 0), read_trace(GOOD)
    controller.workers.watch(held.job, held.tag, held.worker, "")
    (job,) = controller.jobs()
    report(controller, held, trace)  # not asked for
    assert controller.workers.traced(job) == []
    controller.workers.begin_trace(job, 1.0)
    rpc.call(address, rpc.KEEPALIVE, {"job": held.job, "tag": held.tag, "worker": 0, "trace": GOOD})
    assert rpc.call(address, rpc.TRACE, {"job": "a"}) == {"workers": [0]}
    answer = rpc.call(address, rpc.TRACE, {"job": "a", "end": True})
    assert answer == {"traces": [{"worker": 0, "host": "w1", **GOOD}]}
    assert rpc.call(address, rpc.TRACE, {"job": "a", "end": True}) == {"traces": []}
    controller.workers.begin_trace(job, 1.0)
    site.clock.now += 1 + REPORT_S
    report(controller, held, trace)  # too late
    assert controller.workers.traced(job) == []
    controller.workers.begin_trace(job, 1.0)
    report(controller, held, trace)
    controller.leave("a", 1)
    report(controller, held, trace)  # by a void ticket
    assert controller.workers.end_trace(job) == {}


def profile(tmp_path: Path, **more: Any) -> Path:
    events = [
        {"ph": "M", "name": "process_name", "pid": 77, "tid": 0, "ts": 1.0, "args": {"name": "python"}},
        {"ph": "X", "name": "aten::add", "pid": 77, "tid": 78, "ts": 2500.5, "dur": 3.0},
        {"ph": "s", "name": "fwdbwd", "pid": 77, "tid": 78, "ts": 2501.0, "id": 4, "cat": "fwdbwd"},
        {"ph": "X", "name": "Profiler", "pid": "Spans", "tid": "x", "ts": 2500.0, "dur": 9.0},
    ]
    (path := tmp_path / "profile.json").write_text(
        json.dumps({"baseTimeNanoseconds": 5_000_000, "traceEvents": events, **more})
    )
    return path


def trace_file(tmp_path: Path) -> Path:
    spans = [[ROUND, 7000, 9000], ["lanesum::wait", 7500, 8000]]
    clock = {"error_us": 3, "offset_us": -400}
    found = traces.timeline("a", [{"worker": 1, "host": "w2", "spans": spans, "steps": [4, 4], **clock}])
    (path := tmp_path / "trace.json").write_text(json.dumps(found))
    return path


def test_profile_is_moved_to_clock_of_trace(tmp_path: Path) -> None:
    path = trace_file(tmp_path)
    before = json.loads(path.read_text())["traceEvents"]
    done = invoke(["job", "merge-profile", str(path), f"1={profile(tmp_path)}"])
    assert done.exit_code == 0, done.output
    added = json.loads(path.read_text())["traceEvents"][len(before) :]
    # 5,000 µs of the profile's base and its 2,500.5, less 400 of the host's clock and 7,000 of the trace's base.
    assert added[1]["ts"] == 100.5 and added[1]["dur"] == 3.0
    assert added[0]["args"]["name"] == "worker 1, torch.profiler: python"
    assert type(added[2]["id"]) is int and added[2]["id"] not in {one.get("id") for one in before}
    pids = [one["pid"] for one in added]
    assert pids[0] == pids[1] == pids[2] != pids[3] and 1 not in pids and all(type(one) is int for one in pids)


@pytest.mark.parametrize(
    ("argument", "more", "message"),
    [
        ("0={}", {}, "The trace has no worker 0, only 1"),
        ("x", {}, "Invalid profile 'x': expected WORKER=FILE"),
        ("1={}", {"baseTimeNanoseconds": None}, "no trace of this format"),
        ("1={}", {"traceEvents": [{"ts": "x"}]}, "no trace of this format"),
        ("1={}", {"traceEvents": [{"name": "process_name"}]}, "no trace of this format"),
        ("1={}.missing", {}, "no file of events"),
    ],
)
def test_profile_that_is_wrong_is_refused(tmp_path: Path, argument: str, more: dict[str, Any], message: str) -> None:
    path = trace_file(tmp_path)
    before = path.read_bytes()
    done = invoke(["job", "merge-profile", str(path), argument.format(profile(tmp_path, **more))])
    assert done.exit_code != 0 and message in " ".join(done.output.split())
    assert path.read_bytes() == before


def test_merged_timeline_with_write_error_keeps_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trace_file(tmp_path)
    before = path.read_bytes()

    def fill(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    merge = ["job", "merge-profile", str(path), f"1={profile(tmp_path)}"]
    monkeypatch.setattr(os, "fsync", fill)
    done = invoke(merge)
    assert done.exit_code == 2 and f"Cannot write {path}: No space left on device. Free space in" in done.output
    assert path.read_bytes() == before and not list(tmp_path.glob(".*.new"))
    with pytest.raises(ConfigurationError, match=r"Cannot write .*none/x: there is no folder"):
        traces.write(tmp_path / "none" / "x", {})


def test_profile_is_no_timeline(tmp_path: Path) -> None:
    path = profile(tmp_path)
    done = invoke(["job", "merge-profile", str(path), f"0={path}"])
    assert done.exit_code != 0 and "has no clocks of workers" in done.output
