# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Aggregation in plain Python: the slot semantics that every switch and server implements, as an executable model."""

from lanesum.aggregation.combine import combine, expand
from lanesum.aggregation.slots import Decision, SlotTable

__all__ = ["Decision", "SlotTable", "combine", "expand"]
