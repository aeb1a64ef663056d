# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Shrinking of failing schedules: fewer jobs, workers, rounds, words and faults."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

from lanesum.protocol.lanes import LaneOp, carried_by
from tests.simulator.network import Fault
from tests.simulator.parts import PYTHON, Parts
from tests.simulator.scenario import (
    ONE_SWITCH,
    RACKS,
    SERVER,
    SERVER_ALONE,
    SERVERS,
    JobPlan,
    Kill,
    Line,
    Rates,
    Scenario,
    WorkerPlan,
    rack_switch,
)
from tests.simulator.schedule import Schedule, run
from tests.simulator.violation import Invariant

Faults = tuple[Fault, ...]
T = TypeVar("T")


class Shrinker:
    """Delta debugging (Zeller and Hildebrandt 2002) on the faults, greedy steps on the scenario.

    Args:
        schedule: a failing schedule.
        max_runs: maximum number of tries.
        parts: implementations that it fails with.
    """

    def __init__(self, schedule: Schedule, max_runs: int = 3000, parts: Parts = PYTHON) -> None:
        outcome = run(schedule, parts=parts)
        if outcome.violation is None:
            raise ValueError("a schedule that does not fail cannot be made smaller")
        self.runs = 0
        self._max_runs = max_runs
        self._parts = parts
        self._invariant: Invariant = outcome.violation.invariant
        self._best = replace(schedule, faults=outcome.faults)

    def shrink(self) -> Schedule:
        """Return the smallest schedule found that violates the same invariant."""
        before = None
        while before != self._best and self.runs < self._max_runs:
            before = self._best
            self._shrink_scenario()
            self._shrink_faults()
        return self._best

    def _try(self, scenario: Scenario, faults: Faults) -> bool:
        """Keep a candidate if it fails alike, without the faults that met no packet."""
        if self.runs >= self._max_runs:
            return False
        self.runs += 1
        outcome = run(Schedule(scenario, self._best.seed, faults), parts=self._parts)
        if outcome.violation is None or outcome.violation.invariant is not self._invariant:
            return False
        self._best = Schedule(scenario, self._best.seed, outcome.faults)
        return True

    def _shrink_scenario(self) -> None:
        progress = True
        while progress:
            faults = self._best.faults or ()
            progress = any(self._try(*candidate) for candidate in smaller(self._best.scenario, faults))

    def _shrink_faults(self) -> None:
        scenario = self._best.scenario
        size = max(1, len(self._best.faults or ()) // 2)
        while True:
            faults, begin, removed = self._best.faults or (), 0, False
            while begin < len(faults):
                if self._try(scenario, faults[:begin] + faults[begin + size :]):
                    faults, removed = self._best.faults or (), True
                else:
                    begin += size
            if size == 1 and not removed:
                return
            size = max(1, size // 2)


def smaller(scenario: Scenario, faults: Faults) -> Iterator[tuple[Scenario, Faults]]:
    """Yield every scenario that is one step simpler, the largest steps first."""
    for name in ("strays", "kills", "resizes", "flips"):
        if getattr(scenario, name):
            none: dict[str, Any] = {name: ()}
            yield replace(scenario, **none), faults
    for index in range(len(scenario.lines)):
        yield from _without_line(scenario, index, faults)
    yield from _smaller_networks(scenario, faults)
    for index, line in enumerate(scenario.lines):
        for number, job in enumerate(line.jobs):
            if len(line.jobs) > 1:
                yield _with_line(scenario, index, replace(line, jobs=_without(line.jobs, number))), faults
            if job.first_epoch:
                changed = replace(job, first_epoch=0)
                yield _with_job(scenario, index, number, changed), _with_epochs(faults, job)
            for changed in (*_fewer_workers(job), *_smaller_jobs(job)):
                yield _with_job(scenario, index, number, changed), faults
        if line.start_s:
            yield _with_line(scenario, index, replace(line, start_s=0.0)), faults
        if line.lease is not None:
            yield _with_line(scenario, index, replace(line, lease=None)), faults
    for name in ("strays", "kills", "resizes", "flips"):
        items = getattr(scenario, name)
        for index in range(len(items)):
            fewer: dict[str, Any] = {name: _without(items, index)}
            yield replace(scenario, **fewer), faults
    for index, kill in enumerate(scenario.kills):
        simple = Kill(kill.at_s, kill.node, 0.0)
        if kill != simple:
            yield replace(scenario, kills=_with(scenario.kills, index, simple)), faults
    if scenario.servers > 1:
        left = SERVERS[: scenario.servers - 1]
        kills = tuple(kill for kill in scenario.kills if kill.node not in SERVERS or kill.node in left)
        yield replace(scenario, servers=len(left), kills=kills), faults
    certified = any(job.certified for line in scenario.lines for job in line.jobs)
    for words in range(2, scenario.accumulator_words):
        if not certified and _operations(scenario) <= set(carried_by(words)):
            yield replace(scenario, accumulator_words=words), faults
            break
    rates = Rates(longest_delay_s=scenario.rates.longest_delay_s)
    if scenario.rates != rates:
        yield replace(scenario, rates=rates), faults


def _operations(scenario: Scenario) -> set[LaneOp]:
    """Yield scenarios with simpler operations and mismatches."""
    jobs = [job for line in scenario.lines for job in line.jobs]
    return {one.op for job in jobs for one in job.rounds} | {job.mismatch.op for job in jobs if job.mismatch}


def _smaller_networks(scenario: Scenario, faults: Faults) -> Iterator[tuple[Scenario, Faults]]:
    """Yield scenarios with fewer switches; links of hosts keep their faults."""
    if scenario.network == RACKS:
        kept = tuple(kill for kill in scenario.kills if kill.node in SERVERS)
        smaller_one = replace(scenario, network=ONE_SWITCH, homes=(0,) * len(scenario.homes), kills=kept, resizes=())
        yield smaller_one, _with_links(faults, rack_switch(0))
        plain = tuple(host % 2 for host in range(len(scenario.homes)))
        if scenario.homes != plain:
            yield replace(scenario, homes=plain), faults
    if scenario.network == ONE_SWITCH:
        kept = tuple(kill for kill in scenario.kills if kill.node in SERVERS)
        yield replace(scenario, network=SERVER_ALONE, kills=kept, resizes=()), _with_links(faults, SERVER)


def _with_links(faults: Faults, node: str) -> Faults:
    """Return the faults of hosts' links when all hosts are attached to ``node``; drop those of other links."""
    kept = []
    for fault in faults:
        one, other = fault.packet.link.split(">")
        if one.startswith("host") or other.startswith("host"):
            link = f"{one}>{node}" if one.startswith("host") else f"{node}>{other}"
            kept.append(fault._replace(packet=fault.packet._replace(link=link)))
    return tuple(kept)


def _fewer_workers(job: JobPlan) -> Iterator[JobPlan]:
    odd = job.mismatch
    for worker in range(len(job.workers)) if len(job.workers) > 1 else ():
        if odd is not None and odd.worker == worker:
            continue
        left = _without(job.workers, worker)
        moved = None if odd is None else replace(odd, worker=odd.worker - (odd.worker > worker))
        for quorum in {min(job.quorum, len(left)), max(job.quorum - 1, 1)} if job.quorum else {0}:
            yield replace(job, workers=left, quorum=quorum, mismatch=moved)


def _smaller_jobs(job: JobPlan) -> Iterator[JobPlan]:
    odd = job.mismatch
    if len(job.rounds) > 1 and (odd is None or odd.number < len(job.rounds) - 1):
        yield replace(job, rounds=job.rounds[:-1])
    if len(job.rounds) > 1 and (odd is None or odd.number > 0):
        moved = None if odd is None else replace(odd, number=odd.number - 1)
        # Other jobs keep their epochs.
        yield replace(job, rounds=job.rounds[1:], first_epoch=(job.first_epoch + 1) % (1 << 32), mismatch=moved)
    plain = JobPlan(job=0, tag=0, slots=1, window=1, rounds=(), workers=())
    for name in (
        "quorum",
        "slots_on_switch",
        "left_out",
        "upper_ascends",
        "congestion",
        "mismatch",
        "abort_s",
        "linger_s",
        "kept_results",
    ):
        if getattr(job, name) != getattr(plain, name):
            yield replace(job, **{name: getattr(plain, name)})
    for number, one in enumerate(job.rounds):
        group = one.op.shape.uplink_words_per_group
        groups = one.words // group
        for fewer in {groups // 2, groups - 1} - {0, -1, groups}:
            yield replace(job, rounds=_with(job.rounds, number, replace(one, words=fewer * group)))
        if one.op is not LaneOp.ADD32:
            yield replace(job, rounds=_with(job.rounds, number, replace(one, op=LaneOp.ADD32)))
    for slots in {1, job.slots - 1} - {0, job.slots}:
        yield replace(job, slots=slots)
    for worker, how in enumerate(job.workers):
        for simpler in _simpler_workers(how):
            yield replace(job, workers=_with(job.workers, worker, simpler))


def _simpler_workers(worker: WorkerPlan) -> Iterator[WorkerPlan]:
    plain = WorkerPlan(worker.host)
    fewer = replace(worker, in_flight=max(1, worker.in_flight - 1))
    for simpler in (plain, replace(worker, pauses=(), dies_s=None), replace(worker, start_s=0.0), fewer):
        if simpler != worker:
            yield simpler


def _without_line(scenario: Scenario, index: int, faults: Faults) -> Iterator[tuple[Scenario, Faults]]:
    if len(scenario.lines) > 1:
        strays = tuple(
            replace(stray, line=stray.line - (stray.line > index)) for stray in scenario.strays if stray.line != index
        )
        yield replace(scenario, lines=_without(scenario.lines, index), strays=strays), faults


def _with_epochs(faults: Faults, job: JobPlan) -> Faults:
    """Return the faults of a job when its epochs begin at 0."""
    return tuple(
        fault._replace(packet=fault.packet._replace(epoch=(fault.packet.epoch - job.first_epoch) % (1 << 32)))
        if (fault.packet.job, fault.packet.tag) == (job.job, job.tag)
        else fault
        for fault in faults
    )


def _with_job(scenario: Scenario, index: int, number: int, job: JobPlan) -> Scenario:
    line = scenario.lines[index]
    return _with_line(scenario, index, replace(line, jobs=_with(line.jobs, number, job)))


def _with_line(scenario: Scenario, index: int, line: Line) -> Scenario:
    return replace(scenario, lines=_with(scenario.lines, index, line))


def _with(items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    return items[:index] + (item,) + items[index + 1 :]


def _without(items: tuple[T, ...], index: int) -> tuple[T, ...]:
    return items[:index] + items[index + 1 :]
