# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Timelines of jobs in Chrome's Trace Event Format, which Perfetto opens.

Times are microseconds of the controller's clock since ``baseTimeNanoseconds``, as in the files of ``torch.profiler``.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lanesum._internal.output_file import write_file
from lanesum.errors import ConfigurationError

ROUND = "lanesum::round"
WAIT = "lanesum::wait"
#: Name of each thread of a worker; rounds overlap, so they are asynchronous events of the first one.
THREADS = {1: "all-reduce", 2: "backward"}
_PIDS = 10_000  # process numbers of the profile of one worker
_IDS = 1 << 32  # numbers of its events that belong together


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
