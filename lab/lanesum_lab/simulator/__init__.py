# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Deterministic simulator of the aggregation protocol: real workers and aggregation points on a random network."""

from lanesum_lab.simulator.schedule import Outcome, Schedule, run
from lanesum_lab.simulator.violation import Invariant, Violation

__all__ = ["Invariant", "Outcome", "Schedule", "Violation", "run"]
