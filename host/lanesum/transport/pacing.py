# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Pacing: what a window has room for does not leave all at once, but spread over the time of a round trip.

Results that come back one after another let packets out one after another. But at the beginning of a round, and after
waiting for a slow worker, a whole window is free: without pacing all of it lands in the queue of the slowest link,
which has to hold it.
"""

from __future__ import annotations

# Weight of a new round-trip time in the smoothed one (RFC 6298, 2).
_WEIGHT = 0.125
# A little faster than a window in each round trip, which would never find out that there is more room (as TCP does it).
_GAIN = 1.25
# Timers are late by as much, and what was not sent meanwhile may be sent then; some packets even on the slowest path.
_SLACK_S = 1e-3
_LEAST_BURST = 8
# So little less than a packet is one: clocks count in steps, and the time until the rest is there may be less than one.
_NEARLY = 1e-3


class Pacer:
    """Credit for first sends, in packets. Sends that repair a loss need none."""

    def __init__(self) -> None:
        self._smoothed_s: float | None = None
        self._credit = float(_LEAST_BURST)
        self._filled_at: float | None = None

    def sample(self, rtt_s: float) -> None:
        """Take one round-trip time; the time in queues and for slower workers is in it, to be spread over as well."""
        if self._smoothed_s is None:
            self._smoothed_s = rtt_s
        else:
            self._smoothed_s += _WEIGHT * (rtt_s - self._smoothed_s)

    def credit(self, now: float, window: int) -> int:
        """Packets that may leave at ``now``, where ``window`` may be under way."""
        rate = self._rate(window)
        if self._filled_at is not None:
            self._credit += (now - self._filled_at) * rate
        self._filled_at = now
        self._credit = min(self._credit, max(_LEAST_BURST, rate * _SLACK_S))
        return int(self._credit + _NEARLY)

    def spend(self, packets: int) -> None:
        """They have left; more of them than there was credit for make the next ones wait longer."""
        self._credit -= packets

    def left_s(self, window: int) -> float | None:
        """Seconds from the last ``credit`` until a packet may leave; None where only a result can bring that about."""
        if self._credit + _NEARLY >= 1:
            return 0.0
        rate = self._rate(window)
        return (1 - self._credit) / rate if rate > 0 else None

    def _rate(self, window: int) -> float:
        """Packets per second; none before the first round trip was measured."""
        return _GAIN * window / self._smoothed_s if self._smoothed_s else 0.0
