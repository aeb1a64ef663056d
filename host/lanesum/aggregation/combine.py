# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Lane operations on NumPy arrays of words; the counterpart of ``p4src/bmv2/lanes.p4``."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.lanes import Combine, LaneOp
from lanesum.protocol.spec import CODE_TABLE_ENTRIES

Words = NDArray[np.uint32]

# uint32 addition wraps, as in the switch.
_COMBINE = {Combine.ADD: np.add, Combine.OR: np.bitwise_or, Combine.MAX: np.maximum}


def expand(op: LaneOp, words: Words, code_table: bytes | None = None) -> Words:
    """Convert uplink words to accumulator words.

    Args:
        op: lane operation; without widening, ``words`` are returned as they are.
        words: uint32, shape ``(..., n)``, whole groups of the operation.
        code_table: 16 bytes, for operations with lookup; without it every code counts as 0, as in the switch.

    Returns:
        uint32 of shape ``(..., op.shape.accumulator_words(n))``.

    Raises ValueError: the words are not whole groups.
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
    if shape.lookup:
        table = np.frombuffer(code_table or bytes(CODE_TABLE_ENTRIES), np.uint8)
        # Each byte is looked up separately, so the result does not depend on the byte order of the machine.
        wide = table[wide.view(np.uint8)].view(np.uint32)
    return wide


@functools.cache
def _parts(op: LaneOp) -> tuple[Words, np.uint32]:
    """Return the shifts of an uplink word for the accumulator words of its group, and the mask after shifting."""
    shape = op.shape
    return np.arange(shape.accumulator_words_per_group, dtype=np.uint32) * np.uint32(shape.shift), np.uint32(shape.mask)


def combine(op: LaneOp, accumulator: Words, words: Words) -> Words:
    """Return the accumulator words after one more contribution; both arguments are uint32 of one shape."""
    combined: Words = _COMBINE[op.shape.combine](accumulator, words)
    return combined
