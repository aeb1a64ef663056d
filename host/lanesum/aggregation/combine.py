# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What the lane operations compute, on arrays of words (the numpy twin of ``p4src/bmv2/lanes.p4``)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import CODE_TABLE_ENTRIES

Words = NDArray[np.uint32]

_LOW_NIBBLES = np.uint32(0x0F0F0F0F)


def expand(op: LaneOp, words: Words, code_table: bytes | None = None) -> Words:
    """Uplink words to accumulator words.

    Args:
        op: the lane operation; only EXPAND8 and TABLE8 widen, the others return ``words`` as they are.
        words: uint32, shape ``(..., n)``.
        code_table: 16 bytes, TABLE8 only; without one every code counts as 0, as in the switch.

    Returns:
        uint32 of shape ``(..., n)`` or, for the widening operations, ``(..., 2 n)``.
    """
    if op not in (LaneOp.EXPAND8, LaneOp.TABLE8):
        return words
    pairs = np.stack((words & _LOW_NIBBLES, (words >> np.uint32(4)) & _LOW_NIBBLES), axis=-1)
    wide = np.ascontiguousarray(pairs.reshape(*words.shape[:-1], -1))
    if op is LaneOp.TABLE8:
        table = np.frombuffer(code_table or bytes(CODE_TABLE_ENTRIES), np.uint8)
        # Each byte is looked up by itself, so the byte order of the machine does not matter.
        wide = table[wide.view(np.uint8)].view(np.uint32)
    return wide


def combine(op: LaneOp, accumulator: Words, words: Words) -> Words:
    """Accumulator words after one more contribution; both arguments uint32 of one shape."""
    if op is LaneOp.OR:
        return accumulator | words
    if op is LaneOp.MAX:
        return np.maximum(accumulator, words)
    return accumulator + words  # uint32 wraps, as the switch does
