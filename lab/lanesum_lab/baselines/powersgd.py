# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``powersgd``: a gradient as a product of two thin matrices (Vogels et al., NeurIPS 2019), each of which is summed.

One step of the power method: P = M Q, summed and made orthonormal; then Q = M^T P, summed. The mean of M is about P
Q^T. Both products are linear in M, so their sums are those of the mean. They are summed by ``fixed``.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecContext, CodecError, Part, Result, RoundShape, Steps, UnencodableError, Vector
from lanesum.codecs.checks import NOTHING_SENT
from lanesum.codecs.error_feedback import checked_memory
from lanesum.codecs.fixed import FixedPoint
from lanesum.codecs.kernels.philox import RandomStream, random_words
from lanesum.codecs.kernels.reference import FLOAT32_MAX
from lanesum.codecs.parameter_state import parts_of
from lanesum.codecs.registry import register
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError
from lanesum_lab.codec_steps import checked_workers, finite_vector, followed, uniforms

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Square:
    """A parameter as a square matrix, padded with zeros to ``side**2`` values."""

    part: Part
    side: int


class PowerSGD:
    """Low-rank approximation of rank ``rank``.

    Each parameter is a square matrix, padded with zeros. It is not compressed if its factors have at least half as many
    values as it has. The second factor is the start of the next all-reduce of that parameter (warm start); it is the
    same on all workers. Use one object for each worker, error feedback, and ``state_dict`` in checkpoints.

    The residual is this worker's vector minus the *mean* of all, as published. Its mean over the workers is the error
    of the sum.

    Wire: the rounds of ``fixed`` for ``rank * side`` values and for parameters that are not compressed, then for
    ``rank * side`` values.
    """

    name = "powersgd"
    code_table: NDArray[np.uint8] | None = None
    # All workers: both factors must be sums over the same workers.
    traits = CodecTraits(needs_all_workers=True, depends_on_past_sums=True, stateful=True)

    def __init__(self, *, workers: int, rank: int = 1) -> None:
        if rank < 1:
            raise ConfigurationError(f"Invalid rank={rank} for codec powersgd: expected an integer from 1.")
        self.workers = checked_workers(self.name, workers)
        self.rank = rank
        # Gathering would save one round trip and send n times the bytes, which this scheme is to reduce.
        self.codec = FixedPoint(workers=workers, gathered=0)
        self._factors: dict[str, Vector] = {}

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        return f"{self.name} rank={self.rank} {self.codec.describe()}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the rounds of a vector that is one parameter without a name."""
        if size == 0:
            return ()
        compressed, rest = self._divide((Part("", 0, size),))
        factors = sum(one.side for one in compressed) * self.rank
        first = factors + sum(part.stop - part.start for part in rest)
        return *self.codec.shapes(first), *self.codec.shapes(factors)

    def _divide(self, parts: Sequence[Part]) -> tuple[list[_Square], list[Part]]:
        """Return the parameters that are compressed, and all others."""
        compressed, rest = [], []
        for part in parts:
            size = part.stop - part.start
            side = math.isqrt(max(0, size - 1)) + 1
            if 4 * self.rank * side < size:
                compressed.append(_Square(part, side))
            elif size:
                rest.append(part)
        return compressed, rest

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`: the rounds of ``fixed``, twice."""
        vector = finite_vector(x, context, self.workers)
        if vector.size == 0:
            return Result(vector.copy(), vector.copy() if context.keep_residual else None)
        compressed, rest = self._divide(parts_of(context, vector.size))
        for one in compressed:
            _refuse_large(vector[one.part.start : one.part.stop], one.part.key)
        inner = replace(context, average=True, keep_residual=False, parts=())
        matrices = [_matrix(vector, one) for one in compressed]
        starts = [self._start(one, context) for one in compressed]
        lefts = [(matrix @ start).reshape(-1) for matrix, start in zip(matrices, starts, strict=True)]
        sent = np.concatenate([*lefts, *(vector[part.start : part.stop] for part in rest)])
        left: Steps = self.codec.all_reduce(sent, inner)
        first: Result = yield from (followed(left) if compressed else left)
        values = np.empty_like(vector)
        start = sum(left.size for left in lefts)
        for part in rest:
            stop = start + part.stop - part.start
            values[part.start : part.stop] = first.values[start:stop]
            start = stop
        bases = [orthonormal(one) for one in _split(first.values, [left.size for left in lefts], self.rank)]
        factors: list[Matrix] = []
        if compressed:
            rights = [(matrix.T @ base).reshape(-1) for matrix, base in zip(matrices, bases, strict=True)]
            second: Result = yield from self.codec.all_reduce(np.concatenate(rights), inner)
            factors = _split(second.values, [right.size for right in rights], self.rank)
        for one, base, factor in zip(compressed, bases, factors, strict=True):
            values[one.part.start : one.part.stop] = _product(base, factor)[: one.part.stop - one.part.start]
        residual = vector - values if context.keep_residual else None
        for one, factor in zip(compressed, factors, strict=True):
            self._factors[one.part.key] = factor.reshape(-1).copy()
        if not context.average:
            values *= np.float32(context.workers)
        return Result(values, residual)

    def _start(self, square: _Square, context: CodecContext) -> Matrix:
        """Return the start of the power method: the last second factor, or random numbers that all workers share."""
        kept = self._factors.get(square.part.key)
        if kept is None:
            words = random_words(
                square.side * self.rank,
                seed=context.seed,
                stream=RandomStream.MATRIX,
                round=context.round,
                chunk=zlib.crc32(square.part.key.encode()),
            )
            kept = uniforms(words) - np.float32(0.5)
        elif kept.size != square.side * self.rank:
            raise CodecError(
                f"Parameter {square.part.key!r} has {square.side} columns, but its last factor has another shape.",
                "Load the state of the same model, or start without one.",
            )
        return orthonormal(kept.reshape(-1, self.rank))

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of the second factors, which are the same on all workers."""
        return {
            "codec": self.name, "rank": self.rank, "factors": {key: one.copy() for key, one in self._factors.items()}
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the state by a ``state_dict`` of this rank. Raises CodecError, changing nothing, if it is invalid."""
        if state.get("codec") != self.name or state.get("rank") != self.rank:
            raise CodecError(
                f"This is not a state of codec 'powersgd' of rank {self.rank}.",
                "Load a state_dict of the same codec and rank.",
            )
        self._factors = checked_memory(state.get("factors"))


def _refuse_large(values: Vector, key: str) -> None:
    """Raise UnencodableError if a product of ``values`` with orthonormal columns may exceed half the range of float32.

    The norm of the product is at most that of ``values``. The other half is for rounding.
    """
    limit = FLOAT32_MAX / 2
    if float(np.abs(values).max()) * math.sqrt(values.size) <= limit:
        return
    norm = math.sqrt(float(np.sum(np.square(values, dtype=np.float64))))
    if norm > limit:
        raise UnencodableError(
            f"The norm of parameter {key!r} is {norm:.3g}: its factors would exceed float32.",
            NOTHING_SENT,
        )


def orthonormal(matrix: Matrix) -> Matrix:
    """Return ``matrix`` (float32) with orthonormal columns, by Gram-Schmidt; dependent columns become zero.

    Products are added exactly and rounded once, so all workers have the same bits.
    """
    columns = [column.astype(np.float64) for column in matrix.T]
    largest = max((math.sqrt(_dot(one, one)) for one in columns), default=0.0)
    for number, column in enumerate(columns):
        norm = math.sqrt(_dot(column, column))
        column *= 1 / norm if norm > 1e-6 * largest else 0.0
        for other in columns[number + 1 :]:
            other -= _dot(column, other) * column
    return np.stack(columns, axis=1).astype(np.float32)


def _dot(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return math.fsum((a * b).tolist())


def _matrix(vector: Vector, square: _Square) -> Matrix:
    values = vector[square.part.start : square.part.stop]
    filled = np.zeros(square.side**2, np.float32)
    filled[: values.size] = values
    return filled.reshape(square.side, square.side)


def _split(values: Vector, sizes: Sequence[int], rank: int) -> list[Matrix]:
    bounds = np.cumsum([0, *sizes]).tolist()
    return [values[start:stop].reshape(-1, rank) for start, stop in itertools.pairwise(bounds)]


def _product(base: Matrix, factor: Matrix) -> Vector:
    """Return ``base @ factor.T``, flat, with additions in one order, so all workers have the same bits."""
    total = np.zeros((base.shape[0], factor.shape[0]))
    for left, right in zip(base.T.astype(np.float64), factor.T.astype(np.float64), strict=True):
        total += np.multiply.outer(left, right)
    return total.astype(np.float32).reshape(-1)


register("powersgd", PowerSGD)
