# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What the sparse codecs have in common: fixed point with one unit per tensor, sent only where some worker has a value.

After Li et al., "Accelerating Distributed Deep Learning using Lossless Homomorphic Compression" (2024): the network
adds sketches and ORs indices, and needs to know nothing of either. What differs from the published code: values are
integers that wrap, so peeling gives their exact sums; the index alone, which all workers have, decides which keys
cannot be peeled, and another round brings those; hashes are fresh in every round; nothing is ever estimated.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import (
    Aggregate,
    CodecContext,
    CodecError,
    Result,
    Round,
    RoundGroup,
    RoundShape,
    Steps,
    Vector,
    Words,
    checked_vector,
    checked_words,
    refuse_not_finite,
)
from lanesum.codecs.fixed import INT32_MAX, FixedPoint
from lanesum.codecs.sketch_hash import Keys, round_seed
from lanesum.codecs.sketch_kernels import sketch_kernels
from lanesum.codecs.sketch_plan import (
    BLOCKS,
    DENSE_BLOCK,
    HEADER_WORDS,
    WORD_BITS,
    Method,
    Placement,
    Plan,
    dense_plan,
    first_plan,
    plan_for,
)
from lanesum.codecs.sketch_records import Record, Records, exponent_for, nonzero_counts, suits, union_counts
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp

_INFINITY_BITS = 0x7F800000
_SKETCH, _FILTER = 0, 1
_PLACEMENTS = ("best", "uniform", "coupled")


@dataclass(frozen=True, slots=True)
class Choice:
    """How a tensor's next all-reduce goes, and ``why``, in a sentence."""

    plan: Plan
    why: str


