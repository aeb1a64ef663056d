# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Aggregation in plain Python: executable model of the slots that every switch implements."""

from lanesum.aggregation.combine import combine, expand
from lanesum.aggregation.slots import Decision, SlotTable

__all__ = ["Decision", "SlotTable", "combine", "expand"]
