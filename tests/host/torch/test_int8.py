# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters in 8 bits: bytes and errors of values of all sizes and types."""

from __future__ import annotations

import pytest
import torch

from lanesum.torch import int8


def restored(values: torch.Tensor) -> torch.Tensor:
    output = torch.full_like(values, -7.0)
    int8.decode(int8.encode(values), output)
    return output


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 3000])
def test_int8_error_is_at_most_half_a_step(size: int, dtype: torch.dtype) -> None:
    values = torch.randn(size, generator=torch.Generator().manual_seed(size)).to(dtype)
    values[: size // 2] *= 1000  # blocks have steps of their own
    encoded = int8.encode(values)
    assert encoded.numel() == size + 4 * -(-size // int8.BLOCK)
    blocks, found = values.float().split(int8.BLOCK), restored(values).float().split(int8.BLOCK)
    for block, own in zip(blocks, found, strict=True) if size else ():
        largest = block.abs().max()
        assert (own - block).abs().max() <= largest / 254 * (1 + 1e-5) + largest * torch.finfo(dtype).eps


def test_int8_error_of_normal_values_is_small() -> None:
    """docs/sharded-training.md states it."""
    values = torch.randn(1 << 18, generator=torch.Generator().manual_seed(1))
    nmse = float((restored(values) - values).square().sum() / values.square().sum())
    assert 3e-5 < nmse < 6e-5


@pytest.mark.parametrize("strange", [float("nan"), float("inf"), -float("inf")])
def test_block_that_is_not_finite_stays_so(strange: float) -> None:
    values = torch.ones(3 * int8.BLOCK)
    values[int8.BLOCK] = strange
    first, second, third = restored(values).split(int8.BLOCK)
    assert not second.isfinite().any()
    torch.testing.assert_close(torch.cat([first, third]), torch.ones(2 * int8.BLOCK))


@pytest.mark.parametrize("size", [0.0, 1e-45, 3e-43, 1e-38, 3e38])
def test_extreme_values_keep_sign_and_size(size: float) -> None:
    found = restored(torch.tensor([size, -size]))
    assert (found.abs() <= size * 1.01).all()
    assert found[0] == -found[1]
    assert size < 1e-40 or found[0] > 0.99 * size
