# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rounds in pieces: one piece is encoded while another is in flight and a third is decoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lanesum.aggregation.combine import Words
from lanesum.protocol.lanes import LaneShape


class RoundPieces:
    """Callbacks of a codec for the pieces of a round; each piece is encoded and decoded once, in order.

    Args:
        encode: writes the uplink words of a piece, by number, into the words of the round.
        decode: uses the accumulator words of a piece, by number; they are the sum over all workers.
        uplink_ends: number of uplink words up to the end of each piece.
        shape: shape of the operation; every piece ends with a whole group.

    Attributes:
        encoded: number of encoded pieces.
        decoded: number of decoded pieces.
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
        """Encode the next piece; return the number of uplink words encoded so far."""
        number = self.encoded
        self._encode(number)
        self.encoded = number + 1
        return self._ends[number]

    def encode_all(self) -> None:
        """Encode all remaining pieces."""
        while self.encoded < len(self):
            self.encode_next()

    @property
    def needed(self) -> int:
        """Accumulator words up to the end of the next piece to decode; there must be one."""
        return self._result_ends[self.decoded]

    def decode_up_to(self, available: int, words: Words) -> None:
        """Decode all pieces within the first ``available`` of the round's accumulator ``words``."""
        while self.decoded < len(self) and self.needed <= available:
            number = self.decoded
            begin = self._result_ends[number - 1] if number else 0
            self._decode(number, words[begin : self.needed])
            self.decoded = number + 1
