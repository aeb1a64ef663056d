# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Lane operations: how an aggregation point combines the 32-bit words of contributions.

A *lane* is the fixed-width integer of one coordinate. Narrow lanes are packed into 32-bit accumulator words. The host
keeps ``largest lane value x workers`` below ``2 ** lane_bits``, so that a 32-bit addition never carries from one lane
into the next.

Workers send *codes*, which are often narrower than lanes. A *group* is the smallest number of uplink words that becomes
whole accumulator words. The codes of a packet and of a round fill whole groups.

``LaneOp`` is the one table of operations. The P4 constants and macros, the C++ table, both servers, the embedded switch
and the tables of the docs follow from it; docs/extending/lane-operation.md lists what else a new operation needs.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from lanesum.errors import ConfigurationError

WORD_BITS = 32


class Combine(enum.IntEnum):
    """Combination of the accumulator words of two contributions."""

    ADD = 0
    OR = 1
    MAX = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneShape:
    """Layout of uplink words and accumulator words, and how they combine.

    Attributes:
        code_bits: width of one code in the uplink words.
        lane_bits: width of one lane in the accumulator words.
        planes: each uplink word of a group is a bit plane: one bit of all its codes, the least significant bits first.
            Otherwise the bits of a code are adjacent in one word.
        combine: how accumulator words combine.
        lookup: codes are replaced by entries of the job's code table before they are combined.
    """

    code_bits: int
    lane_bits: int
    planes: bool = False
    combine: Combine = Combine.ADD
    lookup: bool = False
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
        """Codes are narrower than lanes, so uplink words are widened before they are combined."""
        return self.code_bits != self.lane_bits

    @property
    def max_exact_contributions(self) -> int:
        """Number of contributions up to which no lane overflows, whatever their codes are."""
        code_bits = self.lane_bits if self.lookup else self.code_bits
        return ((1 << self.lane_bits) - 1) // ((1 << code_bits) - 1)

    @property
    def shift(self) -> int:
        """Bits that an uplink word is shifted to the right from one accumulator word of its group to the next."""
        return 1 if self.planes else self.code_bits

    @property
    def mask(self) -> int:
        """Bits of a shifted uplink word that belong to an accumulator word, at the low end of each lane."""
        bits = (1 << self.shift) - 1
        return sum(bits << lane for lane in range(0, WORD_BITS, self.lane_bits))

    def fills(self, accumulator_words: int) -> bool:
        """Return True if ``accumulator_words`` are whole groups, so that packets of this size can carry it."""
        return accumulator_words % self.accumulator_words_per_group == 0

    def uplink_words(self, accumulator_words: int) -> int:
        """Return the uplink words of the whole groups in ``accumulator_words``."""
        return accumulator_words // self.accumulator_words_per_group * self.uplink_words_per_group

    def accumulator_words(self, uplink_words: int) -> int:
        """Return the accumulator words of the whole groups in ``uplink_words``."""
        return uplink_words // self.uplink_words_per_group * self.accumulator_words_per_group


class LaneOp(enum.IntEnum):
    """Operation code in the packet header, with the shape of the operation."""

    shape: LaneShape

    def __new__(cls, code: int, shape: LaneShape | None = None) -> LaneOp:
        """Return a member whose value is ``code`` alone."""
        assert shape is not None  # the default is for type checkers: they take the lookup LaneOp(code) for this call
        member = int.__new__(cls, code)
        member._value_ = code
        member.shape = shape
        return member

    ADD32 = (
        0,
        LaneShape(code_bits=32, lane_bits=32, description="one 32-bit integer; the sum wraps, it never saturates"),
    )
    EXPAND8 = 1, LaneShape(code_bits=4, lane_bits=8, description="eight 4-bit codes, widened to 8-bit lanes and added")
    TABLE8 = (
        2,
        LaneShape(
            code_bits=4,
            lane_bits=8,
            lookup=True,
            description="eight 4-bit codes, looked up in the job's table of 16 bytes and added",
        ),
    )
    ADD8X4 = 3, LaneShape(code_bits=8, lane_bits=8, description="four 8-bit lanes, added")
    OR = 4, LaneShape(code_bits=32, lane_bits=32, combine=Combine.OR, description="32 bits, combined with OR")
    MAX = (
        5,
        LaneShape(
            code_bits=32,
            lane_bits=32,
            combine=Combine.MAX,
            description="one unsigned 32-bit integer; the larger one stays",
        ),
    )
    EXPAND16 = (
        6,
        LaneShape(code_bits=4, lane_bits=16, description="eight 4-bit codes, widened to 16-bit lanes and added"),
    )
    EXPAND8TO16 = (
        7,
        LaneShape(code_bits=8, lane_bits=16, description="four 8-bit codes, widened to 16-bit lanes and added"),
    )
    EXPAND3TO8 = (
        8,
        LaneShape(
            code_bits=3,
            lane_bits=8,
            planes=True,
            description="32 codes of 3 bits as three bit planes, widened to 8-bit lanes and added",
        ),
    )
    EXPAND5TO8 = (
        9,
        LaneShape(
            code_bits=5,
            lane_bits=8,
            planes=True,
            description="32 codes of 5 bits as five bit planes, widened to 8-bit lanes and added",
        ),
    )

    @property
    def p4_action(self) -> str:
        """Action of a P4 program without which the switch does not aggregate the operation."""
        return self.name.lower() if self.shape.widens else f"{self.shape.combine.name.lower()}_words"


def check_carried(whose: str, ops: Iterable[LaneOp], accumulator_words: int) -> None:
    """Raise ConfigurationError for an operation that packets of ``accumulator_words`` cannot carry.

    ``whose``: subject of the message, for example "Job ticket".
    """
    for op in ops:
        if not op.shape.fills(accumulator_words):
            group = op.shape.accumulator_words_per_group
            raise ConfigurationError(
                f"{whose}: {op.name} sums whole groups of {group} words, which do not fill packets of "
                f"{accumulator_words}.",
                f"Choose a multiple of {group} accumulator words, or leave {op.name} out.",
            )


def certified_data_words(op: LaneOp, accumulator_words: int, workers: int) -> int:
    """Return the accumulator words of data in a packet of a certified job; 0 if the operation cannot be certified.

    A sum gives up one group of words. ``OR`` and ``MAX`` carry all words twice, and a word of each worker. A code table
    is not linear.
    """
    shape = op.shape
    if shape.lookup:
        return 0
    if shape.combine is Combine.ADD:
        return accumulator_words - shape.accumulator_words_per_group
    return max(0, (accumulator_words - workers) // 2)


def check_certified(whose: str, ops: Iterable[LaneOp], accumulator_words: int, workers: int) -> None:
    """Raise ConfigurationError for an operation that a job of ``workers`` cannot certify; its opening needs ``OR``.

    ``whose``: subject of the message, for example "Job ticket".
    """
    for op in (*ops, LaneOp.OR):
        if not certified_data_words(op, accumulator_words, workers):
            why = (
                "it looks codes up in a table, so the check word of a sum is not the sum of check words"
                if op.shape.lookup
                else f"packets of {accumulator_words} words have no room for the check words of {workers} workers"
            )
            raise ConfigurationError(
                f"{whose}: {op.name} cannot be certified: {why}.",
                f"Leave {op.name} out of the job's operations, or admit the job without certified sums.",
            )


def carried_by(accumulator_words: int) -> tuple[LaneOp, ...]:
    """Return the operations that packets of ``accumulator_words`` can carry."""
    return tuple(op for op in LaneOp if op.shape.fills(accumulator_words))
