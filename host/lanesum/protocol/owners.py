# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Owners of the chunks of scattered and gathered rounds, and whose packets have words (docs/protocol.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.lanes import LaneOp, certified_data_words
from lanesum.protocol.spec import (
    CERTIFIED,
    FIRST_OWNER,
    GATHERED,
    MAX_NAMED_OWNERS,
    MAX_ROUND_WORDS,
    SCATTERED,
    TURN_CHUNKS,
)


@dataclass(frozen=True, slots=True)
class Turns:
    """Order of the chunks of a round: its ``shards`` of equally many ``chunks`` take turns of ``TURN_CHUNKS``.

    The last turns are shorter where ``chunks`` is no multiple of them.
    """

    shards: int
    chunks: int

    @classmethod
    def of_round(cls, op: LaneOp, round_size: int, accumulator_words: int, workers: int) -> Turns:
        """Return the order of a round that is scattered or gathered, as its packets describe it."""
        words = certified_data_words(op, accumulator_words, workers) if round_size & CERTIFIED else accumulator_words
        shard_words = (round_size & MAX_ROUND_WORDS) // workers
        return cls(workers, max(1, -(-shard_words // max(1, op.shape.uplink_words(words)))))

    def place(self, chunk: int) -> tuple[int, int]:
        """Return the shard of a chunk of the round, and the number of the chunk in it."""
        turn, rest = divmod(chunk, TURN_CHUNKS * self.shards)
        first = turn * TURN_CHUNKS
        shard, index = divmod(rest, min(TURN_CHUNKS, max(1, self.chunks - first)))
        return shard % self.shards, first + index  # there may be such packets behind the end of a round

    def numbers(self) -> NDArray[np.int64]:
        """Return the chunks of each shard, of shape ``(shards, chunks)``."""
        index = np.arange(self.chunks)
        first = index // TURN_CHUNKS * TURN_CHUNKS
        length = np.minimum(TURN_CHUNKS, self.chunks - first)
        return first * self.shards + np.arange(self.shards)[:, None] * length + index - first

    def whole(self, chunks: int) -> int:
        """Return the number of leading chunks of the round that are among the first ``chunks`` of each shard."""
        whole_turns = self.shards == 1 or chunks >= self.chunks
        return self.shards * (chunks if whole_turns else chunks // TURN_CHUNKS * TURN_CHUNKS)

    def needed(self, chunks: int) -> int:
        """Return the number of leading chunks of the round that contain the first ``chunks`` of each shard."""
        whole = -(-chunks // TURN_CHUNKS) * TURN_CHUNKS if self.shards > 1 else chunks
        return self.shards * min(self.chunks, whole)


def owner_of(chunk: int, round_size: int, turns: Turns) -> int | None:
    """Return the worker that a chunk belongs to, by number; None if it belongs to all workers."""
    return turns.place(chunk)[0] if round_size & (SCATTERED | GATHERED) else None


def owner_mark(owner: int | None, round_size: int) -> int:
    """Return the value of ``spare`` that names the owner of a chunk of a scattered round; 0 names none."""
    return FIRST_OWNER + owner if round_size & SCATTERED and owner is not None and owner < MAX_NAMED_OWNERS else 0


def sends_words(worker: int, owner: int | None, round_size: int) -> bool:
    """Return True if the contribution of a worker has words: in a gathered round, that of the chunk's owner alone."""
    return owner == worker or not round_size & GATHERED


def gets_words(worker: int, owner: int | None, round_size: int) -> bool:
    """Return True if the result of a chunk has words for a worker.

    In a scattered round its owner alone gets them. In a gathered one the owner alone has them already, but checks them
    if the round is certified.
    """
    if round_size & GATHERED:
        return owner != worker or bool(round_size & CERTIFIED)
    return owner is None or owner == worker
