# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Planned faults: one seeded plan, with the same meaning on every target."""

from lanesum_switch.faults.counters import FaultCounters
from lanesum_switch.faults.injector import FaultInjector
from lanesum_switch.faults.plan import FaultPlan, FaultPlanError

__all__ = ["FaultCounters", "FaultInjector", "FaultPlan", "FaultPlanError"]
