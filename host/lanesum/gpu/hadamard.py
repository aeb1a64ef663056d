# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Hadamard transform of one block in one Triton program.

The additions have the order of :mod:`lanesum.codecs.kernels.hadamard`.

A block is four tensors (GROUPS, 16) as in :mod:`lanesum.gpu.philox`. Both sides of a butterfly compute it. Each gets
the other's value and adds its own with the sign of its side, which is the same addition. Values come from registers or,
by a shuffle, from another thread of the warp. Only values 512 or 1,024 coordinates apart go through shared memory, in
blocks with two or four warps.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _butterflies(x, ABOVE: tl.constexpr, SPAN: tl.constexpr):
    shape: tl.constexpr = x.shape
    own = tl.reshape(x.to(tl.int32, bitcast=True), [ABOVE, 2, SPAN])
    # Bits are added as integers, which wrap: the sum of a pair minus one of them is the other one.
    other = tl.sum(own, 1, keep_dims=True) - own
    # A product with 1 or -1 is exact, so the result is rounded as by an addition alone.
    side = 1.0 - 2.0 * tl.arange(0, 2)[None, :, None].to(tl.float32)
    return tl.reshape(tl.fma(tl.reshape(x, [ABOVE, 2, SPAN]), side, other.to(tl.float32, bitcast=True)), shape)


@triton.jit
def _columns(x, GROUPS: tl.constexpr):
    x = _butterflies(x, GROUPS * 8, 1)
    x = _butterflies(x, GROUPS * 4, 2)
    x = _butterflies(x, GROUPS * 2, 4)
    return _butterflies(x, GROUPS, 8)


@triton.jit
def _rows(x, GROUPS: tl.constexpr, STAGES: tl.constexpr):
    for stage in tl.static_range(STAGES):
        x = _butterflies(x, GROUPS >> (stage + 1), 16 << stage)
    return x


@triton.jit
def hadamard(x00, x01, x10, x11, GROUPS: tl.constexpr, STAGES: tl.constexpr):
    """Return the transform without normalization; ``GROUPS`` is 2 to the power of ``STAGES``.

    For a shorter vector, padded with zeros, the first coordinates are its transform: a sum with zero is exact.
    """
    x00 = _columns(x00, GROUPS)
    x01 = _columns(x01, GROUPS)
    x10 = _columns(x10, GROUPS)
    x11 = _columns(x11, GROUPS)
    sum0, difference0, sum1, difference1 = x00 + x01, x00 - x01, x10 + x11, x10 - x11
    x00 = _rows(sum0 + sum1, GROUPS, STAGES)
    x01 = _rows(difference0 + difference1, GROUPS, STAGES)
    x10 = _rows(sum0 - sum1, GROUPS, STAGES)
    x11 = _rows(difference0 - difference1, GROUPS, STAGES)
    return x00, x01, x10, x11
