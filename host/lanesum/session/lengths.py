# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of the vectors' lengths between workers, in spare words of an all-reduce's first round.

Codecs pad. Vectors of different lengths may become equally many words, which the aggregation point cannot tell apart.
So every worker appends the length of its vector to the first round of the first group that has room for it, and
compares the results. In place of its length, a worker whose vector is not finite sends a mark.
"""

from __future__ import annotations

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
    """

    size: int
    num_words: int

    def check(self, ticket: JobTicket, op: LaneOp, words: NDArray[np.uint32]) -> None:
        """Check the appended ``words`` of the result.

        Raises MismatchError if they contain a length other than this worker's, UnencodableError if they contain a mark.
        """
        if op is LaneOp.MAX:
            largest, inverse_of_smallest = words.tolist()
            found = {largest, ~inverse_of_smallest % _WORD_RANGE}
        else:
            found = set(words.tolist())
        marks = {one for one in found if one >= _FIRST_MARK}
        sizes = {self.size % _WORD_RANGE, *found} - marks
        if len(sizes) == 1:
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


def append_lengths(
    codec: Codec, size: int, round_: Round, ticket: JobTicket, *, not_finite: bool = False
) -> tuple[Words, AppendedLengths | None]:
    """Return the words of an all-reduce's round, with the length of its vector behind them if they have room.

    Args:
        codec: the codec that made the round.
        size: number of values of the vector.
        round_: the round; one in pieces has no room.
        ticket: the job's.
        not_finite: this worker's vector is not finite.
    """
    mark = _MARK - ticket.worker if not_finite else size
    if round_.pieces is not None:
        return round_.words, None
    if round_.op is LaneOp.MAX:
        # The maximum of the complements is the complement of the minimum. The words mostly fit into the padding.
        lengths = np.array([mark, ~size], np.int64).astype(np.uint32)
    elif round_.op is LaneOp.ADD32 and codec.traits.packs_values:
        lengths = np.zeros(ticket.workers, np.uint32)
        lengths[ticket.worker] = mark % _WORD_RANGE
    else:
        return round_.words, None
    return np.concatenate((round_.words, lengths)), AppendedLengths(size, lengths.size)
