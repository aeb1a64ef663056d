# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Expected sums, computed coordinate by coordinate and without code of the library."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.lanes import LaneOp

Words = NDArray[np.uint32]

CODE_TABLE = bytes([0, 1, 3, 4, 5, 6, 7, 8, 9, 11, 13, 14, 15, 18, 21, 30])
# Bits of a code and of a lane, for operations that widen codes.
_PACKED = {
    LaneOp.EXPAND8: (4, 8),
    LaneOp.TABLE8: (4, 8),
    LaneOp.EXPAND16: (4, 16),
    LaneOp.EXPAND8TO16: (8, 16),
}
_PLANES = {LaneOp.EXPAND3TO8: 3, LaneOp.EXPAND5TO8: 5}
WIDENING = (*_PACKED, *_PLANES)


def uplink_words(op: LaneOp, accumulator_words: int) -> int:
    if op in _PLANES:
        return accumulator_words * _PLANES[op] // 8
    code, lane = _PACKED.get(op, (1, 1))
    return accumulator_words * code // lane


def random_words(rng: np.random.Generator, op: LaneOp, accumulator_words: int, workers: int) -> Words:
    """Return uplink words of one contribution; the lanes of ``workers`` such contributions do not carry."""
    size = uplink_words(op, accumulator_words)
    if op is LaneOp.ADD8X4:
        lanes = rng.integers(0, 255 // workers + 1, (size, 4), dtype=np.uint32)
        return _join(lanes, 8)
    return rng.integers(0, 1 << 32, size, dtype=np.uint32)


def aggregate(op: LaneOp, contributions: Sequence[Words], code_table: bytes = CODE_TABLE) -> Words:
    """Return the accumulator words of the sum of ``contributions``."""
    stack = np.stack(contributions).astype(np.uint64)
    if op is LaneOp.ADD32:
        return (stack.sum(axis=0) % (1 << 32)).astype(np.uint32)
    if op is LaneOp.OR:
        return np.bitwise_or.reduce(stack, axis=0).astype(np.uint32)
    if op is LaneOp.MAX:
        return stack.max(axis=0).astype(np.uint32)
    if op is LaneOp.ADD8X4:
        return _join(_split(stack, 8).sum(axis=0), 8)
    if op in _PLANES:
        return _planes(stack, _PLANES[op])
    code_bits, lane_bits = _PACKED[op]
    codes = _split(stack, code_bits)  # lowest bits first
    values = np.frombuffer(code_table, np.uint8)[codes].astype(np.uint64) if op is LaneOp.TABLE8 else codes
    sums = values.sum(axis=0)
    assert sums.max() < 1 << lane_bits, f"the workers' codes overflow {lane_bits}-bit lanes: not a case for this oracle"
    # With lanes ``step`` times as wide as codes, every ``step``-th code from the lowest on is in the first word.
    step = lane_bits // code_bits
    words = np.stack([_join(sums[:, first::step], lane_bits) for first in range(step)], axis=1)
    return words.reshape(-1)


def _planes(stack: NDArray[np.uint64], planes: int) -> Words:
    """Sum bit planes: bit ``b`` of plane ``k`` is bit ``k`` of code ``b`` of 32."""
    bits = _split(stack, 1).reshape(len(stack), -1, planes, 32)
    sums = (bits << np.arange(planes, dtype=np.uint64)[:, None]).sum(axis=(0, 2))
    assert sums.max() < 256, "the workers' codes overflow 8-bit lanes: not a case for this oracle"
    # Code 8 * lane + j is in lane ``lane``, from the lowest on, of word j.
    lanes = sums.reshape(-1, 4, 8).transpose(0, 2, 1)
    return _join(lanes, 8).reshape(-1)


def _split(words: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    """Split each word into lanes on a new last axis, lowest bits first."""
    shifts = np.arange(0, 32, bits, dtype=np.uint64)
    return (words[..., None] >> shifts) & np.uint64((1 << bits) - 1)


def _join(lanes: NDArray[np.unsignedinteger], bits: int) -> Words:
    assert int(lanes.max(initial=0)) < 1 << bits
    shifts = np.arange(0, 32, bits, dtype=np.uint64)
    return (lanes.astype(np.uint64) << shifts).sum(axis=-1).astype(np.uint32)
