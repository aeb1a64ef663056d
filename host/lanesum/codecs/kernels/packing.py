# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Codes and lanes in 32-bit words, and the contribution of a worker's words to an accumulator.

Words are ``uint32`` in native byte order; the packet codec converts them for the wire. Example, with codes 1 to 8 in
coordinate order::

    bytes of the word, network order   1|5<<4  2|6<<4  3|7<<4  4|8<<4   = 0x51627384
    accumulator word 0 (w & 0x0F0F0F0F)                                 = 0x01020304
    accumulator word 1 (w >> 4 & 0x0F0F0F0F)                            = 0x05060708

So a switch requires one mask and one shift, and the lanes are in coordinate order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.combine import Words, expand
from lanesum.codecs.base import CodecError
from lanesum.protocol.lanes import WORD_BITS, LaneOp
from lanesum.protocol.spec import CODE_TABLE_ENTRIES


def unpack_lanes(words: Words) -> NDArray[np.uint8]:
    """Return the 8-bit lanes (uint8, four per word, coordinate order) of accumulator words."""
    return words.astype(">u4").view(np.uint8)


def pack(op: LaneOp, codes: NDArray[np.uint8]) -> Words:
    """Pack codes (uint8, coordinate order, whole groups of ``op``) into uplink words of an operation that adds lanes.

    Codes that are too large for the operation would spill into a neighbour; the caller must exclude them.
    """
    shape = op.shape
    if codes.dtype != np.uint8 or codes.ndim != 1 or codes.size % shape.codes_per_group:
        raise CodecError(
            f"Cannot pack {codes.dtype} codes of shape {codes.shape}: need uint8 in groups of {shape.codes_per_group}."
        )
    lanes = codes.astype(f">u{shape.lane_bits // 8}").view(">u4").astype(np.uint32)
    groups = lanes.reshape(-1, shape.accumulator_words_per_group)
    shifts = np.arange(shape.accumulator_words_per_group, dtype=np.uint32) * np.uint32(shape.shift)
    if shape.planes:
        planes = np.arange(shape.uplink_words_per_group, dtype=np.uint32)[:, None]
        bits = groups[:, None, :] >> planes & np.uint32(shape.mask)
    else:
        bits = groups[:, None, :]
    words: Words = np.bitwise_or.reduce(bits << shifts, axis=2)
    return words.reshape(-1)


def pack_mask(mask: NDArray[np.bool_]) -> Words:
    """Return a mask as words: element i is bit ``i % 32`` of word ``i // 32``."""
    octets = np.zeros(-(-mask.size // WORD_BITS) * WORD_BITS // 8, np.uint8)
    packed = np.packbits(mask, bitorder="little")
    octets[: packed.size] = packed
    return octets.view("<u4").astype(np.uint32, copy=False)


def unpack_mask(words: Words, size: int) -> NDArray[np.bool_]:
    """Return the mask of ``size`` elements that :func:`pack_mask` has packed."""
    octets = words.astype("<u4", copy=False).view(np.uint8)
    return np.unpackbits(octets, count=size, bitorder="little").view(np.bool_)


def lanes_of(words: Words, lane_bits: int) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Return the lanes (uint8 or uint16, coordinate order) of accumulator words."""
    octets = unpack_lanes(words)
    return octets if lane_bits == 8 else octets.view(">u2").astype(np.uint16)


def lane_contribution(op: LaneOp, words: Words, code_table: NDArray[np.uint8] | None = None) -> Words:
    """Return the accumulator words that uplink ``words`` contribute under ``op``, exactly as a switch computes them.

    The sum (or OR, or MAX) of the contributions of all workers is the expected aggregate, for independent checks.
    ``code_table``: 16 uint8 entries, for operations with lookup only. Raises CodecError without it.
    """
    if not op.shape.lookup:
        return expand(op, words)
    if code_table is None or code_table.shape != (CODE_TABLE_ENTRIES,) or code_table.dtype != np.uint8:
        raise CodecError(f"{op.name} words require the code table of the job, 16 uint8 entries.")
    return expand(op, words, code_table.tobytes())
