# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Codes and lanes inside 32-bit words, and what one worker's words add to an accumulator.

Words are native ``uint32`` values; their byte order on the wire belongs to the packet codec. Worked
example, codes 1 to 8 in coordinate order::

    bytes of the word, network order   1|5<<4  2|6<<4  3|7<<4  4|8<<4   = 0x51627384
    accumulator word 0 (w & 0x0F0F0F0F)                                 = 0x01020304
    accumulator word 1 (w >> 4 & 0x0F0F0F0F)                            = 0x05060708

so a switch needs one mask and one shift, and the lanes come out in coordinate order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.combine import Words, expand
from lanesum.codecs.base import CodecError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import CODE_TABLE_ENTRIES

#: Coordinates that one uplink word of EXPAND8 and TABLE8 carries.
CODES_PER_WORD = 8
LANES_PER_WORD = 4
LANE_MAX = 255


def pack_codes(codes: NDArray[np.uint8]) -> Words:
    """Pack codes (uint8, 0 to 15, a multiple of 8 of them) into uplink words (uint32, an eighth as many).

    Codes above 15 would spill into a neighbour; they are the caller's error and are not looked for.
    """
    if codes.dtype != np.uint8 or codes.ndim != 1 or codes.size % CODES_PER_WORD:
        raise CodecError(f"Cannot pack {codes.dtype} codes of shape {codes.shape}: need uint8 in groups of 8.")
    halves = codes.reshape(-1, 2, LANES_PER_WORD)
    octets = halves[:, 1] << np.uint8(4)
    octets |= halves[:, 0]
    return octets.reshape(-1).view(">u4").astype(np.uint32)


def unpack_codes(words: Words) -> NDArray[np.uint8]:
    """The codes (uint8, eight per word, coordinate order) that :func:`pack_codes` put into ``words``."""
    return unpack_lanes(expand(LaneOp.EXPAND8, words))


def pack_lanes(lanes: NDArray[np.uint8]) -> Words:
    """Put 8-bit lanes (uint8, coordinate order, a multiple of 4) into accumulator words (uint32)."""
    if lanes.dtype != np.uint8 or lanes.ndim != 1 or lanes.size % LANES_PER_WORD:
        raise CodecError(f"Cannot pack {lanes.dtype} lanes of shape {lanes.shape}: need uint8 in groups of 4.")
    return np.ascontiguousarray(lanes).view(">u4").astype(np.uint32)


def unpack_lanes(words: Words) -> NDArray[np.uint8]:
    """The 8-bit lanes (uint8, four per word, coordinate order) of accumulator words."""
    return words.astype(">u4").view(np.uint8)


def pack(op: LaneOp, codes: NDArray[np.uint8]) -> Words:
    """Pack codes (uint8, coordinate order, whole groups of ``op``) into uplink words of any operation that adds lanes.

    Codes that are wider than the operation's would spill into a neighbour; they are not looked for.
    """
    shape = op.shape
    if codes.dtype != np.uint8 or codes.ndim != 1 or codes.size % shape.codes_per_group:
        raise CodecError(
            f"Cannot pack {codes.dtype} codes of shape {codes.shape}: need uint8 in groups of {shape.codes_per_group}."
        )
    lanes = codes.astype(f">u{shape.lane_bits // 8}").view(">u4").astype(np.uint32)
    groups = lanes.reshape(-1, shape.accumulator_words_per_group)
    places = np.arange(shape.accumulator_words_per_group, dtype=np.uint32) * np.uint32(shape.shift)
    if not shape.planes:
        return np.bitwise_or.reduce(groups << places, axis=1)
    planes = np.arange(shape.uplink_words_per_group, dtype=np.uint32)[:, None]
    bits = groups[:, None, :] >> planes & np.uint32(shape.mask)
    return np.bitwise_or.reduce(bits << places, axis=2).reshape(-1)


def lanes_of(words: Words, lane_bits: int) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """The lanes (uint8 or uint16, coordinate order) of accumulator words."""
    octets = unpack_lanes(words)
    return octets if lane_bits == 8 else octets.view(">u2").astype(np.uint16)


def lane_contribution(op: LaneOp, words: Words, code_table: NDArray[np.uint8] | None = None) -> Words:
    """Accumulator words that uplink ``words`` contribute under ``op``, exactly as the switch computes them.

    ``code_table`` is the job's 16 uint8 entries and is needed for TABLE8 only (CodecError without it). The
    sum (or OR, or MAX) of all workers' contributions is what an aggregate must equal: the independent check
    of a result.
    """
    if op is not LaneOp.TABLE8:
        return expand(op, words)
    if code_table is None or code_table.shape != (CODE_TABLE_ENTRIES,) or code_table.dtype != np.uint8:
        raise CodecError("TABLE8 words mean nothing without the job's table of 16 uint8 entries.")
    return expand(op, words, code_table.tobytes())
