# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Timeouts from measured round-trip times, in the terms of RFC 9002.

A result also waits for the slowest worker and for *its* retransmissions. The usual smoothed time plus variation
(RFC 6298) would therefore take other workers' losses for a slow path and grow without need. The shortest recent time
describes the path, so timeouts are multiples of it.
"""

from __future__ import annotations

from lanesum.transport.constants import (
    INITIAL_PTO_S,
    MAX_PTO_S,
    MIN_PTO_S,
    PTO_RTT_FACTOR,
    QUEUED_MARGIN_S,
    QUEUED_RTT_FACTOR,
    RTT_SAMPLES_PER_EPISODE,
)


class RttEstimator:
    """Shortest round-trip time of the last one to two episodes of 64 samples, in seconds.

    The caller applies Karn's rule: it takes no samples of retransmitted packets.
    """

    def __init__(self) -> None:
        self._current = self._previous = self._shortest_ever = float("inf")
        self._samples = 0

    def sample(self, rtt_s: float) -> None:
        """Take one measurement."""
        self._current = min(self._current, rtt_s)
        self._shortest_ever = min(self._shortest_ever, rtt_s)
        self._samples += 1
        if self._samples % RTT_SAMPLES_PER_EPISODE == 0:
            self._previous, self._current = self._current, float("inf")

    @property
    def shortest_s(self) -> float | None:
        """The shortest recent round trip; None before the first sample."""
        shortest = min(self._current, self._previous)
        return None if shortest == float("inf") else shortest

    @property
    def queued(self) -> bool:
        """A standing queue: no recent round trip was nearly as short as the shortest of all."""
        shortest_s = self.shortest_s
        return shortest_s is not None and shortest_s > QUEUED_RTT_FACTOR * self._shortest_ever + QUEUED_MARGIN_S

    @property
    def loss_delay_s(self) -> float:
        """Time threshold of loss detection (RFC 9002, 6.1.2), where no late worker explains silence."""
        shortest_s = self.shortest_s
        return INITIAL_PTO_S if shortest_s is None else min(MAX_PTO_S, PTO_RTT_FACTOR * shortest_s)

    @property
    def probe_timeout_s(self) -> float:
        """The probe timeout (PTO) before any back-off."""
        return max(MIN_PTO_S, self.loss_delay_s)
