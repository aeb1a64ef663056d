# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What a sparse tensor costs on the wire, method by method, and the cheapest plan.

A plan is computed from numbers that all workers have in common (what earlier sums showed, never what one worker knows),
so all workers have the same one without a word about it.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lanesum.codecs.sparse.hashing import GROUP, Cells

WORD_BITS = 32
#: Lengths of blocks that a plan chooses from.
BLOCKS = tuple(1 << level for level in range(11))
#: Words of the round with the largest magnitude: it, and a check of the plan (see ``sketch.py``).
HEADER_WORDS = 3
#: Values that share a scale in the dense codec, which sends a word for them.
DENSE_BLOCK = 1024

Placement = Literal["best", "uniform", "coupled"]

# Cells per key at the threshold of peeling with three cells, 1 / 0.818 and 1 / 0.918 (Walzer), and how much more small
# sketches need: measured, so that about one sketch in a hundred leaves keys over.
_UNIFORM, _UNIFORM_SPREAD, _UNIFORM_LEAST = 1.2226, 2.0, 32
_COUPLED, _COUPLED_SPREAD = 1.125, 16.0
# A key has so many false positives at most beside it that the filter is worth its while.
_MOST_FALSE_SHARE = 0.5
_MOST_HASHES = 24
# What a sparse method has to save of the dense one's cost: less is not worth the work, and may be gone the next time.
_LEAST_SAVING = 1 / 16


class Method(enum.Enum):
    """How a tensor is sent."""

    DENSE = "dense"
    UNION = "union"
    SKETCH = "sketch"


@dataclass(frozen=True, slots=True)
class Plan:
    """How one all-reduce goes, up to what its values turn out to be.

    Attributes:
        method: dense fixed point; the union's index and then its values; or index and sketch at once.
        block: values of a block.
        index_words: of the index.
        hashes: bits that a key has in a Bloom filter; 0 where the index is a bitmap.
        cells: of the sketch.
        round_trips: in which the rounds come, unless a sketch leaves keys over or a scale does not fit.
        value_words: expected words of values, or those of the sketch.
    """

    method: Method
    block: int = 1
    index_words: int = 0
    hashes: int = 0
    cells: Cells = field(default_factory=lambda: Cells(0))
    round_trips: int = 2
    value_words: int = 0

    @property
    def words(self) -> int:
        """Expected words that a worker sends, and gets."""
        return self.value_words + (0 if self.method is Method.DENSE else HEADER_WORDS + self.index_words)


def cells_for(keys: int, placement: Placement) -> Cells:
    """The smallest sketch from which ``keys`` keys can nearly always be read.

    ``placement``: see :class:`lanesum.codecs.sparse.hashing.Cells`; ``"best"`` is the smaller one.
    """
    root = math.sqrt(keys)
    uniform = Cells(math.ceil(_UNIFORM * keys + _UNIFORM_SPREAD * root) + _UNIFORM_LEAST)
    if placement == "uniform":
        return uniform
    # Length of a segment as in Graf and Lemire, "Binary Fuse Filters" (2022), whose sets are read in the same way.
    segment = 1 << max(2, math.floor(math.log(max(keys, 2)) / math.log(3.33) + 1.25))
    wanted = _COUPLED * keys + _COUPLED_SPREAD * root + _UNIFORM_LEAST
    coupled = Cells(max(3, math.ceil(wanted / segment)) * segment, segment)
    return coupled if placement == "coupled" or coupled.count < uniform.count else uniform


def false_share(bits: int, hashes: int, keys: float) -> float:
    """Share of keys outside that a Bloom filter of ``bits`` with ``keys`` keys takes for its own."""
    return float((1 - math.exp(-hashes * keys / bits)) ** hashes)


def plan_for(
    size: int,
    counts: Sequence[int],
    methods: Iterable[Method],
    *,
    placement: Placement = "best",
    block: int | None = None,
    round_trip_words: int = 0,
) -> Plan:
    """The plan with the least cost for a vector of ``size`` values, in words plus ``round_trip_words`` per round trip.

    ``counts``: for each of ``BLOCKS``, the blocks that are expected not to be zero at some worker. ``block``: None for
    the best of ``BLOCKS``. Dense is always among what is compared, with a little advantage.
    """
    best = dense_plan(size)
    cost = (best.words + best.round_trips * round_trip_words) * (1 - _LEAST_SAVING)
    for method in methods:
        if method is Method.DENSE:
            continue
        for length, keys in zip(BLOCKS, counts, strict=True):
            if block not in (None, length):
                continue
            plan = _sparse_plan(method, size, length, keys, placement)
            plan_cost = plan.words + plan.round_trips * round_trip_words
            if plan_cost < cost:
                best, cost = plan, plan_cost
    return best


def dense_plan(size: int) -> Plan:
    """Fixed point."""
    return Plan(Method.DENSE, value_words=size + -(-size // DENSE_BLOCK))


def first_plan(size: int, block: int | None = None) -> Plan:
    """For a tensor of which nothing is known: a bitmap tells all. Its values are as many as there are, at most."""
    length = 1 if block is None else block
    blocks = -(-size // length)
    return Plan(Method.UNION, length, -(-blocks // WORD_BITS), value_words=size)


def _sparse_plan(method: Method, size: int, block: int, keys: int, placement: Placement) -> Plan:
    blocks = -(-size // block)
    bitmap = -(-blocks // WORD_BITS)
    best = _with_index(method, block, bitmap, 0, keys, placement)
    per_key = block * WORD_BITS * (1.25 if method is Method.SKETCH else 1.0)
    absent = blocks - keys
    if keys and absent:
        # Where one more bit in the filter costs as much as it saves in values of false positives.
        share = min(_MOST_FALSE_SHARE, 1 / math.log(2) ** 2 * keys / (per_key * absent))
        hashes = max(1, min(_MOST_HASHES, round(-math.log2(share))))
        words = math.ceil(-keys * math.log(share) / math.log(2) ** 2 / GROUP) * GROUP // WORD_BITS
        taken = keys + math.ceil(absent * false_share(words * WORD_BITS, hashes, keys))
        if words < bitmap:
            filtered = _with_index(method, block, words, hashes, taken, placement)
            best = min(best, filtered, key=lambda plan: plan.words)
    return best


def _with_index(method: Method, block: int, index_words: int, hashes: int, keys: int, placement: Placement) -> Plan:
    if method is Method.UNION:
        return Plan(method, block, index_words, hashes, value_words=keys * block)
    cells = cells_for(keys, placement)
    return Plan(method, block, index_words, hashes, cells, 1, cells.count * block)
