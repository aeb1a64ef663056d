# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""How long chunks take from their first send to their result, as a histogram of fixed size.

Buckets are linear within a power of two and double in width from one to the next, as in HdrHistogram: whatever the
scale, a bucket is at most 1/32 as wide as the times in it are long, so its middle is off by less than 1.6 %.
"""

from __future__ import annotations

import math
from array import array

import numpy as np

from lanesum.errors import ConfigurationError

# Buckets of a power of two, as a power of two.
_PARTS_BITS = 5
_PARTS = 1 << _PARTS_BITS
# Nanoseconds, as a power of two: 275 s, longer than a chunk is waited for. What takes longer counts as so long.
_LONGEST_BITS = 38
LONGEST_NS = (1 << _LONGEST_BITS) - 1
LATENCY_BUCKETS = (_LONGEST_BITS - _PARTS_BITS + 1) * _PARTS


def _bucket(nanoseconds: int) -> int:
    shift = max(0, nanoseconds.bit_length() - _PARTS_BITS - 1)
    return (shift << _PARTS_BITS) + (nanoseconds >> shift)


def _middle_ns(bucket: int) -> float:
    shift = max(0, (bucket >> _PARTS_BITS) - 1)
    return ((bucket - (shift << _PARTS_BITS)) + 0.5) * (1 << shift)


class Latency:
    """Counts of chunks by the seconds that they took; ``counts`` as ``bytes`` gives them."""

    __slots__ = ("_counts",)

    def __init__(self, counts: bytes = bytes(8 * LATENCY_BUCKETS)) -> None:
        self._counts = array("Q", counts)
        if len(self._counts) != LATENCY_BUCKETS:
            raise ConfigurationError(f"A histogram of latencies has {LATENCY_BUCKETS} counts, not {len(self._counts)}.")

    def record(self, seconds: float) -> None:
        """Count a chunk."""
        self._counts[_bucket(min(max(int(seconds * 1e9), 0), LONGEST_NS))] += 1

    @property
    def count(self) -> int:
        """Chunks so far."""
        return sum(self._counts)

    def percentile(self, percent: float) -> float | None:
        """Seconds that at least so many percent of the chunks took at most; None without chunks.

        Of the bucket in which that is, the middle.
        """
        up_to = np.frombuffer(self._counts, np.uint64).cumsum()
        if not up_to[-1]:
            return None
        rank = max(1, math.ceil(percent / 100 * int(up_to[-1])))
        return _middle_ns(int(np.searchsorted(up_to, rank))) / 1e9

    @property
    def p50(self) -> float | None:
        """The median, in seconds."""
        return self.percentile(50)

    @property
    def p99(self) -> float | None:
        """The 99th percentile, in seconds."""
        return self.percentile(99)

    def __bytes__(self) -> bytes:
        return self._counts.tobytes()

    def __add__(self, other: Latency) -> Latency:
        return Latency((np.frombuffer(self._counts, np.uint64) + np.frombuffer(other._counts, np.uint64)).tobytes())

    def __sub__(self, earlier: Latency) -> Latency:
        return Latency((np.frombuffer(self._counts, np.uint64) - np.frombuffer(earlier._counts, np.uint64)).tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Latency) and self._counts == other._counts

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Latency(count={self.count}, p50={self.p50}, p99={self.p99})"
