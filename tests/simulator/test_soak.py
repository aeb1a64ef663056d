# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Random schedules for some seconds, other ones than those of the other tests."""

from __future__ import annotations

import os

import pytest

from tests.simulator.soak import soak

pytestmark = pytest.mark.long


def test_random_schedules_violates_no_invariant() -> None:
    """Others than those of the other tests; how many depends on the machine."""
    done = soak(schedules=1_000_000, seed=1_000_000, seconds=10, processes=os.cpu_count() or 1)
    assert done.failed is None
    assert done.schedules
