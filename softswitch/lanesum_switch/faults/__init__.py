# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fault injection by a seeded plan, which means the same on every target."""

from lanesum_switch.faults.counters import FaultCounters
from lanesum_switch.faults.injector import FaultInjector
from lanesum_switch.faults.plan import FaultPlan, FaultPlanError

__all__ = ["FaultCounters", "FaultInjector", "FaultPlan", "FaultPlanError"]
