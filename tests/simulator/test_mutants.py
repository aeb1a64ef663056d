# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The simulator can fail: it finds every planted bug, and nothing without one."""

from __future__ import annotations

import pytest
from mutants import MUTANTS, Mutant

from lanesum.simulator.soak import run_seeds

SEEDS = range(600)


def test_without_a_bug_all_schedules_pass() -> None:
    done = run_seeds(SEEDS)
    assert done.failed is None
    assert done.schedules == len(SEEDS)


def test_there_are_enough_bugs() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 60


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_bug_is_caught(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant.plant(monkeypatch)
    assert run_seeds(SEEDS).failed is not None