class SparseCodec:
    """Base of ``sketch``, ``union`` and ``auto``: they differ in the methods that a plan chooses from.

    Error of the mean: at most half a unit, plus half a unit in the last place of the float32 result. The unit is a
    power of two; the largest magnitude M of all workers is between ``peak / 64`` and ``peak`` units (``union``: more
    than half of that), with ``peak = (2**31 - 1) // workers``. So whole numbers, and all multiples of the unit, are
    summed exactly. Sums of a sketch's cells may wrap, sums of a coordinate cannot.

    Of every tensor name and size the codec remembers the last unions and magnitudes, which are the same on all workers;
    use one object per worker, and ``state_dict`` in checkpoints. All workers must be in every sum: jobs with a quorum
    are refused.
    """

    name = ""
    code_table: NDArray[np.uint8] | None = None
    #: An index and values of different contributors do not fit together.
    needs_all_workers = True
    #: Rounds depend on the sums before: an all-reduce begins when those submitted before it have ended.
    remembers_sums = True
    #: Error feedback gains nothing.
    nearly_exact = True
    _methods: tuple[Method, ...] = ()

    def __init__(
        self, *, workers: int, block: int | None = None, placement: Placement = "best", round_trip_words: int = 0
    ) -> None:
        if not 1 <= workers <= INT32_MAX:
            raise ConfigurationError(f"{self.name} cannot serve {workers} workers.", "Give a number from 1.")
        if block is not None and block not in BLOCKS:
            raise ConfigurationError(f"A block of {block} values is none of {', '.join(map(str, BLOCKS))}.")
        if placement not in _PLACEMENTS:
            raise ConfigurationError(f"There is no {placement!r} placement.", f"Use one of {', '.join(_PLACEMENTS)}.")
        self.workers = workers
        self.block = block
        self.placement: Placement = placement
        #: Integer that no worker's value goes beyond.
        self.peak = INT32_MAX // workers
        self._round_trip_words = round_trip_words
        self._dense = FixedPoint(workers=workers, block=DENSE_BLOCK, power_of_two=True)
        self._records = Records()

    def describe(self) -> str:
        """See :func:`lanesum.codecs.description`."""
        return f"{self.name} workers={self.workers} block={self.block} placement={self.placement}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Rounds of a tensor of which nothing is known yet, and whose values are none of them zero at all workers.

        Later rounds depend on what the last sums were.
        """
        if size == 0:
            return ()
        index = RoundShape(LaneOp.OR, first_plan(size, self.block).index_words)
        return RoundShape(LaneOp.MAX, HEADER_WORDS), index, RoundShape(LaneOp.ADD32, size)

    def choice(self, tensor: str, size: int) -> Choice:
        """What the next all-reduce of ``tensor``, of ``size`` values, does; the same on all workers."""
        record = self._records.of(tensor, size)
        if self._dense.gathers(size):
            return Choice(dense_plan(size), "dense: so few values come as they are, in one round trip.")
        plan = self._plan(record, size)
        expected = record.expected()
        if expected is None:
            return Choice(plan, "Nothing is known of it yet: a bitmap tells the union, then its values are sent.")
        costs = [f"dense {_bits(dense_plan(size), size)}"]
        for method in self._methods:
            other = plan_for(size, expected, [method], placement=self.placement, block=self.block)
            if other.method is method:
                trips = "1 round trip" if other.round_trips == 1 else f"{other.round_trips} round trips"
                costs.append(f"{method.value} {_bits(other, size)} in blocks of {other.block} and {trips}")
        if record.exponent(self.peak) is None:
            costs.append("a sketch needs to know how large values are")
        share = 100 * expected[0] / size
        why = f"{share:.3g} % of its values are expected not to be zero everywhere. Bits per value: {'; '.join(costs)}."
        return Choice(plan, f"{plan.method.value}: {why}")

    def forget(self, tensor: str | None = None) -> None:
        """Drop what is known of ``tensor``, or of all; all workers must, at the same point."""
        self._records.forget(tensor)

    def state_dict(self) -> dict[str, Any]:
        """What is remembered, for a checkpoint: plain lists, numbers and strings. The same on all workers."""
        return {"codec": self.name, "tensors": self._records.state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back a ``state_dict``. Raises CodecError, changing nothing, if it is none of this codec."""
        if state.get("codec") != self.name or not isinstance(state.get("tensors"), list):
            raise CodecError(f"This is not a state of codec {self.name!r}.", "Load what its state_dict has returned.")
        self._records.load(state["tensors"])

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`.

        A group of rounds: ``scale`` (MAX: largest magnitude, check of the plan), ``index`` (OR) and, with a sketch,
        ``cells`` (ADD32). Then, where there was no sketch, where its unit does not suit the values, or where keys are
        left over, a round ``values``. Or, where that is cheaper, the rounds of ``fixed``.
        """
        vector = checked_vector(x, context, self.workers)
        if vector.size == 0:
            return Result(vector.copy(), vector.copy() if context.keep_residual else None)
        record = self._records.of(context.tensor, vector.size)
        if context.complete and self._dense.gathers(vector.size):
            gathered: Result = yield from self._dense.all_reduce(vector, context)
            return gathered
        plan = self._plan(record, vector.size)
        if plan.method is Method.DENSE:
            result: Result = yield from self._dense.all_reduce(vector, context)
            record.add(nonzero_counts(result.values), None)
        else:
            result = yield from self._sparse(vector, context, plan, record)
        self._records.keep(context.tensor, vector.size, record)
        return result

    def _plan(self, record: Record, size: int) -> Plan:
        expected = record.expected()
        if expected is None:
            return first_plan(size, self.block)
        # Without a unit there are no integers to put into a sketch.
        methods = self._methods if record.exponent(self.peak) is not None else (Method.UNION,)
        return plan_for(
            size,
            expected,
            methods,
            placement=self.placement,
            block=self.block,
            round_trip_words=self._round_trip_words,
        )

    def _sparse(self, vector: Vector, context: CodecContext, plan: Plan, record: Record) -> Steps:
        work, block, peak = sketch_kernels(), plan.block, self.peak
        keys = np.empty(-(-vector.size // block), np.uint32)
        count, largest = work.nonzero_blocks(vector, block, keys)
        if largest >= _INFINITY_BITS:
            refuse_not_finite(vector, context)
        own = keys[:count].copy()
        sketch_seed, filter_seed = (round_seed(context.seed, context.round, use) for use in (_SKETCH, _FILTER))
        index = np.zeros(plan.index_words, np.uint32)
        if plan.hashes:
            work.fill_filter(own, filter_seed, plan.hashes, index)
        else:
            work.set_bits(own, index)
        exponent = record.exponent(peak) if plan.method is Method.SKETCH else None
        header = _header(largest, plan, exponent)
        rounds = [Round(LaneOp.MAX, header, label="scale"), Round(LaneOp.OR, index, label="index")]
        if exponent is not None:
            integers = _integers(vector, own, block, exponent, peak)
            sketch = np.zeros(plan.cells.count * block, np.uint32)
            work.insert(integers, own, block, sketch_seed, plan.cells, sketch)
            rounds.append(Round(LaneOp.ADD32, sketch, label="cells"))
        replies = yield RoundGroup(tuple(rounds))
        aggregates = [_summed(reply, round_, context) for reply, round_ in zip(replies, rounds, strict=True)]
        magnitude = _checked_magnitude(aggregates[0], header, context)

        index = aggregates[1]
        if plan.hashes:
            count = work.keys_of_filter(index, filter_seed, plan.hashes, keys)
        else:
            count = work.keys_of_bits(index, keys)
        keys = keys[:count].copy()
        sums = np.zeros(keys.size * block, np.uint32)
        missing = np.arange(keys.size, dtype=np.uint32)
        if exponent is not None and suits(exponent, magnitude, peak):
            left = work.peel(sums, keys, block, sketch_seed, plan.cells, aggregates[2], missing)
            missing = missing[:left]
        else:
            exponent = exponent_for(magnitude, peak)
        if missing.size:
            words = _integers(vector, keys[missing], block, exponent, peak)
            round_ = Round(LaneOp.ADD32, words, label="values")
            reply = yield round_
            sums.reshape(-1, block)[missing] = _summed(reply, round_, context).reshape(-1, block)

        divisor = context.workers if context.average else 1
        values = np.zeros(vector.size, np.float32)
        _scatter(_floats(sums, exponent, divisor), keys, block, values)
        residual = self._residual(vector, own, block, exponent) if context.keep_residual else None
        union = _keys_inside(index, plan, keys.size, -(-vector.size // block))
        record.add(union_counts(values, block, union), magnitude)
        return Result(values, residual)

    def _residual(self, vector: Vector, own: Keys, block: int, exponent: int) -> Vector:
        said = np.zeros_like(vector)
        integers = _integers(vector, own, block, exponent, self.peak)
        _scatter(_floats(integers, exponent, 1), own, block, said)
        return np.subtract(vector, said, out=said)


def _header(largest: int, plan: Plan, exponent: int | None) -> Words:
    """The largest of the checks and of their complements are the same check exactly if all workers' plans are."""
    check = zlib.crc32(repr((plan, exponent)).encode())
    return np.array([largest, check, check ^ 0xFFFFFFFF], np.uint32)


def _checked_magnitude(words: Words, header: Words, context: CodecContext) -> float:
    if not (words[1:] == header[1:]).all():
        raise CodecError(
            f"The workers do not remember the same of tensor {context.tensor!r}.",
            "Load the same checkpoint on all of them, or none, and reduce the same tensors in the same order.",
        )
    if words[0] >= _INFINITY_BITS:
        raise CodecError("The aggregate of the scale round is not a non-negative float.")
    return float(words[:1].view(np.float32)[0])


def _summed(reply: Aggregate, round_: Round, context: CodecContext) -> Words:
    words = checked_words(reply, RoundShape(round_.op, round_.words.size))
    if np.any(np.asarray(reply.contributors) != context.workers):
        raise CodecError(
            f"Some of the {context.workers} workers are not in a sum: an index and values of different workers do not "
            "fit together.",
            "Use fixed or thc in jobs with a quorum.",
        )
    return words


def _integers(vector: Vector, keys: Keys, block: int, exponent: int, peak: int) -> Words:
    integers = np.empty(keys.size * block, np.uint32)
    sketch_kernels().gather_integers(vector, keys, block, exponent, peak, integers)
    return integers


def _floats(integers: Words, exponent: int, divisor: int) -> Vector:
    values = np.ldexp(integers.view(np.int32).astype(np.float64), exponent)
    values /= divisor
    # A sum (not a mean) can leave the range of float32; infinity is then its correct rounding.
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _scatter(values: Vector, keys: Keys, block: int, out: Vector) -> None:
    """The blocks of ``keys`` to their places."""
    whole = out.size // block
    inside = int(np.searchsorted(keys, whole))
    blocks = values.reshape(-1, block)
    out[: whole * block].reshape(whole, block)[keys[:inside]] = blocks[:inside]
    if inside < keys.size:
        out[whole * block :] = blocks[-1, : out.size - whole * block]


def _keys_inside(index: Words, plan: Plan, found: int, blocks: int) -> int:
    """How many keys are in an index in which ``found`` were found: without a filter's false positives, about."""
    if not plan.hashes:
        return found
    share = (int(np.bitwise_count(index).sum()) / (index.size * WORD_BITS)) ** plan.hashes
    return found if share >= 1 else max(0, min(found, math.ceil((found - share * blocks) / (1 - share))))


def _bits(plan: Plan, size: int) -> str:
    return f"{plan.words * WORD_BITS / size:.3g}"
