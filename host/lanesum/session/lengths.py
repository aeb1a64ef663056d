# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of the vectors' lengths between workers, in spare words of an all-reduce's first round.

Codecs pad. Vectors of different lengths may become equally many words, which the aggregation point cannot tell apart.
So every worker appends the length of its vector to the first round of the first group that has room for it, and
compares the results. In place of its length, a worker whose vector is not finite sends a mark.

A vector may have a description, which must equal those of the other workers that have one. Its checksum follows the
length; without a description, zeros do, so that the rounds are as long.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Codec, Round, UnencodableError, Words
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import MAX_RACKS, MAX_WORKERS
from lanesum.transport import JobTicket
from lanesum.transport.errors import MismatchError, RoundSize

_WORD_RANGE = 1 << 32
# A mark is this word minus the worker's number; no vector has so many values.
_MARK = _WORD_RANGE - 1
_FIRST_MARK = _WORD_RANGE - MAX_WORKERS * MAX_RACKS


@dataclass(frozen=True, slots=True)
class AppendedLengths:
    """Words with vector lengths and checksums of descriptions at the end of a round.

    Attributes:
        size: number of values of this worker's vector.
        num_lengths: number of appended words with lengths; 0 where the round's own number of words shows it.
        num_checksums: number of words with checksums, behind the lengths.
        description: of this worker's vector; empty if none was given.
    """

    size: int
    num_lengths: int
    num_checksums: int
    description: str = ""

    @property
    def num_words(self) -> int:
        """Number of words appended to the round's own."""
        return self.num_lengths + self.num_checksums

    def check(self, ticket: JobTicket, op: LaneOp, words: NDArray[np.uint32]) -> None:
        """Check the appended ``words`` of the result.

        Raises MismatchError if they contain a length or a description other than this worker's, UnencodableError if
        they contain a mark.
        """
        found = _values(op, words[: self.num_lengths])
        marks = {one for one in found if one >= _FIRST_MARK}
        sizes = {self.size % _WORD_RANGE, *found} - marks
        if len(sizes) > 1:
            raise MismatchError(
                f"Job {ticket.label}: the workers reduce vectors of {min(sizes):,} to {max(sizes):,} values; worker "
                f"{ticket.worker} itself has {self.size:,}.",
                "All workers must reduce arrays of the same size, in the same order.",
                None,
                RoundSize(op, min(sizes)),
                RoundSize(op, max(sizes)),
            )
        self._check_descriptions(ticket, op, words[self.num_lengths :])
        if marks:
            raise UnencodableError(f"Job {ticket.label}: a vector of worker {_MARK - max(marks)} is not finite.")

    def _check_descriptions(self, ticket: JobTicket, op: LaneOp, words: NDArray[np.uint32]) -> None:
        """Check the checksums. Raises MismatchError if two workers have different descriptions."""
        if not words.any():
            return
        if len({_checksum(self.description), *_values(op, words)} - {0}) > 1:
            size = RoundSize(op, self.size)
            raise MismatchError(
                f"Job {ticket.label}: the workers reduce different tensors of {self.size:,} values; worker "
                f"{ticket.worker} itself has {self.description or 'no description'}.",
                "All workers must reduce tensors of the same shape and data type, with the same operation, in the "
                "same order.",
                None,
                size,
                size,
            )


def _checksum(description: str) -> int:
    """Return a word other than 0 for a description; 0 for none."""
    return (zlib.crc32(description.encode()) or 1) if description else 0


def _values(op: LaneOp, words: Words) -> set[int]:
    """Return the values that the workers have appended; of a MAX round, the largest and the smallest."""
    if op is not LaneOp.MAX:
        return set(words.tolist())
    largest, inverse_of_smallest = words.tolist()
    return {largest, ~inverse_of_smallest % _WORD_RANGE}


def append_lengths(
    codec: Codec, size: int, round_: Round, ticket: JobTicket, *, not_finite: bool = False, description: str = ""
) -> tuple[Words, AppendedLengths | None]:
    """Return the words of an all-reduce's round, with the length of its vector behind them if they have room.

    Args:
        round_: the round; one in pieces, on this or another worker, has no room.
        not_finite: this worker's vector is not finite.
        description: of the vector; empty for none.
    """
    length = _MARK - ticket.worker if not_finite else size
    checksum = _checksum(description)
    if round_.divisible:
        return round_.words, None
    if round_.op is LaneOp.MAX:
        # The maximum of the complements is the complement of the minimum. The words mostly fit into the padding.
        # Checksums of 0 are in no maximum.
        values = [length, ~length, checksum, ~checksum if checksum else 0]
        appended, num_lengths = np.array(values, np.int64).astype(np.uint32), 2
    elif round_.op is LaneOp.ADD32 and (codec.traits.packs_values or not ticket.quorum):
        own = [length % _WORD_RANGE, checksum] if codec.traits.packs_values else [checksum]
        table = np.zeros((len(own), ticket.workers), np.uint32)
        table[:, ticket.worker] = own
        appended, num_lengths = table.reshape(-1), (len(own) - 1) * ticket.workers
    else:
        return round_.words, None
    lengths = AppendedLengths(size, num_lengths, appended.size - num_lengths, description)
    return np.concatenate((round_.words, appended)), lengths
