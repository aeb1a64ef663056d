# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A job that runs: its truth, its ghost, and the results that its workers agreed on."""

from __future__ import annotations

from lanesum.simulator.ghost import Ghost
from lanesum.simulator.points import code_table
from lanesum.simulator.scenario import JobPlan
from lanesum.simulator.truth import JobTruth
from lanesum.simulator.violation import Invariant, Violation


class JobRun:
    """One incarnation from its admission to its removal."""

    def __init__(self, line: int, plan: JobPlan, admitted_s: float, key: int, accumulator_words: int) -> None:
        self.line = line
        self.plan = plan
        self.admitted_s = admitted_s
        self.truth = JobTruth(plan, key, code_table(line), accumulator_words)
        self.ghost = Ghost(self.truth)
        self.running = len(plan.workers)
        self.admitted = True
        self._results: dict[int, bytes] = {}

    def agree(self, worker: int, number: int, result: bytes) -> None:
        """A worker has finished a round; everybody's words have to be the same and the true ones."""
        first = self._results.setdefault(number, result)
        if result != first:
            raise Violation(Invariant.AGREEMENT, f"worker {worker} has another result of round {number} than the first")
        if result != self.truth.result(number):
            raise Violation(Invariant.EXACTNESS, f"worker {worker} has a wrong result of round {number}")
