# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Congestion control: the congestion window of a worker's link.

It is separate from ``slot_backoff``, because the two answer different questions. A full queue concerns this worker's
own path, so every worker's congestion window may differ. A slot that another job holds is the same slot for all workers
of the job, so all of them must react alike.
"""

from __future__ import annotations

from typing import Protocol

from lanesum.errors import ConfigurationError


class CongestionControl(Protocol):
    """A congestion window, in packets. Sequence numbers count the packets of all rounds of the session."""

    @property
    def congestion_window(self) -> int:
        """Packets in flight, at most; 1 or more."""

    def on_packet_acked(self, sent: int, next_sequence: int, marked: bool) -> None:
        """Take the result of a chunk that was first sent as number ``sent``.

        ``next_sequence``: number of the next packet to be sent. ``marked``: the result reports a full queue (ECN).
        """

    def on_packet_lost(self, sent: int, next_sequence: int) -> None:
        """Take the loss of packet ``sent`` while a queue stood on its path."""

    def on_persistent_congestion(self, next_sequence: int, in_flight: int) -> None:
        """Take several probe timeouts without any answer, with ``in_flight`` packets in flight."""


class FixedWindow:
    """A constant congestion window."""

    def __init__(self, packets: int) -> None:
        self.congestion_window = packets

    def on_packet_acked(self, sent: int, next_sequence: int, marked: bool) -> None:
        """Keep the window."""

    def on_packet_lost(self, sent: int, next_sequence: int) -> None:
        """Keep the window."""

    def on_persistent_congestion(self, next_sequence: int, in_flight: int) -> None:
        """Keep the window."""


class Aimd:
    """Additive increase, multiplicative decrease, between 1 and ``max_window`` packets.

    The window grows by one packet for every window of clean results, and halves when a queue is full. A queue is full
    when it marks, or when packets are lost while round trips show that it stands. Losses without a queue change
    nothing: a wire that drops at random is not congested. The window begins with ``max_window``, because the option
    ``window`` tells how many packets the path holds.
    """

    def __init__(self, max_window: int) -> None:
        self.congestion_window = max_window
        self._max_window = max_window
        self._clean = 0  # results since the window last changed
        self._reduced_at = 0  # the first number sent with the halved window

    def on_packet_acked(self, sent: int, next_sequence: int, marked: bool) -> None:
        """Grow, or halve at most once per window: results of earlier packets report the same queue again."""
        if marked:
            self.on_packet_lost(sent, next_sequence)
            return
        self._clean += 1
        if self._clean >= self.congestion_window:
            self._clean = 0
            self.congestion_window = min(self._max_window, self.congestion_window + 1)

    def on_packet_lost(self, sent: int, next_sequence: int) -> None:
        """Halve at most once per window, as after a mark."""
        if sent >= self._reduced_at:
            self._halve(next_sequence)

    def on_persistent_congestion(self, next_sequence: int, in_flight: int) -> None:
        """Halve if the window was used: the loss of one packet says nothing about a window of many."""
        if 2 * in_flight > self.congestion_window:
            self._halve(next_sequence)

    def _halve(self, next_sequence: int) -> None:
        self.congestion_window = max(1, self.congestion_window // 2)
        self._clean = 0
        self._reduced_at = next_sequence


def congestion_control(name: str, max_window: int) -> CongestionControl:
    """Return the congestion control ``"aimd"`` or ``"fixed"``. Raises ConfigurationError for another name."""
    if name == "aimd":
        return Aimd(max_window)
    if name == "fixed":
        return FixedWindow(max_window)
    raise ConfigurationError(f"There is no congestion control {name!r}.", 'Use "aimd" or "fixed".')
