# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Random bits inside kernels are those of the NumPy loops."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton", reason="needs Triton: pip install 'lanesum[gpu]'")
import triton.language as tl  # noqa: E402

from lanesum.codecs.kernels.device import as_int32, block_dithers, keys  # noqa: E402
from lanesum.codecs.kernels.philox import shared_dithers  # noqa: E402

pytestmark = pytest.mark.usefixtures("interpreted")


@triton.jit(do_not_specialize=["first", "round", "key0", "key1"])
def _store_dithers(out, first, round, key0, key1, GROUPS: tl.constexpr):
    pid = tl.program_id(0)
    first_half, second_half = block_dithers(first + pid, round, key0, key1, GROUPS)
    at = out + pid * GROUPS * 64 + tl.arange(0, GROUPS)[:, None] * 64 + tl.arange(0, 16)[None, :]
    tl.store(at, first_half & 0xFFFF)
    tl.store(at + 16, (first_half >> 16) & 0xFFFF)
    tl.store(at + 32, second_half & 0xFFFF)
    tl.store(at + 48, (second_half >> 16) & 0xFFFF)


@pytest.mark.parametrize(
    ("seed", "round_", "first", "length"),
    [(0, 0, 0, 64), (2**64 - 1, 2**32 - 1, 2**31 - 1, 128), (0x0123456789ABCDEF, 1, 5, 4096), (1 << 63, 16, 0, 1024)],
)
def test_block_dithers_equal_shared_dithers(seed: int, round_: int, first: int, length: int) -> None:
    out = torch.zeros(2, length, dtype=torch.int32)
    _store_dithers[(2,)](out, as_int32(first), as_int32(round_), *keys(seed), GROUPS=length // 64)
    expected = shared_dithers(2, length, seed=seed, round=round_, first=first)
    np.testing.assert_array_equal(out.numpy(), expected)
