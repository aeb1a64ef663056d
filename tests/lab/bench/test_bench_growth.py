# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Worker and server do not grow, and a process that does is found."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest

from lanesum._internal.native import availability
from lanesum_lab.bench import growth
from lanesum_lab.bench.errors import BenchError
from lanesum_lab.bench.registry import benchmarks
from lanesum_lab.cli.bench import command


def test_worker_and_server_do_not_grow() -> None:
    result = growth.run(dataclasses.replace(growth.QUICK, seconds=20.0))
    kinds = {"Python"} if availability().core is None else {"Python", "native"}
    assert {figure["by"] for figure in result["figures"]} == kinds
    assert len(result["figures"]) == 3 * len(kinds)
    assert all(figure["warm_bytes"] > 1 << 20 and figure["all_reduces"] >= 9 * 8 for figure in result["figures"])
    assert result["flat"], list(growth.rows(result))
    assert len(list(growth.rows(result))) == len(result["figures"])


def test_memory_that_is_kept_is_seen() -> None:
    before = growth.resident_bytes(os.getpid())
    # More than an allocator keeps of what was given back: it has to come from the kernel.
    kept = np.ones(64 << 20, np.uint8)
    assert growth.resident_bytes(os.getpid()) - before > kept.nbytes // 2


def test_only_growth_after_warming_up_counts() -> None:
    assert growth.grown([1, 5, 9, 10, 10, 10, 10, 9, 10]) == (10, 10)
    assert growth.grown([1, 2, 3, 4, 5, 6, 7, 8, 9]) == (5, 8)


def test_process_that_grows_ends_the_command() -> None:
    found = {"flat": False, "allowed_bytes": 1 << 20, "figures": []}
    grows = dataclasses.replace(benchmarks()["growth"], run=lambda _settings: found)
    with pytest.raises(BenchError, match="more than 1,024 KiB after warming up"):
        command(grows)(as_json=True)
