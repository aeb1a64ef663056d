# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of a sparse tensor on the wire for each method, and the cheapest plan.

A plan depends only on data of past aggregates, so all workers compute the same plan without communication.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lanesum.codecs.sparse.hashing import GROUP, Cells
from lanesum.protocol.lanes import WORD_BITS

#: Block lengths that a plan chooses from.
BLOCKS = tuple(1 << level for level in range(11))
#: Words of the scale round: the largest magnitude, and two words that check the plan (see ``all_reduce.py``).
HEADER_WORDS = 3
#: Values that share a scale word in the dense codec.
DENSE_BLOCK = 1024

Placement = Literal["best", "uniform", "coupled"]

# Cells per key at the threshold of peeling with three cells, 1 / 0.818 and 1 / 0.918 (Walzer), and the surplus of small
# sketches: measured, so that about one sketch in a hundred has keys that cannot be peeled.
_UNIFORM, _UNIFORM_SPREAD, _UNIFORM_MIN = 1.2226, 2.0, 32
_COUPLED, _COUPLED_SPREAD = 1.125, 16.0
# Limit of the false-positive rate of a filter.
_MAX_FALSE_SHARE = 0.5
_MAX_HASHES = 24
# Minimum saving of a sparse method against the dense one. Less does not pay for the work, and may be gone next time.
_MIN_SAVING = 1 / 16


class SparseMethod(enum.Enum):
    """Method of sending a tensor."""

    DENSE = "dense"
    UNION = "union"
    SKETCH = "sketch"


@dataclass(frozen=True, slots=True)
class SparsePlan:
    """Plan of one all-reduce.

    Attributes:
        method: dense fixed point; index of the union, then its values; or index and sketch at once.
        block: values of a block.
        hashes: bits of a key in the Bloom filter; 0 if the index is a bitmap.
        round_trips: number of round trips, if all keys of a sketch can be peeled and the scale fits.
        value_words: expected words of the values, or words of the sketch.
    """

    method: SparseMethod
    block: int = 1
    index_words: int = 0
    hashes: int = 0
    cells: Cells = field(default_factory=lambda: Cells(0))
    round_trips: int = 2
    value_words: int = 0

    @property
    def words(self) -> int:
        """Expected uplink words of a worker, which are also its downlink words."""
        return self.value_words + (0 if self.method is SparseMethod.DENSE else HEADER_WORDS + self.index_words)


def cells_for(keys: int, placement: Placement) -> Cells:
    """Return the smallest sketch from which ``keys`` keys can nearly always be peeled.

    ``placement``: see :class:`lanesum.codecs.sparse.hashing.Cells`; ``"best"`` is the smaller one.
    """
    root = math.sqrt(keys)
    uniform = Cells(math.ceil(_UNIFORM * keys + _UNIFORM_SPREAD * root) + _UNIFORM_MIN)
    if placement == "uniform":
        return uniform
    # Segment length of Graf and Lemire, "Binary Fuse Filters" (2022), which are peeled in the same way.
    segment = 1 << max(2, math.floor(math.log(max(keys, 2)) / math.log(3.33) + 1.25))
    wanted = _COUPLED * keys + _COUPLED_SPREAD * root + _UNIFORM_MIN
    coupled = Cells(max(3, math.ceil(wanted / segment)) * segment, segment)
    return coupled if placement == "coupled" or coupled.count < uniform.count else uniform


def false_share(bits: int, hashes: int, keys: float) -> float:
    """Return the false-positive rate of a Bloom filter of ``bits`` bits with ``keys`` keys."""
    return float((1 - math.exp(-hashes * keys / bits)) ** hashes)


def plan_for(
    size: int,
    counts: Sequence[int],
    methods: Iterable[SparseMethod],
    *,
    placement: Placement = "best",
    block: int | None = None,
    round_trip_words: int = 0,
) -> SparsePlan:
    """Return the plan with the least cost for a vector of ``size`` values.

    The cost is the number of words plus ``round_trip_words`` per round trip. ``counts``: expected number of nonzero
    blocks for each length of ``BLOCKS``. ``block``: None for the best of ``BLOCKS``. The dense plan is always compared,
    with a small advantage.
    """
    best = dense_plan(size)
    cost = (best.words + best.round_trips * round_trip_words) * (1 - _MIN_SAVING)
    for method in methods:
        if method is SparseMethod.DENSE:
            continue
        for length, keys in zip(BLOCKS, counts, strict=True):
            if block not in (None, length):
                continue
            plan = _sparse_plan(method, size, length, keys, placement)
            plan_cost = plan.words + plan.round_trips * round_trip_words
            if plan_cost < cost:
                best, cost = plan, plan_cost
    return best


def dense_plan(size: int) -> SparsePlan:
    """Return the plan of dense fixed point."""
    return SparsePlan(SparseMethod.DENSE, value_words=size + -(-size // DENSE_BLOCK))


def first_plan(size: int, block: int | None = None) -> SparsePlan:
    """Return the plan of a tensor without past sums: a bitmap of the union, and at most all values."""
    length = 1 if block is None else block
    blocks = -(-size // length)
    return SparsePlan(SparseMethod.UNION, length, -(-blocks // WORD_BITS), value_words=size)


def _sparse_plan(method: SparseMethod, size: int, block: int, keys: int, placement: Placement) -> SparsePlan:
    blocks = -(-size // block)
    bitmap = -(-blocks // WORD_BITS)
    best = _with_index(method, block, bitmap, 0, keys, placement)
    per_key = block * WORD_BITS * (1.25 if method is SparseMethod.SKETCH else 1.0)
    absent = blocks - keys
    if keys and absent:
        # At this rate one more bit of the filter costs as much as it saves in values of false positives.
        share = min(_MAX_FALSE_SHARE, 1 / math.log(2) ** 2 * keys / (per_key * absent))
        hashes = max(1, min(_MAX_HASHES, round(-math.log2(share))))
        words = math.ceil(-keys * math.log(share) / math.log(2) ** 2 / GROUP) * GROUP // WORD_BITS
        taken = keys + math.ceil(absent * false_share(words * WORD_BITS, hashes, keys))
        if words < bitmap:
            filtered = _with_index(method, block, words, hashes, taken, placement)
            best = min(best, filtered, key=lambda plan: plan.words)
    return best


def _with_index(
    method: SparseMethod, block: int, index_words: int, hashes: int, keys: int, placement: Placement
) -> SparsePlan:
    if method is SparseMethod.UNION:
        return SparsePlan(method, block, index_words, hashes, value_words=keys * block)
    cells = cells_for(keys, placement)
    return SparsePlan(method, block, index_words, hashes, cells, 1, cells.count * block)
