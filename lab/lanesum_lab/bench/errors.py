# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Error of the benchmarks."""

from __future__ import annotations

from lanesum.errors import LanesumError


class BenchError(LanesumError):
    """A benchmark could not measure: a process did not answer, or packets were lost that must not be."""
