# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Traces of jobs: the spans that workers report to the controller when it asks for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeGuard

from lanesum.rpc.controller import MAX_SPANS, MAX_TRACE_S
from lanesum_control.errors import AdmissionError

#: Spans of a report, see ``lanesum.session.all_reduce``; ``round``: from the start of a round until its result is
#: taken.
SPANS = (
    "lanesum::encode",
    "lanesum::send",
    "lanesum::network",
    "lanesum::decode",
    "lanesum::wait",
    "lanesum::round",
)
#: Time that a worker may take to report, in seconds, after the end of the trace.
REPORT_S = 5.0
_MAX_US = 1 << 53  # JSON readers in other languages have no larger integers


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
