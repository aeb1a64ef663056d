# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the sparse codecs: fixed point with one unit per tensor, sent only where some worker has a nonzero value.

After Li et al., "Accelerating Distributed Deep Learning using Lossless Homomorphic Compression" (2024): the network
adds sketches and ORs indices without decoding either. Differences from the published code:

- Values are integers that wrap, so peeling gives their exact sums.
- The index, which all workers have, decides alone which keys cannot be peeled. Another round sums those.
- Hashes are fresh in every round.
- Nothing is estimated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecContext, CodecError, Result, RoundShape, Steps, Vector, is_tensor
from lanesum.codecs.checks import checked_vector
from lanesum.codecs.fixed import INT32_MAX, FixedPoint
from lanesum.codecs.sparse.all_reduce import SparseOutcome, SparseReduction
from lanesum.codecs.sparse.hashing import MAX_KEYS
from lanesum.codecs.sparse.plan import (
    BLOCKS,
    DENSE_BLOCK,
    HEADER_WORDS,
    Placement,
    SparseMethod,
    SparsePlan,
    dense_plan,
    first_plan,
    plan_for,
)
from lanesum.codecs.sparse.tensor_stats import TensorStats, TensorStatsTable, nonzero_counts
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import WORD_BITS, LaneOp

_PLACEMENTS = ("best", "uniform", "coupled")


@dataclass(frozen=True, slots=True)
class Choice:
    """Plan of the next all-reduce of a tensor, and the reason in a sentence."""

    plan: SparsePlan
    why: str


