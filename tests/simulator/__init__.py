# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Deterministic simulator of the aggregation protocol: real workers and aggregation points on a random network."""

from tests.simulator.schedule import Outcome, Schedule, run
from tests.simulator.violation import Invariant, Violation

__all__ = ["Invariant", "Outcome", "Schedule", "Violation", "run"]
