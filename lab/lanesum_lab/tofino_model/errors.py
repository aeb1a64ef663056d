# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of this package."""

from __future__ import annotations

from lanesum.errors import LanesumError


class TofinoModelError(LanesumError):
    """The model's test harness ended, refused a command, or lacks room for an entry."""
