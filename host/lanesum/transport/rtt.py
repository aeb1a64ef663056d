# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Retransmission timeout from measured round-trip times.

A result also waits for the slowest worker and for *its* retransmissions, so the usual smoothed time plus variation
(RFC 6298) would take other workers' losses for a slow path and grow without need. What tells about the path is the
shortest time of late: the timeout is a multiple of it.
"""

from __future__ import annotations

MIN_RTO_S = 0.02
MAX_RTO_S = 1.0
INITIAL_RTO_S = 0.1
# Queues behind a full window stretch a round trip by a small factor.
_RTO_FACTOR = 4
_SAMPLES_PER_EPISODE = 64
# So many times the shortest round trip of all, and a little more for hosts that are busy, is time spent in a queue.
_QUEUED_FACTOR = 2
_QUEUED_S = 2e-3


class RttEstimator:
    """Shortest round-trip time of the last one to two episodes of 64 samples, in seconds.

    Karn's rule is the caller's: no samples of resent packets.
    """

    def __init__(self) -> None:
        self._current = self._previous = self._least = float("inf")
        self._samples = 0

    def sample(self, rtt_s: float) -> None:
        """Take one measurement."""
        self._current = min(self._current, rtt_s)
        self._least = min(self._least, rtt_s)
        self._samples += 1
        if self._samples % _SAMPLES_PER_EPISODE == 0:
            self._previous, self._current = self._current, float("inf")

    @property
    def shortest_s(self) -> float | None:
        """The shortest round trip of late; None before the first sample."""
        shortest = min(self._current, self._previous)
        return None if shortest == float("inf") else shortest

    @property
    def queued(self) -> bool:
        """A queue stands on the path: none of the late round trips was nearly as short as the shortest of all."""
        shortest_s = self.shortest_s
        return shortest_s is not None and shortest_s > _QUEUED_FACTOR * self._least + _QUEUED_S

    @property
    def quick_timeout_s(self) -> float:
        """The timeout where only a loss can be the reason for silence, not another worker that is late."""
        return INITIAL_RTO_S if self.shortest_s is None else min(MAX_RTO_S, _RTO_FACTOR * self.shortest_s)

    @property
    def timeout_s(self) -> float:
        """The retransmission timeout before any back-off."""
        return max(MIN_RTO_S, self.quick_timeout_s)
