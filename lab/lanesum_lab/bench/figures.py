# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Statistics over several runs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return median, minimum and maximum, JSON-ready."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def text(figure: dict[str, float], digits: int = 2) -> str:
    """Return ``median (min to max)``."""
    median, low, high = (f"{figure[key]:,.{digits}f}" for key in ("median", "min", "max"))
    return f"{median} ({low} to {high})"
