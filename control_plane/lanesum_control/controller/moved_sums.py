# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sums that the server computes in place of a switch: since when, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lanesum_control.jobs.records import Job
from lanesum_control.planner.left_out import Cause, Reason
from lanesum_control.planner.planning import Plan
from lanesum_control.state.events import EventLog


@dataclass(frozen=True, slots=True)
class Moved:
    """``why`` a switch on the paths of a job does not sum for it, and ``since`` when: seconds since 1970."""

    why: Reason
    since: float = field(compare=False)


class MovedSums:
    """Switches without a part in jobs, with an event for each change after the admission.

    Not thread-safe: the controller's lock protects every call.
    """

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._moved: dict[int, dict[str, Moved]] = {}

    def of(self, job: int) -> Mapping[str, Moved]:
        """Return the switches that do not sum for a job; times begin at most at the start of the controller."""
        return self._moved.get(job, {})

    def update(self, jobs: Mapping[str, Job], plan: Plan, down: Mapping[str, str]) -> None:
        """Compare the parts of the switches with those of the last call; ``down``: reason by lost switch."""
        before, self._moved = self._moved, {}
        for name, job in jobs.items():
            placement = plan.placements[job.number]
            summing = {assignment.switch for assignment in placement.assignments}
            lost = {at: Reason(Cause.LOST, f"it is lost: {down[at]}") for at in summing if at in down}
            reasons = {**placement.left_out, **lost}
            known = before.get(job.number)
            now = self._events.now()
            self._moved[job.number] = {
                at: Moved(why, known[at].since if known is not None and at in known else now)
                for at, why in reasons.items()
            }
            if known is None:  # the event of the admission names them
                continue
            for at in reasons.keys() - known.keys():
                self._events.add(name, f"sums of {at} moved to the server: {reasons[at]}")
            for at in (known.keys() - reasons.keys()) & summing:
                self._events.add(name, f"sums of {at} are back from the server")
