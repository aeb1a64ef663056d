# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Cores of the parts that a benchmark measures, and of those that disturb or observe them."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence


def split_cores() -> tuple[list[int], list[int]]:
    """Return all cores of this process but the last one, and the last one; a single core is both."""
    cores = sorted(os.sched_getaffinity(0))
    return cores[:-1] or cores, cores[-1:]


def pinned(cores: Collection[int], command: Sequence[str]) -> list[str]:
    """Return ``command`` with a prefix that keeps it at these cores."""
    return ["taskset", "--cpu-list", ",".join(map(str, cores)), *command]
