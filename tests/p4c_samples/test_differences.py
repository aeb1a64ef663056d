# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sensitivity of the comparison: planted differences are found, and equal switches have none."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from lanesum_lab.targets.bmv2 import PROGRAM as BMV2
from lanesum_lab.veth import obstacle
from tests.p4c_samples.comparison import Comparison, Effort, bmv2, embedded_and_bmv2
from tests.p4c_samples.differences import DIFFERENCES, programs_until_found
from tests.p4c_samples.random_programs import random_program
from tests.p4c_samples.test_comparison import unchanged, with_peer
from tests.planted.bug import Bug

# Each is found by one of the first programs, so that the check is short.
SHORT = (
    "a header is extracted from a packet with a byte too few",
    "the mask of a transition is ignored",
    "a failed verify has no effect",
    "a truncated packet has a byte more",
    "a replica has another instance",
    "a shift to the right is one bit short",
    "direct counters count packets twice",
    "a field is given twice",
    "a value is one bit too wide",
)
MAX_PROGRAMS = 40


def needs_bmv2(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that runs BMv2."""
    missing = shutil.which(BMV2) is None
    marked = pytest.mark.skipif(missing, reason=f"{BMV2} is not on PATH")(pytest.mark.long(test))
    return pytest.mark.skipif(bool(obstacle()), reason=obstacle())(marked)


def named(name: str) -> Bug:
    return next(one for one in DIFFERENCES if one.name == name)


@pytest.mark.parametrize("name", SHORT)
def test_random_programs_find_a_planted_difference(name: str) -> None:
    assert programs_until_found(named(name), 8) is not None


@pytest.mark.long
@pytest.mark.parametrize("name", [one.name for one in DIFFERENCES if one.name not in SHORT])
def test_random_programs_find_rarer_planted_differences(name: str) -> None:
    assert programs_until_found(named(name), MAX_PROGRAMS) is not None


@pytest.mark.parametrize("seed", range(3))
def test_random_program_on_equal_switches_is_alike(seed: int) -> None:
    comparison = Comparison(random_program(seed), seed, with_peer(unchanged), Effort(rounds=1))
    assert (comparison.run(), comparison.stale) == ("", 0)


def test_random_program_depends_on_its_seed_alone() -> None:
    assert random_program(3).json == random_program(3).json != random_program(4).json


@needs_bmv2
@pytest.mark.parametrize("name", SHORT[:3])
def test_bmv2_finds_a_planted_difference(name: str) -> None:
    assert programs_until_found(named(name), MAX_PROGRAMS, bmv2) is not None


@needs_bmv2
@pytest.mark.parametrize("seed", range(20))
def test_random_programs_are_alike_on_bmv2(seed: int) -> None:
    assert Comparison(random_program(seed), seed, embedded_and_bmv2).run() == ""
