# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One all-reduce of a sparse codec, by a plan that is not dense.

Work that does not need the values is done while they are in flight. The index arrives first: it determines the keys,
and the order in which their sketch is peeled.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lanesum._internal import arrays
from lanesum.codecs.base import (
    CodecContext,
    CodecError,
    Result,
    Round,
    RoundGroup,
    RoundPieces,
    RoundShape,
    UnencodableError,
    Vector,
    Words,
    always,
    round_in_pieces,
)
from lanesum.codecs.checks import refuse_not_finite, summed
from lanesum.codecs.kernels.dispatch import chosen
from lanesum.codecs.kernels.interface import Floats
from lanesum.codecs.kernels.reference import INFINITY_BITS
from lanesum.codecs.sparse import reference
from lanesum.codecs.sparse.hashing import Cells, Keys, round_seed
from lanesum.codecs.sparse.plan import BLOCKS, SparseMethod, SparsePlan
from lanesum.codecs.sparse.tensor_stats import exponent_for, suits, union_counts
from lanesum.protocol.lanes import WORD_BITS, LaneOp


class SketchKernels(NamedTuple):
    """Kernels of the sparse codecs; :mod:`lanesum.codecs.sparse.reference` documents them and their arguments."""

    nonzero_blocks: Callable[[Floats, int, Keys], tuple[int, int]]
    gather_integers: Callable[[Floats, Keys, int, int, int, Words], None]
    insert: Callable[[Words, Keys, int, int, Cells, Words], None]
    peeling_order: Callable[[Keys, int, Cells, Keys], tuple[Any, int]]
    peel: Callable[[Words, Any, int, Words], None]
    scatter_floats: Callable[[Words, Keys, int, int, int, Floats], None]
    count_blocks: Callable[[Words, Keys, int, NDArray[np.int64]], None]
    set_bits: Callable[[Keys, Words], None]
    keys_of_bits: Callable[[Words, Keys], int]
    fill_filter: Callable[[Keys, int, int, Words], None]
    keys_of_filter: Callable[[Words, int, int, Keys], int]


_REFERENCE = SketchKernels(*(getattr(reference, name) for name in SketchKernels._fields))


def sketch_kernels() -> SketchKernels:
    """Return the kernels to use; see :func:`lanesum.codecs.kernels.dispatch.chosen`."""
    return chosen(_REFERENCE, "SketchKernels")


_SKETCH, _FILTER = 0, 1
# Words of values that are encoded and decoded at once.
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class SparseOutcome:
    """Result of an all-reduce, ``counts`` of its union, and its largest ``magnitude``."""

    result: Result
    counts: tuple[int, ...]
    magnitude: float


Outcomes: TypeAlias = Generator[Round | RoundGroup, Any, SparseOutcome]


