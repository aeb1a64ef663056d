# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What ends a benchmark."""

from __future__ import annotations

from lanesum.errors import LanesumError


class BenchError(LanesumError):
    """A benchmark could not measure what it is about: a process did not answer, or lost what it must not lose."""
