# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What the lane operations compute, on arrays of words (the numpy twin of ``p4src/bmv2/lanes.p4``)."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import CODE_TABLE_ENTRIES

Words = NDArray[np.uint32]


def expand(op: LaneOp, words: Words, code_table: bytes | None = None) -> Words:
    """Uplink words to accumulator words.

    Args:
        op: the lane operation; those that do not widen return ``words`` as they are.
        words: uint32, shape ``(..., n)``, whole groups of the operation's shape.
        code_table: 16 bytes, TABLE8 only; without one every code counts as 0, as in the switch.

    Returns:
        uint32 of shape ``(..., op.shape.accumulator_words(n))``.

    Raises:
        ValueError: the words are no whole groups.
    """
    shape = op.shape
    if not shape.widens:
        return words
    size, group = words.shape[-1], shape.uplink_words_per_group
    shifts, mask = _parts(op)
    parts = words.reshape(*words.shape[:-1], size // group, group, 1) >> shifts & mask
    wide = parts[..., 0, :]
    for plane in range(1, group):
        wide |= parts[..., plane, :] << np.uint32(plane)
    wide = np.ascontiguousarray(wide).reshape(*words.shape[:-1], shape.accumulator_words(size))
    if op is LaneOp.TABLE8:
        table = np.frombuffer(code_table or bytes(CODE_TABLE_ENTRIES), np.uint8)
        # Each byte is looked up by itself, so the byte order of the machine does not matter.
        wide = table[wide.view(np.uint8)].view(np.uint32)
    return wide


@functools.cache
def _parts(op: LaneOp) -> tuple[Words, np.uint32]:
    """How far an uplink word moves for each accumulator word of its group, and what is left of it there."""
    shape = op.shape
    return np.arange(shape.accumulator_words_per_group, dtype=np.uint32) * np.uint32(shape.shift), np.uint32(shape.mask)


def combine(op: LaneOp, accumulator: Words, words: Words) -> Words:
    """Accumulator words after one more contribution; both arguments uint32 of one shape."""
    if op is LaneOp.OR:
        return accumulator | words
    if op is LaneOp.MAX:
        return np.maximum(accumulator, words)
    return accumulator + words  # uint32 wraps, as the switch does
