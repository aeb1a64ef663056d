# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels become machine code for GPUs, and nothing that rounds otherwise than NumPy does."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", reason="needs Triton: pip install 'lanesum[gpu]'")
from tests.host.gpu.compiling import compiled

pytestmark = pytest.mark.long


# Butterflies of thc add a product with 1 or -1, which is exact, and are written so.
@pytest.mark.parametrize(("cases", "written"), [("sketch_cases", ()), ("thc_cases", ("fma.rn.f32",))])
def test_kernels_compile(cases: str, written: tuple[str, ...], tmp_path: Path) -> None:
    found = compiled(cases, tmp_path)
    rounded = {"mul.rn.f64", "mul.f32", "mul.rn.f32"}
    assert any(rounded & set(made["instructions"]) for made in found)
    for made in found:
        # A few words of a thread, which stay in the first-level cache, cost less than half as many warps would.
        assert made["bytes"] > 1000 and made["spilled"] <= 64, made
        for instruction in made["instructions"]:
            # Products and sums are rounded one by one, quotients to the nearest, and denormals stay what they are.
            assert (not instruction.startswith("fma") or instruction in written) and ".approx" not in instruction, made
            assert ".full" not in instruction and ".ftz" not in instruction, made
