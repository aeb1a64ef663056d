# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Traces of jobs: spans that workers report to the controller, and their timelines in Chrome's Trace Event Format.

Perfetto opens timelines. Their times are microseconds of the controller's clock since ``baseTimeNanoseconds``, as in
the files of ``torch.profiler``.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeGuard

from lanesum._internal.output_file import write_file
from lanesum.errors import ConfigurationError
from lanesum.rpc.controller import MAX_SPANS, MAX_TRACE_S
from lanesum_control.errors import AdmissionError

ROUND = "lanesum::round"
WAIT = "lanesum::wait"
#: Spans of a report, see ``lanesum.session.all_reduce``; ``round``: from the start of a round until its result is
#: taken.
SPANS = (
    "lanesum::encode",
    "lanesum::send",
    "lanesum::network",
    "lanesum::decode",
    WAIT,
    ROUND,
)
#: Time that a worker may take to report, in seconds, after the end of the trace.
REPORT_S = 5.0
_MAX_US = 1 << 53  # JSON readers in other languages have no larger integers
#: Name of each thread of a worker; rounds overlap, so they are asynchronous events of the first one.
THREADS = {1: "all-reduce", 2: "backward"}
_PIDS = 10_000  # process numbers of the profile of one worker
_IDS = 1 << 32  # numbers of its events that belong together


@dataclass(frozen=True, slots=True)
class WorkerTrace:
    """Spans of one worker.

    Attributes:
        spans: name, begin and end of each, in microseconds of the controller's clock since 1970.
        steps: number of the training step of each, the same at all workers; 0 where it is not known.
        error_us: error of these times at most, half the fastest round trip to the controller.
        offset_us: the controller's clock less the one of the worker's host.
    """

    spans: tuple[tuple[str, int, int], ...]
    steps: tuple[int, ...]
    error_us: int
    offset_us: int

    def to_message(self) -> dict[str, Any]:
        """Return the trace as JSON fields."""
        return {one.name: getattr(self, one.name) for one in fields(self)}  # asdict copies each span


def read_trace(message: object) -> WorkerTrace:
    """Return the trace of a worker. Raises AdmissionError."""
    if not isinstance(message, dict) or not isinstance(message.get("spans"), list):
        raise AdmissionError("trace is no object with a list of spans.")
    spans = message["spans"]
    if len(spans) > MAX_SPANS:
        raise AdmissionError(f"trace has {len(spans)} spans, more than {MAX_SPANS}.")
    for span in spans:
        if not isinstance(span, list) or len(span) != 3 or span[0] not in SPANS:
            raise AdmissionError(f"trace: {str(span)[:80]} is no span.")
        if not (_is_time(span[1]) and _is_time(span[2]) and 0 <= span[1] <= span[2]):
            raise AdmissionError(f"trace: {str(span)[:80]} has no begin and end in microseconds.")
    steps = message.get("steps", [0] * len(spans))  # workers of earlier versions have none
    if not isinstance(steps, list) or len(steps) != len(spans) or not all(_is_time(one) and one >= 0 for one in steps):
        raise AdmissionError("trace has no step for each span.")
    error, offset = message.get("error_us"), message.get("offset_us")
    if not (_is_time(error) and error >= 0 and _is_time(offset)):
        raise AdmissionError(f"trace: {str(error)[:40]} and {str(offset)[:40]} are no error and offset of a clock.")
    return WorkerTrace(tuple((name, begin, end) for name, begin, end in spans), tuple(steps), error, offset)


def _is_time(value: object) -> TypeGuard[int]:
    return type(value) is int and abs(value) < _MAX_US


class Traces:
    """Traces of jobs, at most one for each incarnation, by job and tag. Not thread-safe.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ends: dict[tuple[int, int], float] = {}
        self._found: dict[tuple[int, int], dict[int, WorkerTrace]] = {}

    def begin(self, key: tuple[int, int], seconds: float) -> None:
        """Begin a trace in place of an earlier one. Raises AdmissionError."""
        if not 0 < seconds <= MAX_TRACE_S:
            raise AdmissionError(f"A trace of {str(seconds)[:40]} s is not possible: at most {MAX_TRACE_S:g} s.")
        left_s = self._ends.get(key, -math.inf) - self._clock()
        if left_s > 0:
            raise AdmissionError("The job is being traced.", f"Try again in {math.ceil(left_s)} s.")
        self._ends[key] = self._clock() + seconds + REPORT_S
        self._found[key] = {}

    def add(self, key: tuple[int, int], worker: int, trace: WorkerTrace) -> None:
        """Add the report of a worker; one that no trace asked for is ignored."""
        if self._clock() < self._ends.get(key, -math.inf):
            self._found[key][worker] = trace

    def reported(self, key: tuple[int, int]) -> list[int]:
        """Return the workers whose reports have arrived."""
        return sorted(self._found.get(key, ()))

    def end(self, key: tuple[int, int]) -> Mapping[int, WorkerTrace]:
        """Return the reports that have arrived, by worker, and forget the trace."""
        self._ends.pop(key, None)
        return self._found.pop(key, {})


def timeline(job: str, traces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the file of a job's traces, the messages of ``Traces``: a process for each worker."""
    begins = [begin for trace in traces for _, begin, _ in trace["spans"]]
    base_us = min(begins, default=0)
    numbers = itertools.count(1)
    events: list[dict[str, Any]] = []
    for trace in traces:
        worker = trace["worker"]
        name = f"worker {worker} ({trace['host']}), clock within {trace['error_us']} µs"
        events.append({"ph": "M", "name": "process_name", "pid": worker, "tid": 0, "args": {"name": name}})
        for tid, thread in THREADS.items():
            events.append({"ph": "M", "name": "thread_name", "pid": worker, "tid": tid, "args": {"name": thread}})
        steps = zip(trace["spans"], trace["steps"], strict=True)
        for (span, begin, end), step in sorted(steps, key=lambda one: one[0][1]):
            events += _events(span, worker, step, begin - base_us, end - base_us, numbers)
    clocks = {str(trace["worker"]): {key: trace[key] for key in ("error_us", "offset_us")} for trace in traces}
    return {
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 1000 * base_us,
        "otherData": {"job": job, "clocks": clocks},
        "traceEvents": events,
    }


