# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What a schedule is about: jobs, workers, links. Plain values that go to JSON and back."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from lanesum.protocol.lanes import LaneOp

AGGREGATOR, SWITCH = "aggregator", "switch"
POINTS = (AGGREGATOR, SWITCH)


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """One worker: late by ``start_s``, ``latency_s`` away, ``pace_s`` for each turn of its loop.

    ``pauses`` are (begin, length) in seconds since its job was admitted.
    """

    start_s: float = 0.0
    latency_s: float = 1e-4
    pace_s: float = 1e-5
    pauses: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class RoundPlan:
    op: LaneOp
    words: int  # uplink words, any number


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """One incarnation of a job. ``abort_s``: taken out so long after its admission, whatever its workers do."""

    job: int
    tag: int
    slots: int
    window: int
    rounds: tuple[RoundPlan, ...]
    workers: tuple[WorkerPlan, ...]
    first_epoch: int = 0
    abort_s: float | None = None
    linger_s: float = 0.0  # between the last result and the removal


@dataclass(frozen=True, slots=True)
class Line:
    """A range of slots, and the jobs that have it one after another."""

    jobs: tuple[JobPlan, ...]
    start_s: float = 0.0

    @property
    def slots(self) -> int:
        return max(job.slots for job in self.jobs)


@dataclass(frozen=True, slots=True)
class Stray:
    """A packet from nowhere, of one of the kinds in ``lanesum.simulator.strays``, aimed at a worker of a line."""

    at_s: float
    kind: str
    line: int
    worker: int
    value: int


@dataclass(frozen=True, slots=True)
class Rates:
    """Share of the packets that meet each fault, where no list of faults is given."""

    lose: float = 0.0
    duplicate: float = 0.0
    delay: float = 0.0
    conflict: float = 0.0
    longest_delay_s: float = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    point: str
    lines: tuple[Line, ...]
    accumulator_words: int = 2
    strays: tuple[Stray, ...] = ()
    rates: Rates = field(default_factory=Rates)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Scenario:
        """Raises KeyError, TypeError or ValueError for what ``to_dict`` did not make."""
        if data["point"] not in POINTS:
            raise ValueError(f"point is one of {', '.join(POINTS)}, not {data['point']}")
        return cls(
            point=data["point"],
            lines=tuple(Line(tuple(_job(job) for job in line["jobs"]), line["start_s"]) for line in data["lines"]),
            accumulator_words=data["accumulator_words"],
            strays=tuple(Stray(**stray) for stray in data["strays"]),
            rates=Rates(**data["rates"]),
        )


def _job(data: dict[str, Any]) -> JobPlan:
    rounds = tuple(RoundPlan(LaneOp(one["op"]), one["words"]) for one in data["rounds"])
    workers = tuple(
        WorkerPlan(**{**one, "pauses": tuple((begin, length) for begin, length in one["pauses"])})
        for one in data["workers"]
    )
    return JobPlan(**{**data, "rounds": rounds, "workers": workers})
