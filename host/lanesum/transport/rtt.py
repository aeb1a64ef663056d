# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Retransmission timeout from measured round-trip times (RFC 6298)."""

from __future__ import annotations

# A result also waits for the slowest worker, so the floor is well above the path's own time.
MIN_RTO_S = 0.02
MAX_RTO_S = 1.0
INITIAL_RTO_S = 0.2


class RttEstimator:
    """Smoothed round-trip time and its variation, in seconds. Karn's rule is the caller's: no resent packets."""

    def __init__(self) -> None:
        self.smoothed_s: float | None = None
        self.variation_s = 0.0

    def sample(self, rtt_s: float) -> None:
        """Take one measurement."""
        if self.smoothed_s is None:
            self.smoothed_s, self.variation_s = rtt_s, rtt_s / 2
        else:
            self.variation_s = 0.75 * self.variation_s + 0.25 * abs(self.smoothed_s - rtt_s)
            self.smoothed_s = 0.875 * self.smoothed_s + 0.125 * rtt_s

    @property
    def timeout_s(self) -> float:
        """The retransmission timeout before any back-off."""
        if self.smoothed_s is None:
            return INITIAL_RTO_S
        return min(MAX_RTO_S, max(MIN_RTO_S, self.smoothed_s + 4 * self.variation_s))
