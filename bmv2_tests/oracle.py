# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What sums must be, computed coordinate by coordinate and without any code of the library."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.lanes import LaneOp

Words = NDArray[np.uint32]

CODE_TABLE = bytes([0, 1, 3, 4, 5, 6, 7, 8, 9, 11, 13, 14, 15, 18, 21, 30])
WIDENING = (LaneOp.EXPAND8, LaneOp.TABLE8)


def uplink_words(op: LaneOp, accumulator_words: int) -> int:
    return accumulator_words // 2 if op in WIDENING else accumulator_words


def random_words(rng: np.random.Generator, op: LaneOp, accumulator_words: int, workers: int) -> Words:
    """Uplink words of one contribution, small enough that the lanes of ``workers`` contributions do not carry."""
    size = uplink_words(op, accumulator_words)
    if op is LaneOp.ADD8X4:
        lanes = rng.integers(0, 255 // workers + 1, (size, 4), dtype=np.uint32)
        return _join(lanes, 8)
    return rng.integers(0, 1 << 32, size, dtype=np.uint32)


def aggregate(op: LaneOp, contributions: Sequence[Words], code_table: bytes = CODE_TABLE) -> Words:
    """The accumulator words after ``contributions``."""
    stack = np.stack(contributions).astype(np.uint64)
    if op is LaneOp.ADD32:
        return (stack.sum(axis=0) % (1 << 32)).astype(np.uint32)
    if op is LaneOp.OR:
        return np.bitwise_or.reduce(stack, axis=0).astype(np.uint32)
    if op is LaneOp.MAX:
        return stack.max(axis=0).astype(np.uint32)
    if op is LaneOp.ADD8X4:
        return _join(_split(stack, 8).sum(axis=0), 8)
    codes = _split(stack, 4)  # eight to a word, lowest bits first
    values = codes if op is LaneOp.EXPAND8 else np.frombuffer(code_table, np.uint8)[codes].astype(np.uint64)
    sums = values.sum(axis=0)
    assert sums.max() < 256, "the workers' codes overflow 8-bit lanes: not a case for this oracle"
    # Low nibbles make the even word, high nibbles the odd one.
    words = np.stack((_join(sums[:, 0::2], 8), _join(sums[:, 1::2], 8)), axis=1)
    return words.reshape(-1)


def _split(words: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    """Lanes of each word on a new last axis, lowest bits first."""
    shifts = np.arange(0, 32, bits, dtype=np.uint64)
    return (words[..., None] >> shifts) & np.uint64((1 << bits) - 1)


def _join(lanes: NDArray[np.unsignedinteger], bits: int) -> Words:
    assert int(lanes.max(initial=0)) < 1 << bits
    shifts = np.arange(0, 32, bits, dtype=np.uint64)
    return (lanes.astype(np.uint64) << shifts).sum(axis=-1).astype(np.uint32)
