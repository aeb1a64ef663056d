# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Peers of the kernels of ``thc``: the same algorithm in PyTorch operations, and other codecs."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from lanesum.codecs.base import CodecContext
from lanesum.codecs.kernels.philox import MULTIPLIERS, ROUNDS, WEYL, RandomStream, sign_words
from lanesum.codecs.kernels.reference import FLOAT32_MAX
from lanesum.codecs.thc.blocks import code_cells
from lanesum.codecs.thc.codec import THC
from lanesum.codecs.thc.dither import UNIT, dither_offset, dither_sum
from lanesum.codecs.thc.reference import CODE_BITS, LEFT_OUT

_MASK = 0xFFFFFFFF


class PlainThc:
    """``thc`` with 4 bits in lanes of 8 in PyTorch operations, one after another, on whole blocks of a device.

    Its codes equal those of the codec. Every call draws random bits, as in the kernels. A method may be passed to
    ``torch.compile``; products and sums may be fused then, so that some codes differ.
    """

    def __init__(self, codec: THC, context: CodecContext, norms: Any, peaks: Any, device: torch.device) -> None:
        """``norms``, ``peaks``: float32 arrays of this worker's block norms, and of the maxima over all workers."""
        assert (codec.op.shape.code_bits, codec.op.shape.lane_bits) == (4, 8)

        def there(array: Any) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        self._codec, self._context = codec, context
        blocks, coder = norms.size, codec.coder
        size = blocks * codec.block
        powers, positions = coder.factors(norms, peaks)
        self._powers, self._positions = there(powers.reshape(-1, 2)), there(positions[:, None])
        self._own_scales = there(coder.scales(size, peaks, 1).reshape(-1, 2))
        self._scales = there(coder.scales(size, peaks, context.divisor).reshape(-1, 2))
        bits = np.unpackbits(sign_words(codec.block, context.seed, context.round).view(np.uint8), bitorder="little")
        self._signs = there(1 - 2 * bits.astype(np.float32))
        self._cells = there(code_cells(codec.grid).astype(np.int64))
        self._levels = there(np.array(codec.grid.levels, dtype=np.int64))
        self._blocks, self._device = blocks, device

    def encode(self, values: torch.Tensor, feedback: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the words (int32) and the residual of ``values`` plus ``feedback``."""
        codec, context, x = self._codec, self._context, values + feedback
        granularity = codec.grid.granularity
        y = x.view(self._blocks, codec.block) * self._powers[:, :1] * self._powers[:, 1:] * self._signs
        position = self._transformed(y) * self._positions + granularity * UNIT / 2
        position = position.clamp(0, granularity * UNIT).to(torch.int64)
        shared = self._dithers()
        dithers = (shared + dither_offset(context.worker, context.workers)) & (UNIT - 1)
        cells = self._cells[(position + dithers) >> 16]
        up = (cells >= LEFT_OUT) & ((shared & 1) != (context.worker & 1))
        codes = ((cells & CODE_BITS) + up) * (self._positions != 0)
        groups = codes.view(-1, 2, 4)
        octets = groups[:, 0] | groups[:, 1] << 4
        words = octets[:, 0] << 24 | octets[:, 1] << 16 | octets[:, 2] << 8 | octets[:, 3]
        said = (self._levels[codes] << 16) - dithers - (granularity - 1) * UNIT // 2
        residual = x - self._restored(said.to(torch.float32), self._own_scales)
        return words.to(torch.int32), residual.clamp(-FLOAT32_MAX, FLOAT32_MAX)

    def decode(self, lanes: torch.Tensor) -> torch.Tensor:
        """Return the values of all workers' sums (int32 words)."""
        taken = dither_sum(self._context.workers, self._codec.grid.granularity)
        words = lanes.to(torch.int64)[:, None]
        sums = (words >> torch.tensor([24, 16, 8, 0], device=self._device) & 0xFF).view(self._blocks, -1)
        estimates = (sums << 16) - (self._dithers() * taken.multiplier & (UNIT - 1)) - taken.constant
        return self._restored(estimates.to(torch.float32), self._scales)

    def _restored(self, estimates: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
        y = self._transformed(estimates) * self._signs * scales[:, :1] * scales[:, 1:]
        return torch.where(scales[:, :1] == 0, 0.0, y).clamp(-FLOAT32_MAX, FLOAT32_MAX).view(-1)

    def _transformed(self, y: torch.Tensor) -> torch.Tensor:
        span = 1
        while span < y.shape[1]:
            pairs = y.view(y.shape[0], -1, 2, span)
            y = torch.stack((pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]), 2).view(y.shape)
            span *= 2
        return y

    def _dithers(self) -> torch.Tensor:
        """Return the dithers of :func:`lanesum.codecs.kernels.philox.shared_dithers`."""
        seed, groups = self._context.seed, self._codec.block // 64
        zero = torch.zeros(self._blocks, groups * 8, dtype=torch.int64, device=self._device)
        c0 = zero + torch.arange(groups * 8, device=self._device)
        c1 = zero + torch.arange(self._blocks, device=self._device)[:, None]
        c2, c3 = zero + (self._context.round & _MASK), zero + (RandomStream.DITHER << 24)
        key0, key1 = seed & _MASK, seed >> 32
        for _ in range(ROUNDS):
            high0, low0 = _product(c0, int(MULTIPLIERS[0]))
            high1, low1 = _product(c2, int(MULTIPLIERS[1]))
            c0, c1, c2, c3 = high1 ^ c1 ^ key0, low1, high0 ^ c3 ^ key1, low0
            key0, key1 = (key0 + WEYL[0]) & _MASK, (key1 + WEYL[1]) & _MASK
        words = torch.stack((c0, c1, c2, c3), -1).view(self._blocks, groups, 8, 2, 2)
        halves = torch.stack((words & 0xFFFF, words >> 16), 2)
        return halves.movedim(4, 2).reshape(self._blocks, -1)


def _product(x: torch.Tensor, factor: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the upper and lower 32 bits of a product of 32-bit numbers; int64 would overflow."""
    low, high = (x & 0xFFFF) * factor, (x >> 16) * factor
    middle = (low >> 16) + high
    return middle >> 16, (middle & 0xFFFF) << 16 | low & 0xFFFF


def half_encode(values: torch.Tensor, workers: int) -> torch.Tensor:
    """Do the work of PyTorch's ``fp16_compress_hook`` before its sum."""
    return values.to(torch.float16).div_(workers)


def half_decode(sums: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Do the work of PyTorch's ``fp16_compress_hook`` after its sum."""
    return values.copy_(sums)


def power_sgd(values: torch.Tensor, feedback: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Do one worker's work at rank ``right.shape[1]`` for a square matrix; return mean and error-feedback memory."""
    matrix = (values + feedback).view(right.shape[0], -1)
    left, _ = torch.linalg.qr(matrix @ right)
    mean = left @ (matrix.t() @ left).t()
    return mean, matrix - mean
