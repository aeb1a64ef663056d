# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Statistics of a tensor that sparse codecs keep between all-reduces: density of its sums, magnitude of its values.

All of them come from aggregates, so they are the same on all workers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecError
from lanesum.codecs.sparse.plan import BLOCKS

#: Number of past all-reduces. Their largest union and magnitude are the forecast for the next one.
HISTORY_LENGTH = 4
# A union this many times as large as any other one of the past is an exception, which the forecast leaves out.
_OUTLIER = 1.5
# The agreed unit fits values four times as large as the largest of the last ones. If the largest value is less than a
# 64th of that limit, another round with a smaller unit costs less than the lost precision.
_HEADROOM = 4.0
_MIN_SHARE = 1 / 64
# All float32 values are multiples of 2**-149, so a smaller unit adds no precision.
_MIN_EXPONENT = -149


@dataclass(slots=True)
class TensorStats:
    """Statistics of one tensor.

    Attributes:
        counts: of the last sums, oldest first: for each of ``BLOCKS``, the number of blocks with a nonzero value.
        magnitudes: largest magnitude of all workers in the last all-reduces that were not all zero.
    """

    counts: list[tuple[int, ...]] = field(default_factory=list)
    magnitudes: list[float] = field(default_factory=list)

    def expected(self) -> tuple[int, ...] | None:
        """Return the expected upper limits of the next counts, without a single outlier; None without past sums."""
        if not self.counts:
            return None
        ranked = (sorted((min(column), *column)) for column in zip(*self.counts, strict=True))
        return tuple(second if largest > _OUTLIER * second else largest for *_, second, largest in ranked)

    def exponent(self, peak: int) -> int | None:
        """Return the exponent of the expected unit of the next values; None without past magnitudes."""
        return exponent_for(max(self.magnitudes) * _HEADROOM, peak) if self.magnitudes else None

    def add(self, counts: tuple[int, ...], magnitude: float | None) -> None:
        """Add one sum; ``magnitude`` None if it is unknown."""
        self.counts = [*self.counts, counts][-HISTORY_LENGTH:]
        if magnitude:
            self.magnitudes = [*self.magnitudes, magnitude][-HISTORY_LENGTH:]


def exponent_for(magnitude: float, peak: int) -> int:
    """Return the smallest e with ``magnitude <= peak * 2**e``, at least the exponent of float32's smallest unit."""
    if magnitude == 0:
        return _MIN_EXPONENT
    exponent = max(_MIN_EXPONENT, math.frexp(magnitude)[1] - math.frexp(peak)[1] - 1)
    while magnitude > math.ldexp(peak, exponent):
        exponent += 1
    return exponent


def suits(exponent: int, magnitude: float, peak: int) -> bool:
    """Return True if units of ``2**exponent`` fit values up to ``magnitude``, without a large loss of precision."""
    limit = math.ldexp(peak, exponent)
    return magnitude <= limit and (magnitude >= limit * _MIN_SHARE or exponent == _MIN_EXPONENT)


def nonzero_counts(values: NDArray[np.float32]) -> tuple[int, ...]:
    """Return the number of blocks of ``values`` with a nonzero value, for each length of ``BLOCKS``."""
    longest = BLOCKS[-1]
    mask = np.zeros(-(-values.size // longest) * longest, np.uint8)
    np.not_equal(values, 0, out=mask[: values.size].view(np.bool_))
    counts = []
    for _ in BLOCKS:
        counts.append(int(np.count_nonzero(mask)))
        # Two neighbours are one integer of twice the width.
        mask = (mask.view(np.uint16) != 0).view(np.uint8) if mask.size > 1 and mask.size % 2 == 0 else mask
    return tuple(counts)


def union_counts(seen: Sequence[int], size: int, block: int, keys: int) -> tuple[int, ...]:
    """Return the counts of the union of all workers' values, from those ``seen`` in their sum of ``size`` values.

    Values may add up to zero, so the counts are scaled: ``keys`` blocks of length ``block`` had a nonzero value.
    """
    at = seen[BLOCKS.index(block)]
    limits = [-(-size // length) for length in BLOCKS]
    if at == 0:
        return tuple(min(limits[i], keys * max(1, block // length)) for i, length in enumerate(BLOCKS))
    factor = max(1.0, keys / at)
    return tuple(min(limit, math.ceil(count * factor)) for count, limit in zip(seen, limits, strict=True))


class TensorStatsTable:
    """One ``TensorStats`` for each tensor name and size."""

    def __init__(self) -> None:
        self._stats: dict[tuple[str, int], TensorStats] = {}

    def of(self, tensor: str, size: int) -> TensorStats:
        """Return the statistics of a tensor; new empty ones, not yet kept, for an unknown tensor."""
        return self._stats.get((tensor, size)) or TensorStats()

    def keep(self, tensor: str, size: int, stats: TensorStats) -> None:
        """Keep the statistics of a tensor, after a completed all-reduce."""
        self._stats[tensor, size] = stats

    def forget(self, tensor: str | None = None) -> None:
        """Drop the statistics of ``tensor``, or of all tensors."""
        self._stats = {} if tensor is None else {key: one for key, one in self._stats.items() if key[0] != tensor}

    def state(self) -> list[dict[str, Any]]:
        """Return lists and numbers for a checkpoint."""
        return [
            {
                "tensor": tensor,
                "size": size,
                "counts": [list(counts) for counts in stats.counts],
                "magnitudes": list(stats.magnitudes),
            }
            for (tensor, size), stats in self._stats.items()
        ]

    def load(self, state: Iterable[Mapping[str, Any]]) -> None:
        """Replace all statistics by a ``state``. Raises CodecError, changing nothing, if it is invalid."""
        loaded: dict[tuple[str, int], TensorStats] = {}
        try:
            for one in state:
                counts = [tuple(int(count) for count in counts) for counts in one["counts"]]
                magnitudes = [float(magnitude) for magnitude in one["magnitudes"]]
                size = int(one["size"])
                _check(size, counts, magnitudes)
                loaded[str(one["tensor"]), size] = TensorStats(counts[-HISTORY_LENGTH:], magnitudes[-HISTORY_LENGTH:])
        except (KeyError, TypeError, ValueError) as error:
            raise CodecError(f"This is not the state of a sparse codec: {error!r}.") from error
        self._stats = loaded


def _check(size: int, counts: Sequence[tuple[int, ...]], magnitudes: Sequence[float]) -> None:
    limits = [-(-size // length) for length in BLOCKS]
    for column in counts:
        if len(column) != len(limits) or not all(0 <= one <= limit for one, limit in zip(column, limits, strict=True)):
            raise ValueError(f"counts {column} of {size} values")
    for magnitude in magnitudes:
        if not 0 < magnitude <= float(np.finfo(np.float32).max):
            raise ValueError(f"magnitude {magnitude}")
