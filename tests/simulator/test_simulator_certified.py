# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Certified rounds in the simulator: no result with a flipped bit is used, and every planted bug is found."""

from __future__ import annotations

import collections

import pytest

from lanesum._internal.native import availability
from tests.simulator import Invariant, Schedule, run
from tests.simulator.__main__ import main
from tests.simulator.certified_mutants import CERTIFIED_MUTANTS
from tests.simulator.mutants import Mutant
from tests.simulator.network import FLIP
from tests.simulator.parts import Parts
from tests.simulator.soak import run_seeds

SCHEDULES = 1500


def test_certified_schedules_use_no_wrong_result() -> None:
    assert run_seeds(range(60), certified=True).failed is None


def test_certified_faults_describe_the_run_completely() -> None:
    for seed in range(15):
        drawn = Schedule.draw(seed, certified=True)
        first = run(drawn)
        second = run(Schedule.from_json(Schedule(drawn.scenario, drawn.seed, first.faults).to_json()))
        assert (first.faults, first.events, first.virtual_s) == (second.faults, second.events, second.virtual_s)


def test_certified_schedules_have_flips_of_every_kind() -> None:
    faults: collections.Counter[str] = collections.Counter()
    nodes: set[str] = set()
    for seed in range(80):
        schedule = Schedule.draw(seed, certified=True)
        assert all(job.certified for line in schedule.scenario.lines for job in line.jobs)
        faults += collections.Counter(fault.kind for fault in run(schedule).faults)
        nodes |= {flip.node for flip in schedule.scenario.flips}
    assert faults[FLIP] > 60
    assert {"server", "rack0", "upper"} <= nodes


def test_unchecked_result_breaks_exactness(monkeypatch: pytest.MonkeyPatch) -> None:
    next(mutant for mutant in CERTIFIED_MUTANTS if mutant.name == "the check is not made").plant(monkeypatch)
    found = (run(Schedule.draw(seed, certified=True)).violation for seed in range(100))
    assert any(one is not None and one.invariant is Invariant.EXACTNESS for one in found)


def test_command_line_runs_certified_schedules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--certified", "--schedules", "5", "--processes", "1"]) == 0
    assert "5 schedules" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.skipif(availability().core is None, reason="the native extension is not installed")
def test_native_certified_schedules_use_no_wrong_result() -> None:
    parts = Parts(native_server=True, native_workers=True)
    assert run_seeds(range(SCHEDULES), parts, certified=True).failed is None


@pytest.mark.long
def test_certified_schedules_without_bug_pass() -> None:
    assert run_seeds(range(SCHEDULES), certified=True).failed is None


@pytest.mark.long
@pytest.mark.parametrize("mutant", CERTIFIED_MUTANTS, ids=lambda mutant: mutant.name)
def test_certified_bug_is_caught(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant.plant(monkeypatch)
    assert run_seeds(range(mutant.seed, mutant.seed + SCHEDULES), certified=True).failed is not None
