# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels compile for GPUs, without instructions that round otherwise than NumPy."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", reason="needs Triton: pip install 'lanesum[gpu]'")
from tests.host.gpu.compiling import compiled

# A busy machine compiles for minutes.
pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]


# Butterflies of thc use FMA explicitly, with products by 1 or -1, which are exact.
@pytest.mark.parametrize(("cases", "explicit"), [("sketch_cases", ()), ("thc_cases", ("fma.rn.f32",))])
def test_kernels_compile_without_spills_or_fused_rounding(
    cases: str, explicit: tuple[str, ...], tmp_path: Path
) -> None:
    found = compiled(cases, tmp_path)
    rounded = {"mul.rn.f64", "mul.f32", "mul.rn.f32"}
    assert any(rounded & set(made["instructions"]) for made in found)
    for made in found:
        # Spills of a few words stay in the first-level cache. They cost less than half the number of warps would.
        assert made["bytes"] > 1000 and made["spilled"] <= 64, made
        # One warp that decodes a block exchanges its values by shuffles; the block itself would need 16 KiB.
        assert not made["kernel"].startswith("decode") or made["shared"] <= 1024, made
        for instruction in made["instructions"]:
            # Products and sums are rounded separately, quotients to nearest, and denormals are kept.
            assert (not instruction.startswith("fma") or instruction in explicit) and ".approx" not in instruction, made
            assert ".full" not in instruction and ".ftz" not in instruction, made