def _events(span: str, worker: int, step: int, begin: int, end: int, numbers: Iterator[int]) -> list[dict[str, Any]]:
    thread = 2 if span == WAIT else 1
    event = {"name": span, "cat": "lanesum", "pid": worker, "tid": thread, "args": {"step": step}}
    if span != ROUND:
        return [{**event, "ph": "X", "ts": begin, "dur": end - begin}]
    number = next(numbers)
    return [{**event, "ph": "b", "id": number, "ts": begin}, {**event, "ph": "e", "id": number, "ts": end}]


def merge_profile(trace: dict[str, Any], worker: int, profile: Mapping[str, Any]) -> None:
    """Add the events of ``torch.profiler`` at a worker to its timeline, on the clock of the timeline.

    Raises ConfigurationError if the timeline has no such worker.
    """
    clock = trace["otherData"]["clocks"].get(str(worker))
    if clock is None:
        raise ConfigurationError(
            f"The trace has no worker {worker}, only {', '.join(trace['otherData']['clocks']) or 'none'}.",
            "Name the rank that wrote the profile.",
        )
    shift_us = (profile["baseTimeNanoseconds"] - trace["baseTimeNanoseconds"]) / 1000 + clock["offset_us"]
    pids: dict[Any, int] = {}
    ids: dict[str, int] = {}
    for event in profile["traceEvents"]:
        pid = pids.setdefault(event.get("pid"), _PIDS * (worker + 1) + len(pids))
        moved = {**event, "pid": pid}
        if "ts" in event:
            moved["ts"] = event["ts"] + shift_us
        if "id" in event:
            # Perfetto reads text as a hexadecimal number, and ignores other text.
            moved["id"] = ids.setdefault(json.dumps(event["id"]), _IDS * (worker + 1) + len(ids))
        if event.get("name") == "process_name":
            moved["args"] = {"name": f"worker {worker}, torch.profiler: {event['args']['name']}"}
        trace["traceEvents"].append(moved)


def read(path: Path) -> dict[str, Any]:
    """Read a timeline or a profile. Raises ConfigurationError."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is no file of events: {error}.", "Name a file of JSON.") from error
    events = found.get("traceEvents") if isinstance(found, dict) else None
    if not isinstance(events, list) or not all(map(_is_event, events)) or not _is_number(found, "baseTimeNanoseconds"):
        raise ConfigurationError(
            f"{path} is no trace of this format: traceEvents with numeric times and baseTimeNanoseconds are needed.",
            "Name a file of lanesum job trace, or of torch.profiler's export_chrome_trace.",
        )
    return dict(found)


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write a timeline; an earlier file is replaced only by a complete one. Raises ConfigurationError."""
    write_file(path, json.dumps(found))


def read_timeline(path: Path) -> dict[str, Any]:
    """Read a file of ``timeline``. Raises ConfigurationError."""
    found = read(path)
    other = found.get("otherData")
    clocks = other.get("clocks") if isinstance(other, dict) else None
    if not isinstance(clocks, dict) or not all(
        isinstance(one, dict) and _is_number(one, "offset_us") for one in clocks.values()
    ):
        raise ConfigurationError(
            f"{path} has no clocks of workers.", "Name the file of lanesum job trace first, then the profiles."
        )
    return found


def _is_event(event: object) -> bool:
    if not isinstance(event, dict) or not ("ts" not in event or _is_number(event, "ts")):
        return False
    args = event.get("args")
    return event.get("name") != "process_name" or (isinstance(args, dict) and "name" in args)


def _is_number(fields: Mapping[str, Any], name: str) -> bool:
    return type(fields.get(name)) in (int, float)
