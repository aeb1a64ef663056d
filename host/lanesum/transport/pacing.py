# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Pacing: spread the packets that the congestion window admits over a round trip.

Results that arrive one after another release packets one after another. But at the beginning of a round, and after
waiting for a slow worker, a whole window is free. Without pacing, the queue of the slowest link has to hold all of it.
"""

from __future__ import annotations

from lanesum.transport.constants import (
    PACING_GAIN,
    PACING_MIN_BURST,
    PACING_RTT_WEIGHT,
    PACING_SLACK_S,
    PACING_TOLERANCE,
)


class Pacer:
    """Credit for first transmissions, in packets. Retransmissions need none."""

    def __init__(self) -> None:
        self._smoothed_s: float | None = None
        self._credit = PACING_MIN_BURST
        self._filled_at: float | None = None

    def sample(self, rtt_s: float) -> None:
        """Take one round-trip time, with the time in queues and for slower workers, which is spread over as well."""
        if self._smoothed_s is None:
            self._smoothed_s = rtt_s
        else:
            self._smoothed_s += PACING_RTT_WEIGHT * (rtt_s - self._smoothed_s)

    def credit(self, now: float, window: int) -> int:
        """Return the packets that may leave at ``now``, with a congestion window of ``window`` packets."""
        rate = self._rate(window)
        if self._filled_at is not None:
            self._credit += (now - self._filled_at) * rate
        self._filled_at = now
        self._credit = min(self._credit, max(PACING_MIN_BURST, rate * PACING_SLACK_S))
        return int(self._credit + PACING_TOLERANCE)

    def spend(self, packets: int) -> None:
        """Count packets that have left. Credit may become negative, and then delays the next ones."""
        self._credit -= packets

    def left_s(self, window: int) -> float | None:
        """Return the seconds from the last ``credit`` until a packet may leave; None if only a result admits one."""
        if self._credit + PACING_TOLERANCE >= 1:
            return 0.0
        rate = self._rate(window)
        return (1 - self._credit) / rate if rate > 0 else None

    def _rate(self, window: int) -> float:
        """Return packets per second; 0 before the first round trip was measured."""
        return PACING_GAIN * window / self._smoothed_s if self._smoothed_s else 0.0
