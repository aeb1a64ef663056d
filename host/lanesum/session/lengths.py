# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of the vectors' lengths between workers, in spare words of an all-reduce's first round.

Codecs pad. Vectors of different lengths may become equally many words, which the aggregation point cannot tell apart.
So every worker appends the length of its vector to the first round of the first group that has room for it, and
compares the results. In place of its length, a worker whose vector is not finite sends a mark.

A vector may have a description that must be equal on all workers. Its checksum follows the length.
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
    """Words with vector lengths at the end of a round.

    Attributes:
        size: number of values of this worker's vector.
        num_words: number of words appended to the round's own.
        description: of this worker's vector; empty if none was given.
    """

    size: int
    num_words: int
    description: str = ""

    def check(self, ticket: JobTicket, op: LaneOp, words: NDArray[np.uint32]) -> None:
        """Check the appended ``words`` of the result.

        Raises MismatchError if they contain a length other than this worker's, UnencodableError if they contain a mark.
        """
        lengths, checksums = np.split(words, [words.size // 2] if self.description else [words.size])
        found = _values(op, lengths)
        marks = {one for one in found if one >= _FIRST_MARK}
        sizes = {self.size % _WORD_RANGE, *found} - marks
        if len(sizes) == 1:
            if self.description and _values(op, checksums) != {zlib.crc32(self.description.encode())}:
                size = RoundSize(op, self.size)
                raise MismatchError(
                    f"Job {ticket.job}: the workers reduce different tensors of {self.size:,} values; worker "
                    f"{ticket.worker} itself has {self.description}.",
                    "All workers must reduce tensors of the same shape and data type, with the same operation, in the "
                    "same order.",
                    None,
                    size,
                    size,
                )
            if marks:
                raise UnencodableError(f"Job {ticket.job}: a vector of worker {_MARK - max(marks)} is not finite.")
            return
        raise MismatchError(
            f"Job {ticket.job}: the workers reduce vectors of {min(sizes):,} to {max(sizes):,} values; worker "
            f"{ticket.worker} itself has {self.size:,}.",
            "All workers must reduce tensors of the same sizes in the same order.",
            None,
            RoundSize(LaneOp.MAX, max(sizes)),
            RoundSize(LaneOp.MAX, min(sizes)),
        )


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
        codec: the codec that made the round.
        size: number of values of the vector.
        round_: the round; one in pieces has no room.
        ticket: the job's.
        not_finite: this worker's vector is not finite.
        description: of the vector, equal on all workers; empty for none, on all workers.
    """
    mark = _MARK - ticket.worker if not_finite else size
    if round_.pieces is not None:
        return round_.words, None
    values = [mark, size]
    if description:
        values += [zlib.crc32(description.encode())] * 2
    if round_.op is LaneOp.MAX:
        # The maximum of the complements is the complement of the minimum. The words mostly fit into the padding.
        values[1::2] = [~value for value in values[1::2]]
        appended = np.array(values, np.int64).astype(np.uint32)
    elif round_.op is LaneOp.ADD32 and (codec.traits.packs_values or (description and not ticket.quorum)):
        own = np.array(values[::2], np.int64).astype(np.uint32)
        appended = np.zeros((own.size, ticket.workers), np.uint32)
        appended[:, ticket.worker] = own
    else:
        return round_.words, None
    return np.concatenate((round_.words, appended.reshape(-1))), AppendedLengths(size, appended.size, description)
