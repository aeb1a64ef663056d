# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Counts that workers report to the controller when it asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lanesum.transport.stats import MAX_FAILED_CHUNKS, FailedChunk
from lanesum_control.errors import AdmissionError
from lanesum_fabric.metrics.families import WORKER_COUNTS

_MAX_COUNT = 1 << 63
_MAX_NAMES = 64
#: Counts of a report, see ``lanesum.transport.stats.TransportStats``; ``latency_us`` is a sum over all chunks.
COUNTS = tuple(count for _, count, _, _ in WORKER_COUNTS)

_LATER = ("failed_results", "peer_retransmissions", "reordered_results")  # earlier builds do not report them


def read_counts(message: object) -> dict[str, int]:
    """Return the counts of a report; other names, of a later version, are ignored. Raises AdmissionError."""
    if not isinstance(message, dict) or len(message) > _MAX_NAMES:
        raise AdmissionError(f"counts are no object of at most {_MAX_NAMES} numbers.")
    for name in COUNTS:
        value = message.get(name, 0 if name in _LATER else None)
        if type(value) is not int or not 0 <= value < _MAX_COUNT:
            raise AdmissionError(f"counts: {name} = {str(value)[:40]!r} is no number from 0 to 2^63 - 1.")
    return {name: message.get(name, 0) for name in COUNTS}


def read_failed_chunks(message: object) -> list[FailedChunk]:
    """Return the failed chunks of a report. Raises AdmissionError."""
    if not isinstance(message, list) or len(message) > MAX_FAILED_CHUNKS:
        raise AdmissionError(f"failed_chunks are no list of at most {MAX_FAILED_CHUNKS} records.")
    size = len(FailedChunk._fields)
    for one in message:
        is_record = isinstance(one, list) and len(one) == size
        if not is_record or not all(type(value) is int and 0 <= value < _MAX_COUNT for value in one):
            raise AdmissionError(f"failed_chunks: {str(one)[:80]!r} are no {size} numbers from 0 to 2^63 - 1.")
    return [FailedChunk(*one) for one in message]


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """Counts of a worker since the start of its session; ``at_s``: time of their arrival, in monotonic seconds."""

    at_s: float
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class WorkerFigures:
    """A worker of a job as the controller sees it.

    Attributes:
        state: ``alive``; ``awaited`` until it has its ticket, ``silent`` with a ticket and without a stream; or a kind
            of ``lanesum.rpc.controller.GONE_KINDS``.
        report: its last report; None if there is none.
        now_s: time of this snapshot, by the clock of the report.
    """

    host: str
    state: str
    report: WorkerReport | None
    now_s: float

    @property
    def age_s(self) -> float | None:
        """Seconds since the report; None without one."""
        return None if self.report is None else self.now_s - self.report.at_s

    def to_message(self) -> dict[str, Any]:
        """Return the figures as JSON fields."""
        report = None if self.report is None else {"at_s": self.report.at_s, "counts": dict(self.report.counts)}
        return {"host": self.host, "state": self.state, "age_s": self.age_s, "report": report}
