# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Lane operations: what a switch does with the 32-bit words of a contribution.

A *lane* is the fixed-width integer that belongs to one coordinate. Narrow lanes are packed into 32-bit accumulator
words; the host keeps ``largest lane value x workers`` below ``2 ** lane_bits``, so that a plain 32-bit addition never
carries from one lane into the next.

What a worker sends are *codes*, often narrower than lanes. A *group* is the least number of uplink words that becomes
whole accumulator words: the codes of a packet, of a round and of every piece of it fill whole groups.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from lanesum.errors import ConfigurationError

WORD_BITS = 32


class LaneOp(enum.IntEnum):
    """The operation code in the packet header."""

    ADD32 = 0
    EXPAND8 = 1
    TABLE8 = 2
    ADD8X4 = 3
    OR = 4
    MAX = 5
    EXPAND16 = 6
    EXPAND8TO16 = 7
    EXPAND3TO8 = 8
    EXPAND5TO8 = 9

    @property
    def shape(self) -> LaneShape:
        return LANE_SHAPES[self]


@dataclass(frozen=True, slots=True)
class LaneShape:
    """How uplink words relate to accumulator words.

    Attributes:
        code_bits: width of one code in the uplink words.
        lane_bits: width of one lane in the accumulator words.
        planes: each uplink word of a group is one bit of all its codes, the least significant bits first. Otherwise
            the bits of a code lie side by side in one word.
        description: for the docs.
    """

    code_bits: int
    lane_bits: int
    planes: bool
    description: str

    @property
    def uplink_words_per_group(self) -> int:
        return self.code_bits if self.planes else 1

    @property
    def accumulator_words_per_group(self) -> int:
        return self.lane_bits if self.planes else self.lane_bits // self.code_bits

    @property
    def lanes_per_accumulator_word(self) -> int:
        return WORD_BITS // self.lane_bits

    @property
    def codes_per_group(self) -> int:
        return self.lanes_per_accumulator_word * self.accumulator_words_per_group

    @property
    def widens(self) -> bool:
        """What is sent is not yet what is summed."""
        return self.code_bits != self.lane_bits

    @property
    def shift(self) -> int:
        """Bits by which an uplink word moves to the right from one accumulator word of its group to the next."""
        return 1 if self.planes else self.code_bits

    @property
    def mask(self) -> int:
        """The bits of a shifted uplink word that belong to an accumulator word, at the low end of each lane."""
        bits = (1 << self.shift) - 1
        return sum(bits << lane for lane in range(0, WORD_BITS, self.lane_bits))

    def fills(self, accumulator_words: int) -> bool:
        """So many accumulator words are whole groups: a packet of that size can carry the operation."""
        return accumulator_words % self.accumulator_words_per_group == 0

    def uplink_words(self, accumulator_words: int) -> int:
        """Uplink words of the whole groups that ``accumulator_words`` hold."""
        return accumulator_words // self.accumulator_words_per_group * self.uplink_words_per_group

    def accumulator_words(self, uplink_words: int) -> int:
        """Accumulator words that the whole groups in ``uplink_words`` become."""
        return uplink_words // self.uplink_words_per_group * self.accumulator_words_per_group


def check_carried(whose: str, ops: Iterable[LaneOp], accumulator_words: int) -> None:
    """Raises ConfigurationError for an operation that packets of so many accumulator words cannot carry.

    ``whose`` begins the message: what the operations are for.
    """
    for op in ops:
        if not op.shape.fills(accumulator_words):
            group = op.shape.accumulator_words_per_group
            raise ConfigurationError(
                f"{whose}: {op.name} sums whole groups of {group} words, which do not fill packets of "
                f"{accumulator_words}.",
                f"Choose a multiple of {group} accumulator words, or leave {op.name} out.",
            )


def carried_by(accumulator_words: int) -> tuple[LaneOp, ...]:
    """The operations that packets of so many accumulator words can carry."""
    return tuple(op for op in LaneOp if op.shape.fills(accumulator_words))


LANE_SHAPES = {
    LaneOp.ADD32: LaneShape(32, 32, False, "one 32-bit integer; the sum wraps, it never saturates"),
    LaneOp.EXPAND8: LaneShape(4, 8, False, "eight 4-bit codes, widened to 8-bit lanes and added"),
    LaneOp.TABLE8: LaneShape(4, 8, False, "eight 4-bit codes, looked up in the job's table of 16 bytes and added"),
    LaneOp.ADD8X4: LaneShape(8, 8, False, "four 8-bit lanes, added"),
    LaneOp.OR: LaneShape(32, 32, False, "32 bits, combined with OR"),
    LaneOp.MAX: LaneShape(32, 32, False, "one unsigned 32-bit integer; the larger one stays"),
    LaneOp.EXPAND16: LaneShape(4, 16, False, "eight 4-bit codes, widened to 16-bit lanes and added"),
    LaneOp.EXPAND8TO16: LaneShape(8, 16, False, "four 8-bit codes, widened to 16-bit lanes and added"),
    LaneOp.EXPAND3TO8: LaneShape(
        3, 8, True, "32 codes of 3 bits as three bit planes, widened to 8-bit lanes and added"
    ),
    LaneOp.EXPAND5TO8: LaneShape(5, 8, True, "32 codes of 5 bits as five bit planes, widened to 8-bit lanes and added"),
}