class SparseReduction:
    """All-reduce of one vector, which is not empty.

    ``exponent``: of the expected unit, where the plan has a sketch. ``peak``: largest integer of a worker's value.
    Raises UnencodableError if a value is not finite.

    :class:`lanesum.codecs.sparse.device.DeviceReduction` has the same rounds, index and keys. It overrides the methods
    that handle values: ``_scan``, and those after ``_encode_cells``.
    """

    def __init__(
        self, vector: Vector, context: CodecContext, plan: SparsePlan, exponent: int | None, peak: int
    ) -> None:
        self._vector, self._size = vector, math.prod(vector.shape)
        self._context, self._plan, self._peak = context, plan, peak
        self._expected = exponent if plan.method is SparseMethod.SKETCH else None
        self._work = sketch_kernels()
        self._sketch_seed, self._filter_seed = (
            round_seed(context.seed, context.round, use) for use in (_SKETCH, _FILTER)
        )
        self._own, self._largest = self._scan()
        if context.not_finite:
            self._largest = INFINITY_BITS
        self._index = np.zeros(plan.index_words, np.uint32)
        self._cells = self._new_cells(0 if self._expected is None else plan.cells.count * plan.block)
        self._keys = self._missing = np.empty(0, np.uint32)
        self._order: Any = None
        self._magnitude: float | None = None
        self._values: Any = None
        self._residual: tuple[int, Any] | None = None

    @property
    def _blocks(self) -> int:
        return -(-self._size // self._plan.block)

    def steps(self) -> Outcomes:
        """Yield the rounds; see :meth:`lanesum.codecs.sparse.engine.SparseCodec.all_reduce`."""
        context, block = self._context, self._plan.block
        header = _header(self._largest, self._plan, self._expected, self._size)
        index = RoundPieces(self._encode_index, self._decode_index, [self._index.size], LaneOp.OR.shape)
        rounds = [
            Round(LaneOp.MAX, header, label="scale"),
            round_in_pieces(context, LaneOp.OR, self._index, "index", index),
        ]
        if self._expected is not None:
            scale = RoundPieces(_nothing, self._decode_scale, [header.size], LaneOp.MAX.shape)
            rounds[0] = round_in_pieces(context, LaneOp.MAX, header, "scale", scale)
            cells = RoundPieces(self._encode_cells, _nothing, [self._cells.size], LaneOp.ADD32.shape)
            overlap = partial(self._prepare, self._expected)
            rounds.append(
                round_in_pieces(context, LaneOp.ADD32, self._cells, "cells", cells, overlap, self._is_readable)
            )
        replies = yield RoundGroup(tuple(rounds))
        shapes = (RoundShape(round_.op, round_.words.size) for round_ in rounds)
        aggregates = [summed(reply, shape, context) for reply, shape in zip(replies, shapes, strict=True)]
        magnitude = _checked_magnitude(aggregates[0], header, context)
        if not index.decoded:
            self._decode_index(0, aggregates[1])

        exponent = self._expected
        sums: Any = None
        if exponent is not None and suits(exponent, magnitude, self._peak):
            sums = self._read(aggregates[2])
            self._scatter(sums, self._keys, exponent)
        else:
            exponent = exponent_for(magnitude, self._peak)
            self._missing = np.arange(self._keys.size, dtype=np.uint32)
        if self._missing.size or sums is None:
            missing = self._keys[self._missing]
            words: Any = np.empty(0, np.uint32)
            if missing.size:
                values = self._value_pieces(missing, exponent)
                reply = yield values
                words = summed(reply, RoundShape(LaneOp.ADD32, values.words.size), context)
                if values.pieces is None or values.pieces.decoded < len(values.pieces):
                    self._scatter(words, missing, exponent)
            sums = self._with_missing(sums, words)

        self._prepare(exponent)
        union = _keys_inside(aggregates[1], self._plan, self._keys.size, self._blocks)
        counts = union_counts(self._count(sums), self._size, block, union)
        residual = self._residual[1] if self._residual is not None else None
        return SparseOutcome(Result(self._values, residual), counts, magnitude)

    def _is_readable(self) -> bool:
        """Return True if index and scale show that the cells contain all values."""
        if self._order is None or self._magnitude is None or self._missing.size:
            return False
        assert self._expected is not None
        return suits(self._expected, self._magnitude, self._peak)

    def _decode_scale(self, _: int, words: Words) -> None:
        self._magnitude = float(words[:1].view(np.float32)[0])

    def _encode_index(self, _: int) -> None:
        if self._plan.hashes:
            self._work.fill_filter(self._own, self._filter_seed, self._plan.hashes, self._index)
        else:
            self._work.set_bits(self._own, self._index)

    def _decode_index(self, _: int, index: Words) -> None:
        """Find all keys, and the order in which they are peeled."""
        keys = np.empty(self._blocks, np.uint32)
        if self._plan.hashes:
            count = self._work.keys_of_filter(index, self._filter_seed, self._plan.hashes, keys)
        else:
            count = self._work.keys_of_bits(index, keys)
        self._keys = keys[:count].copy()
        if self._expected is not None:
            self._find_order()

    def _scan(self) -> tuple[Keys, int]:
        """Return the keys of this worker's blocks, and the bits of the largest magnitude."""
        keys = np.empty(self._blocks, np.uint32)
        count, largest = self._work.nonzero_blocks(self._vector, self._plan.block, keys)
        if largest >= INFINITY_BITS:
            refuse_not_finite(self._vector, self._context)
        return keys[:count].copy(), largest

    def _new_cells(self, words: int) -> Words:
        return np.zeros(words, np.uint32)

    def _find_order(self) -> None:
        missing = np.empty_like(self._keys)
        self._order, left = self._work.peeling_order(self._keys, self._sketch_seed, self._plan.cells, missing)
        self._missing = missing[:left]

    def _encode_cells(self, _: int) -> None:
        assert self._expected is not None
        integers = np.empty(self._own.size * self._plan.block, np.uint32)
        self._gather(self._own, self._expected, integers)
        self._work.insert(integers, self._own, self._plan.block, self._sketch_seed, self._plan.cells, self._cells)

    def _value_pieces(self, keys: Keys, exponent: int) -> Round:
        """Return the round ``values`` of ``keys``."""
        block = self._plan.block
        words = np.empty(keys.size * block, np.uint32)
        parts = list(_parts(keys.size, max(1, _PIECE // block)))

        def encode(number: int) -> None:
            of = parts[number]
            self._gather(keys[of], exponent, words[of.start * block : of.stop * block])

        def decode(number: int, sums: Words) -> None:
            self._scatter(sums, keys[parts[number]], exponent)

        pieces = RoundPieces(encode, decode, [of.stop * block for of in parts], LaneOp.ADD32.shape)
        prepare = partial(self._prepare, exponent)
        return round_in_pieces(self._context, LaneOp.ADD32, words, "values", pieces, prepare, always)

    def _prepare(self, exponent: int) -> None:
        """Prepare the arrays of values and residual, which do not depend on sums."""
        if self._values is None:
            # Written now, so that the pages of new memory are mapped before the sums arrive.
            self._values = arrays.empty(self._vector.size, np.float32)
            self._values.fill(0)
        if self._context.keep_residual and (self._residual is None or self._residual[0] != exponent):
            block = self._plan.block
            integers = np.empty(self._own.size * block, np.uint32)
            self._gather(self._own, exponent, integers)
            decoded = np.zeros_like(self._vector)
            self._work.scatter_floats(integers, self._own, block, exponent, 1, decoded)
            self._residual = exponent, np.subtract(self._vector, decoded, out=decoded)

    def _read(self, cells: Words) -> Any:
        """Return the sums of all keys from a sketch, with 0 for keys that cannot be peeled."""
        sums = np.empty(self._keys.size * self._plan.block, np.uint32)
        self._work.peel(sums, self._order, self._plan.block, cells)
        return sums

    def _with_missing(self, sums: Any, words: Words) -> Any:
        """Return the sums of all keys, from those of the sketch, if any, and the words of the round ``values``."""
        if sums is None:
            return words
        sums.reshape(-1, self._plan.block)[self._missing] = words.reshape(-1, self._plan.block)
        return sums

    def _count(self, sums: Any) -> list[int]:
        seen = np.empty(len(BLOCKS), np.int64)
        self._work.count_blocks(sums, self._keys, self._plan.block, seen)
        return seen.tolist()

    def _gather(self, keys: Keys, exponent: int, integers: Words) -> None:
        self._work.gather_integers(self._vector, keys, self._plan.block, exponent, self._peak, integers)

    def _scatter(self, sums: Words, keys: Keys, exponent: int) -> None:
        self._prepare(exponent)
        self._work.scatter_floats(sums, keys, self._plan.block, exponent, self._context.divisor, self._values)


def _nothing(*_: Any) -> None:
    """Part of a round without work."""


def _parts(size: int, step: int) -> Iterator[slice]:
    for start in range(0, size, step):
        yield slice(start, min(size, start + step))


def _header(largest: int, plan: SparsePlan, exponent: int | None, size: int) -> Words:
    """Return the words of the scale round.

    The maximum of the checks and the maximum of their complements belong to one check exactly if all plans are equal.
    """
    check = zlib.crc32(repr((plan, exponent, size)).encode())
    return np.array([largest, check, check ^ 0xFFFFFFFF], np.uint32)


def _checked_magnitude(words: Words, header: Words, context: CodecContext) -> float:
    if not (words[1:] == header[1:]).all():
        raise CodecError(
            f"The workers have different histories of tensor {context.tensor!r}.",
            "Load the same checkpoint on all of them, or none, and reduce the same tensors in the same order.",
        )
    if words[0] >= INFINITY_BITS:
        raise UnencodableError(f"Tensor {context.tensor!r} is not finite at some worker.")
    return float(words[:1].view(np.float32)[0])


def _keys_inside(index: Words, plan: SparsePlan, found: int, blocks: int) -> int:
    """Return about how many of the ``found`` keys of an index are in the union: without false positives of a filter."""
    if not plan.hashes:
        return found
    share = (int(np.bitwise_count(index).sum()) / (index.size * WORD_BITS)) ** plan.hashes
    return found if share >= 1 else max(0, min(found, math.ceil((found - share * blocks) / (1 - share))))
