# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Short runs of the fuzzers, each in a process of its own, within their limit of memory."""

from __future__ import annotations

import os
import random

import pytest

from tests.fuzz.running import MAX_GROWTH_MIB, mutated, run


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "count", "kinds"),
    [
        ("bodies", 240, ["controller INVALID_ARGUMENT", "server FAILED_PRECONDITION", "p4runtime OK", "bfruntime OK"]),
        ("files", 360, ["ticket refused", "topology refused", "state refused", "counts loaded", "journal loaded"]),
        ("datagrams", 200, ["server and workers", "switch"]),
    ],
)
def test_fuzzer_finds_no_untyped_error_within_its_memory(module: str, count: int, kinds: list[str]) -> None:
    found = run(f"tests.fuzz.{module}", "--count", str(count), "--seed", "1")
    assert found["total"] >= count and all(found[kind] > 0 for kind in kinds), found
    assert found["peak_mib_over_start"] <= MAX_GROWTH_MIB


@pytest.mark.long
def test_datagrams_do_not_harm_the_python_implementation() -> None:
    found = run("tests.fuzz.datagrams", "--count", "200", environment={**os.environ, "LANESUM_NATIVE": "off"})
    assert found["server and workers"] > 0


def test_mutated_bytes_differ_in_every_way() -> None:
    rng, data = random.Random(0), bytes(range(100))
    mutants = [mutated(data, rng) for _ in range(500)]
    assert sum(one != data for one in mutants) > 400
    assert min(map(len, mutants)) < 50 and max(map(len, mutants)) > 200