class SparseCodec:
    """Base of ``sketch``, ``union`` and ``auto``, which differ in the methods that a plan chooses from.

    Error of the mean: at most half a unit, plus half a unit in the last place of the float32 result. The unit is a
    power of two. The largest magnitude M of all workers is between ``peak / 64`` and ``peak`` units (``union``: more
    than ``peak / 2``), with ``peak = (2**31 - 1) // workers``. So integers, and all multiples of the unit, are summed
    exactly. Sums of the cells of a sketch may wrap; sums of a coordinate cannot.

    The codec keeps the last unions and magnitudes of each tensor name and size, which are the same on all workers. Use
    one object for each worker, and keep its ``state_dict`` in checkpoints. All workers must be in every sum: jobs with
    a quorum are refused.
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
    _methods: tuple[SparseMethod, ...] = ()

    def __init__(
        self, *, workers: int, block: int | None = None, placement: Placement = "best", round_trip_words: int = 0
    ) -> None:
        if not 1 <= workers <= INT32_MAX:
            raise ConfigurationError(f"Invalid workers={workers} for codec {self.name}: expected an integer from 1.")
        if block is not None and block not in BLOCKS:
            raise ConfigurationError(
                f"Invalid block={block} for codec {self.name}: expected one of {', '.join(map(str, BLOCKS))}."
            )
        if placement not in _PLACEMENTS:
            raise ConfigurationError(
                f"Invalid placement={placement!r} for codec {self.name}: expected one of {', '.join(_PLACEMENTS)}."
            )
        self.workers = workers
        self.block = block
        self.placement: Placement = placement
        #: Largest integer of a worker's value.
        self.peak = INT32_MAX // workers
        self._round_trip_words = round_trip_words
        self._dense = FixedPoint(workers=workers, block=DENSE_BLOCK, power_of_two=True)
        self._stats = TensorStatsTable()

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
        """Return the choice for the next all-reduce of ``tensor``, of ``size`` values; the same on all workers."""
        stats = self._stats.of(tensor, size)
        if self._dense.gathers(size):
            return Choice(dense_plan(size), "dense: so few values are gathered in one round trip.")
        plan = self._plan(stats, size)
        expected = stats.expected()
        if expected is None:
            return Choice(plan, "union: the tensor has no past sums, so a bitmap of the union is sent first.")
        costs = [f"dense {_bits(dense_plan(size), size)}"]
        for method in self._methods:
            other = plan_for(size, expected, [method], placement=self.placement, block=self.block)
            if other.method is method:
                trips = "1 round trip" if other.round_trips == 1 else f"{other.round_trips} round trips"
                costs.append(f"{method.value} {_bits(other, size)} in blocks of {other.block} and {trips}")
        if stats.exponent(self.peak) is None:
            costs.append("a sketch requires the magnitude of past values")
        share = 100 * expected[0] / size
        why = f"{share:.3g} % of its values are expected not to be zero everywhere. Bits per value: {'; '.join(costs)}."
        return Choice(plan, f"{plan.method.value}: {why}")

    def forget(self, tensor: str | None = None) -> None:
        """Drop the history of ``tensor``, or of all tensors. All workers must do so at the same point."""
        self._stats.forget(tensor)

    def state_dict(self) -> dict[str, Any]:
        """Return the history for a checkpoint: lists, numbers and strings, the same on all workers."""
        return {"codec": self.name, "tensors": self._stats.state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the state by a ``state_dict`` of this codec.

        Raises CodecError, changing nothing, if it is invalid.
        """
        if state.get("codec") != self.name or not isinstance(state.get("tensors"), list):
            raise CodecError(f"This is not a state of codec {self.name!r}.", "Load a state_dict of this codec.")
        self._stats.load(state["tensors"])

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`.

        A group of rounds: ``scale`` (MAX: largest magnitude, check of the plan), ``index`` (OR) and, with a sketch,
        ``cells`` (ADD32). A round ``values`` follows without a sketch, if the unit of the sketch does not fit, or if
        keys cannot be peeled. Or, where that is cheaper, the rounds of ``fixed``.
        """
        if is_tensor(x):
            return (yield from self._on_device(x, context))
        vector = checked_vector(x, context, self.workers)
        if vector.size == 0:
            return Result(vector.copy(), vector.copy() if context.keep_residual else None)
        planned = self.planned_blocks(context, vector.size)
        if planned is not None:
            return (yield from self.by_blocks(SparseReduction, vector, vector.size, *planned, context))
        result: Result = yield from self._dense.all_reduce(vector, context)
        if not (context.complete and self._dense.gathers(vector.size)):
            stats = self._stats.of(context.tensor, vector.size)
            stats.add(nonzero_counts(result.values), None)
            self._stats.keep(context.tensor, vector.size, stats)
        return result

    def _on_device(self, x: Any, context: CodecContext) -> Steps:
        # PyTorch is installed: x is its tensor.
        from lanesum.codecs.sparse.device import DeviceReduction
        from lanesum.codecs.tensors import checked_tensor, codec_accepts, copy_and_make_steps

        tensor = checked_tensor(x, context, self.workers)
        planned = self.planned_blocks(context, tensor.numel())
        if planned is None or not codec_accepts(self, tensor.device):
            return (yield from copy_and_make_steps(self, tensor, context))
        return (yield from self.by_blocks(DeviceReduction, tensor, tensor.numel(), *planned, context))

    def planned_blocks(self, context: CodecContext, size: int) -> tuple[TensorStats, SparsePlan] | None:
        """Return history and plan of the next all-reduce of ``context.tensor``, of ``size`` values.

        None if the vector is sent dense.
        """
        if not size or (context.complete and self._dense.gathers(size)):
            return None
        stats = self._stats.of(context.tensor, size)
        plan = self._plan(stats, size)
        return None if plan.method is SparseMethod.DENSE else (stats, plan)

    def by_blocks(
        self,
        reduction: type[SparseReduction],
        vector: Any,
        size: int,
        stats: TensorStats,
        plan: SparsePlan,
        context: CodecContext,
    ) -> Steps:
        """Sum ``vector``, of ``size`` values, by ``plan``. ``reduction``: for its device."""
        if size > plan.block * MAX_KEYS:
            raise CodecError(
                f"{size:,} values are more than {MAX_KEYS:,} blocks of {plan.block}, the number of keys.",
                "Reduce the tensor in pieces, or build the codec with a longer block.",
            )
        outcome: SparseOutcome = yield from reduction(
            vector, context, plan, stats.exponent(self.peak), self.peak
        ).steps()
        stats.add(outcome.counts, outcome.magnitude)
        self._stats.keep(context.tensor, size, stats)
        return outcome.result

    def _plan(self, stats: TensorStats, size: int) -> SparsePlan:
        expected = stats.expected()
        if expected is None:
            return first_plan(size, self.block)
        # A sketch requires a unit.
        methods = self._methods if stats.exponent(self.peak) is not None else (SparseMethod.UNION,)
        return plan_for(
            size, expected, methods, placement=self.placement, block=self.block, round_trip_words=self._round_trip_words
        )


def _bits(plan: SparsePlan, size: int) -> str:
    return f"{plan.words * WORD_BITS / size:.3g}"
