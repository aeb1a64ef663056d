# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A round in pieces, so that one piece can be made while another is on its way and a third is put to use."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lanesum.aggregation.combine import Words
from lanesum.protocol.lanes import LaneShape


class RoundPieces:
    """The codec's operations on each piece of a round; every piece is encoded and decoded once, in order.

    Args:
        encode: makes the uplink words of a piece, by number, in the round's own words.
        decode: uses the accumulator words of a piece, by number; they are all workers' sum.
        uplink_ends: uplink words of the round up to the end of each piece.
        shape: of the round's operation; every piece ends with a whole group.

    Attributes:
        encoded, decoded: how many pieces have been.
    """

    def __init__(
        self,
        encode: Callable[[int], None],
        decode: Callable[[int, Words], None],
        uplink_ends: Sequence[int],
        shape: LaneShape,
    ) -> None:
        self.encoded = 0
        self.decoded = 0
        self._encode = encode
        self._decode = decode
        self._ends = uplink_ends
        self._result_ends = [shape.accumulator_words(end) for end in uplink_ends]

    def __len__(self) -> int:
        return len(self._ends)

    def encode_next(self) -> int:
        """Make the next piece; returns the uplink words that are there now."""
        number = self.encoded
        self._encode(number)
        self.encoded = number + 1
        return self._ends[number]

    def encode_all(self) -> None:
        """Make what is left."""
        while self.encoded < len(self):
            self.encode_next()

    @property
    def needed(self) -> int:
        """Accumulator words up to the end of the next piece that is to be decoded; only while there is one."""
        return self._result_ends[self.decoded]

    def decode_up_to(self, there: int, words: Words) -> None:
        """Use all pieces that the first ``there`` of the round's accumulator ``words`` hold."""
        while self.decoded < len(self) and self.needed <= there:
            number = self.decoded
            begin = self._result_ends[number - 1] if number else 0
            self._decode(number, words[begin : self.needed])
            self.decoded = number + 1
