# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters in 8 bits: values of a block are multiples of a step (ZeRO++, Wang et al. 2023, section 3.1)."""

from __future__ import annotations

import torch

BLOCK = 256
_LARGEST = 127


def encode(values: torch.Tensor) -> torch.Tensor:
    """Round values to multiples of 1/127 of the largest absolute value of their block.

    Args:
        values: of any floating-point type and shape.

    Returns:
        Bytes, uint8, one dimension: one for each value, and 4 for each block. A block with a value that is not finite
        decodes to values that are not finite.
    """
    flat = values.detach().reshape(-1).to(torch.float32)
    blocks = torch.nn.functional.pad(flat, (0, -flat.numel() % BLOCK)).view(-1, BLOCK)
    steps = blocks.abs().amax(1, keepdim=True) / _LARGEST
    codes = (blocks / steps.where(steps != 0, 1.0)).round().nan_to_num().clamp(-_LARGEST, _LARGEST).to(torch.int8)
    return torch.cat([codes.view(-1)[: flat.numel()].view(torch.uint8), steps.view(-1).view(torch.uint8)])


def decode(encoded: torch.Tensor, output: torch.Tensor) -> None:
    """Write the values of ``encode`` to ``output``, contiguous, of any floating-point type."""
    size = output.numel()
    steps = encoded[size:].clone().view(torch.float32)  # a copy begins at a multiple of 4 bytes
    of_value = steps.repeat_interleave(BLOCK)[:size]
    output.view(-1).copy_(encoded[:size].view(torch.int8).to(torch.float32) * of_value)
