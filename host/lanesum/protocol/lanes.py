# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Lane operations: what a switch does with the 32-bit words of a contribution.

A *lane* is the fixed-width integer that belongs to one coordinate. Narrow lanes are packed into 32-bit accumulator
words; the host keeps ``largest lane value x workers`` below ``2 ** lane_bits``, so that a plain 32-bit addition never
carries from one lane into the next.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class LaneOp(enum.IntEnum):
    """The operation code in the packet header."""

    ADD32 = 0
    EXPAND8 = 1
    TABLE8 = 2
    ADD8X4 = 3
    OR = 4
    MAX = 5

    @property
    def shape(self) -> LaneShape:
        return LANE_SHAPES[self]


@dataclass(frozen=True, slots=True)
class LaneShape:
    """How one uplink word relates to accumulator words."""

    lane_bits: int  # width of one lane in the accumulator
    lanes_per_uplink_word: int
    accumulator_words_per_uplink_word: int
    description: str

    def uplink_words(self, accumulator_words: int) -> int:
        """Uplink words of a packet that fills ``accumulator_words``."""
        return accumulator_words // self.accumulator_words_per_uplink_word

    @property
    def lanes_per_accumulator_word(self) -> int:
        return self.lanes_per_uplink_word // self.accumulator_words_per_uplink_word


LANE_SHAPES = {
    LaneOp.ADD32: LaneShape(32, 1, 1, "one 32-bit integer; the sum wraps, it never saturates"),
    LaneOp.EXPAND8: LaneShape(8, 8, 2, "eight 4-bit codes, widened to 8-bit lanes and added"),
    LaneOp.TABLE8: LaneShape(8, 8, 2, "eight 4-bit codes, looked up in the job's table of 16 bytes and added"),
    LaneOp.ADD8X4: LaneShape(8, 4, 1, "four 8-bit lanes, added"),
    LaneOp.OR: LaneShape(32, 1, 1, "32 bits, combined with OR"),
    LaneOp.MAX: LaneShape(32, 1, 1, "one unsigned 32-bit integer; the larger one stays"),
}
