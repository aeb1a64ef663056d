# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Aggregates of completed rounds, for codecs and for the observer of a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Aggregate, Codec, Members, Round
from lanesum.protocol.lanes import LaneOp
from lanesum.transport import JobTicket


@dataclass(frozen=True, slots=True)
class ObservedRound:
    """A completed round: this worker's words and the result.

    Attributes:
        aggregate: the result as the codec gets it: accumulator words, and the number of contributors of each.
        contributors: uint32 bitmaps of the contributors, shape ``(packets, racks)``; one column with one level.
    """

    codec: Codec
    round: Round
    aggregate: Aggregate
    contributors: NDArray[np.uint32]

    @property
    def words(self) -> NDArray[np.uint32]:
        """The accumulator words."""
        return self.aggregate.words


RoundObserver = Callable[[ObservedRound], None]


def make_aggregate(
    ticket: JobTicket, op: LaneOp, words: NDArray[np.uint32], contributors: NDArray[np.uint32]
) -> Aggregate:
    """Return the accumulator ``words`` of a round with their contributors.

    Args:
        ticket: names the workers of the job and their racks.
        contributors: uint32 bitmaps, shape ``(packets, racks)``.

    Returns:
        An aggregate with one number of contributors where every packet contains all workers, which is always so
        without a quorum. Otherwise it has one number for each word, and the members of each sum.
    """
    if not ticket.quorum or (contributors == np.array(ticket.rack_members, np.uint32)).all():
        return Aggregate(words, ticket.workers)
    bitmaps, set_of_packet = np.unique(contributors, axis=0, return_inverse=True)
    places = np.array(ticket.places or [(0, worker) for worker in range(ticket.workers)], np.uint32)
    sets = (bitmaps[:, places[:, 0]] >> places[:, 1] & np.uint32(1)).astype(np.bool_)
    set_of_word = np.repeat(set_of_packet.reshape(-1), ticket.data_words(op))[: words.size]
    counts = sets.sum(axis=1, dtype=np.int64)[set_of_word]
    return Aggregate(words, counts, sets[set_of_word, ticket.worker], Members(sets, set_of_word))
