# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Exporters of metrics, which another package adds through the entry-point group ``lanesum.metrics``."""

from __future__ import annotations

import importlib.metadata
from typing import Any

from lanesum.errors import MissingToolError


def exporter(name: str) -> Any:
    """Return the function of that name. Raises MissingToolError if its package is not installed."""
    found = importlib.metadata.entry_points(group="lanesum.metrics", name=name)
    if not found:
        raise MissingToolError("Metrics need lanesum-fabric, which is not installed.", "pip install 'lanesum[metrics]'")
    return next(iter(found)).load()
