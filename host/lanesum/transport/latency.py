# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Latency of chunks, from first transmission to result, as a histogram of fixed size.

Buckets are linear within a power of two and double in width from one to the next, as in HdrHistogram. On every scale a
bucket is at most 1/32 as wide as its latencies are long, so its middle is off by less than 1.6 %.
"""

from __future__ import annotations

import math
from array import array

import numpy as np
from numpy.typing import NDArray

from lanesum.errors import ConfigurationError
from lanesum.transport.constants import LATENCY_BUCKETS, LATENCY_MAX_BITS, LATENCY_SUB_BUCKET_BITS

# Longer latencies count as this one. No chunk is waited for as long.
MAX_LATENCY_NS = (1 << LATENCY_MAX_BITS) - 1


def _bucket(nanoseconds: int) -> int:
    shift = max(0, nanoseconds.bit_length() - LATENCY_SUB_BUCKET_BITS - 1)
    return (shift << LATENCY_SUB_BUCKET_BITS) + (nanoseconds >> shift)


def _middle_ns(bucket: int) -> float:
    shift = max(0, (bucket >> LATENCY_SUB_BUCKET_BITS) - 1)
    return ((bucket - (shift << LATENCY_SUB_BUCKET_BITS)) + 0.5) * (1 << shift)


class LatencyHistogram:
    """Counts of chunks by latency; ``counts``: as ``bytes`` returns them."""

    __slots__ = ("_counts",)

    def __init__(self, counts: bytes = bytes(8 * LATENCY_BUCKETS)) -> None:
        self._counts = array("Q", counts)
        if len(self._counts) != LATENCY_BUCKETS:
            raise ConfigurationError(
                f"A latency histogram of {len(self._counts)} counts: expected {LATENCY_BUCKETS} counts."
            )

    def record(self, seconds: float) -> None:
        """Count a chunk."""
        self._counts[_bucket(min(max(int(seconds * 1e9), 0), MAX_LATENCY_NS))] += 1

    @property
    def count(self) -> int:
        """Chunks so far."""
        return sum(self._counts)

    @property
    def total(self) -> float:
        """Sum of all latencies in seconds, each of them the middle of its bucket."""
        return sum(count * _middle_ns(bucket) for bucket, count in enumerate(self._counts) if count) / 1e9

    def percentile(self, percent: float) -> float | None:
        """Return the latency in seconds that ``percent`` of the chunks do not exceed; None without chunks.

        It is the middle of its bucket.
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

    def __add__(self, other: LatencyHistogram) -> LatencyHistogram:
        return self._with(np.frombuffer(self._counts, np.uint64) + np.frombuffer(other._counts, np.uint64))

    def __sub__(self, earlier: LatencyHistogram) -> LatencyHistogram:
        return self._with(np.frombuffer(self._counts, np.uint64) - np.frombuffer(earlier._counts, np.uint64))

    @staticmethod
    def _with(counts: NDArray[np.uint64]) -> LatencyHistogram:
        return LatencyHistogram(counts.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LatencyHistogram) and self._counts == other._counts

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"LatencyHistogram(count={self.count}, p50={self.p50}, p99={self.p99})"
