# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What the sparse codecs have in common: fixed point with one unit per tensor, sent only where some worker has a value.

After Li et al., "Accelerating Distributed Deep Learning using Lossless Homomorphic Compression" (2024): the network
adds sketches and ORs indices, and needs to know nothing of either. What differs from the published code: values are
integers that wrap, so peeling gives their exact sums; the index alone, which all workers have, decides which keys
cannot be peeled, and another round brings those; hashes are fresh in every round; nothing is ever estimated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecContext, CodecError, Result, RoundShape, Steps, Vector, checked_vector, is_tensor
from lanesum.codecs.fixed import INT32_MAX, FixedPoint
from lanesum.codecs.sparse.all_reduce import Outcome, SparseReduction
from lanesum.codecs.sparse.hashing import MOST_KEYS
from lanesum.codecs.sparse.plan import (
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
from lanesum.codecs.sparse.tensor_stats import Record, Records, nonzero_counts
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp

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
    # All workers: index and values of different contributors do not fit together. Device tensors: values stay on the
    # device; index and keys come to the host, and so does a vector that is sent dense.
    traits = CodecTraits(
        needs_all_workers=True,
        depends_on_past_sums=True,
        nearly_exact=True,
        max_nmse=1e-9,
        accepts_device_tensors=True,
        stateful=True,
    )
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
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        return f"{self.name} workers={self.workers} block={self.block} placement={self.placement}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the rounds of a tensor without past sums, all of whose values are nonzero; without a quorum.

        Later rounds depend on the last sums.
        """
        if size == 0 or self._dense.gathers(size):
            return self._dense.shapes(size)
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
        if is_tensor(x):
            from lanesum.gpu.sketch import all_reduce  # PyTorch is there, as its tensor is

            of_device: Result = yield from all_reduce(self, x, context)
            return of_device
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
            self._records.keep(context.tensor, vector.size, record)
            return result
        summed: Result = yield from self.by_blocks(SparseReduction, vector, vector.size, record, plan, context)
        return summed

    def planned_blocks(self, context: CodecContext, size: int) -> tuple[Record, Plan] | None:
        """What ``by_blocks`` asks for of the next all-reduce of so many values of ``context.tensor``; None where that
        is none by blocks, but sent dense."""
        if not size or (context.complete and self._dense.gathers(size)):
            return None
        record = self._records.of(context.tensor, size)
        plan = self._plan(record, size)
        return None if plan.method is Method.DENSE else (record, plan)

    def by_blocks(
        self,
        reduction: type[SparseReduction],
        vector: Any,
        size: int,
        record: Record,
        plan: Plan,
        context: CodecContext,
    ) -> Steps:
        """Sum ``vector``, of ``size`` values, as planned; ``reduction`` is for where it is."""
        if size > plan.block * MOST_KEYS:
            raise CodecError(
                f"{size:,} values are more than {MOST_KEYS:,} blocks of {plan.block}, which is how many have a key.",
                "Reduce the tensor in pieces, or build the codec with a longer block.",
            )
        outcome: Outcome = yield from reduction(vector, context, plan, record.exponent(self.peak), self.peak).steps()
        record.add(outcome.counts, outcome.magnitude)
        self._records.keep(context.tensor, size, record)
        return outcome.result

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


def _bits(plan: Plan, size: int) -> str:
    return f"{plan.words * WORD_BITS / size:.3g}"
