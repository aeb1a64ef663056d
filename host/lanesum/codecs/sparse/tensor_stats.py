# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What sparse codecs remember of a tensor between all-reduces: how dense its sums were, how large its values.

All of it comes from aggregates, so it is the same on all workers, and after a checkpoint it is so again.
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

#: All-reduces that a tensor is judged by: the largest union and magnitude among them are expected.
REMEMBERED = 4
# The agreed unit leaves room for values four times as large as the largest of the last ones; where the largest one is
# less than a 64th of what there is room for, another round with a smaller unit is worth its while.
_HEADROOM = 4.0
_LEAST_SHARE = 1 / 64
# All float32 are multiples of it, so a smaller unit says no more.
_LEAST_EXPONENT = -149


@dataclass(slots=True)
class Record:
    """One tensor.

    Attributes:
        counts: of the last sums, oldest first: for each of ``BLOCKS``, blocks that some worker had a value in.
        magnitudes: the largest magnitude of any worker in the last all-reduces that were not all zero.
    """

    counts: list[tuple[int, ...]] = field(default_factory=list)
    magnitudes: list[float] = field(default_factory=list)

    def expected(self) -> tuple[int, ...] | None:
        """Counts that the next sum is expected not to exceed; None where nothing is known."""
        if not self.counts:
            return None
        return tuple(max(column) for column in zip(*self.counts, strict=True))

    def exponent(self, peak: int) -> int | None:
        """Of the unit that the next values are expected to fit; None where nothing is known."""
        return exponent_for(max(self.magnitudes) * _HEADROOM, peak) if self.magnitudes else None

    def add(self, counts: tuple[int, ...], magnitude: float | None) -> None:
        """Remember one more sum; ``magnitude`` None where it is not known."""
        self.counts = [*self.counts, counts][-REMEMBERED:]
        if magnitude:
            self.magnitudes = [*self.magnitudes, magnitude][-REMEMBERED:]


def exponent_for(magnitude: float, peak: int) -> int:
    """The smallest e with ``magnitude <= peak * 2**e``, but no less than float32's own smallest unit."""
    if magnitude == 0:
        return _LEAST_EXPONENT
    exponent = max(_LEAST_EXPONENT, math.frexp(magnitude)[1] - math.frexp(peak)[1] - 1)
    while magnitude > math.ldexp(peak, exponent):
        exponent += 1
    return exponent


def suits(exponent: int, magnitude: float, peak: int) -> bool:
    """Whether values up to ``magnitude`` fit units of ``2**exponent``, and are not all small numbers of them."""
    room = math.ldexp(peak, exponent)
    return magnitude <= room and (magnitude >= room * _LEAST_SHARE or exponent == _LEAST_EXPONENT)


def nonzero_counts(values: NDArray[np.float32]) -> tuple[int, ...]:
    """For each of ``BLOCKS``, how many blocks of ``values`` have one that is not zero."""
    longest = BLOCKS[-1]
    mask = np.zeros(-(-values.size // longest) * longest, np.uint8)
    np.not_equal(values, 0, out=mask[: values.size].view(np.bool_))
    counts = []
    for _ in BLOCKS:
        counts.append(int(np.count_nonzero(mask)))
        # Two neighbours are one number of twice the width.
        mask = (mask.view(np.uint16) != 0).view(np.uint8) if mask.size > 1 and mask.size % 2 == 0 else mask
    return tuple(counts)


def union_counts(seen: Sequence[int], size: int, block: int, keys: int) -> tuple[int, ...]:
    """``nonzero_counts`` of a sum of ``size`` values, of which ``seen`` are not zero, corrected for values that add up
    to zero: ``keys`` blocks of length ``block`` had a value."""
    at = seen[BLOCKS.index(block)]
    most = [-(-size // length) for length in BLOCKS]
    if at == 0:
        return tuple(min(most[i], keys * max(1, block // length)) for i, length in enumerate(BLOCKS))
    factor = max(1.0, keys / at)
    return tuple(min(limit, math.ceil(count * factor)) for count, limit in zip(seen, most, strict=True))


class Records:
    """One ``Record`` for each tensor's name and size."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, int], Record] = {}

    def of(self, tensor: str, size: int) -> Record:
        """What is known of it; an empty record at first, which is kept once something was added."""
        return self._records.get((tensor, size)) or Record()

    def keep(self, tensor: str, size: int, record: Record) -> None:
        """After an all-reduce that completed."""
        self._records[tensor, size] = record

    def forget(self, tensor: str | None = None) -> None:
        """Drop what is known of ``tensor``, or of all; all workers have to."""
        self._records = {} if tensor is None else {key: one for key, one in self._records.items() if key[0] != tensor}

    def state(self) -> list[dict[str, Any]]:
        """Plain lists and numbers, for a checkpoint."""
        return [
            {
                "tensor": tensor,
                "size": size,
                "counts": [list(counts) for counts in record.counts],
                "magnitudes": list(record.magnitudes),
            }
            for (tensor, size), record in self._records.items()
        ]

    def load(self, state: Iterable[Mapping[str, Any]]) -> None:
        """Take back a ``state``. Raises CodecError, changing nothing, if it is not one."""
        loaded: dict[tuple[str, int], Record] = {}
        try:
            for one in state:
                counts = [tuple(int(count) for count in counts) for counts in one["counts"]]
                magnitudes = [float(magnitude) for magnitude in one["magnitudes"]]
                size = int(one["size"])
                _check(size, counts, magnitudes)
                loaded[str(one["tensor"]), size] = Record(counts[-REMEMBERED:], magnitudes[-REMEMBERED:])
        except (KeyError, TypeError, ValueError) as error:
            raise CodecError(f"This is not the state of a sparse codec: {error!r}.") from error
        self._records = loaded


def _check(size: int, counts: Sequence[tuple[int, ...]], magnitudes: Sequence[float]) -> None:
    limits = [-(-size // length) for length in BLOCKS]
    for column in counts:
        if len(column) != len(limits) or not all(0 <= one <= most for one, most in zip(column, limits, strict=True)):
            raise ValueError(f"counts {column} of {size} values")
    for magnitude in magnitudes:
        if not 0 < magnitude <= float(np.finfo(np.float32).max):
            raise ValueError(f"magnitude {magnitude}")
