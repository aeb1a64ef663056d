# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Shards of a vector in a reduce-scatter: each worker gets the sum of its own one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lanesum._internal import arrays
from lanesum.aggregation.combine import Words
from lanesum.codecs.base import Codec, CodecContext, Result, Round, RoundPieces, Steps, Vector, always, round_in_pieces
from lanesum.protocol.lanes import LaneOp

# Shards of fewer blocks are summed as an all-reduce: the last block of a shard is padded.
_MIN_BLOCKS = 8


@dataclass(frozen=True)
class Shards:
    """Equal shards of a vector, one for each worker, each padded with zeros to whole blocks.

    So no block, and no norm or scale of one, has values of two shards.

    Attributes:
        count: number of shards.
        own: number of this worker's shard.
        size: values of a shard.
        padded: the same with its padding.
    """

    count: int
    own: int
    size: int
    padded: int

    @classmethod
    def of(cls, size: int, block: int, context: CodecContext) -> Shards | None:
        """Return the shards of a vector of ``size`` values; None if it is to be summed as an all-reduce."""
        each = size // context.workers
        if not context.scattered or not context.complete or each < _MIN_BLOCKS * block:
            return None
        return cls(context.workers, context.worker, each, -(-each // block) * block)

    def pad(self, vector: Vector) -> Vector:
        """Return the vector with padded shards; itself where they need no padding."""
        if self.padded == self.size:
            return vector
        padded = arrays.empty(self.count * self.padded, np.float32).reshape(self.count, self.padded)
        padded[:, : self.size] = vector.reshape(self.count, self.size)
        padded[:, self.size :] = 0
        return padded.reshape(-1)

    def unpad(self, vector: Vector) -> Vector:
        """Return a vector of padded shards without their padding."""
        return np.ascontiguousarray(vector.reshape(self.count, self.padded)[:, : self.size]).reshape(-1)


def scattered_round(
    context: CodecContext,
    op: LaneOp,
    words: Words,
    label: str,
    pieces: RoundPieces,
    overlap: Callable[[], object] | None,
) -> Round:
    """Return the last round of a reduce-scatter. ``pieces`` encode a part of each shard, and decode that of the own."""
    return replace(round_in_pieces(context, op, words, label, pieces, overlap, always), scattered=True)


def own_shard(result: Result, context: CodecContext) -> Result:
    """Return the result of an all-reduce with the values of this worker's shard alone."""
    each = len(result.values) // context.workers
    return replace(result, values=result.values[context.worker * each : (context.worker + 1) * each])


def steps_of(codec: Codec, x: Vector, context: CodecContext) -> Steps:
    """Return the steps of a codec, as an all-reduce where it cannot scatter."""
    if not context.scattered or codec.traits.scatters:
        return codec.all_reduce(x, context)
    return as_all_reduce(codec, x, context)


def as_all_reduce(codec: Codec, x: Any, context: CodecContext) -> Steps:
    """Sum the whole vector, and return the values of this worker's shard."""
    result: Result = yield from codec.all_reduce(x, replace(context, scattered=False))
    return own_shard(result, context)
