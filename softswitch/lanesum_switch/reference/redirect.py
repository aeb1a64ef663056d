# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Bound on the packets of each port that go to the CPU port: twin of ``p4src/tofino/redirect.p4``."""

from __future__ import annotations

REDIRECTS_PER_TICK = 16
_TICK_BITS = 16
_TICK_SHIFT = 4  # in ticks of the slots


class RedirectBound:
    """Packets that each port had redirected in its last tick with any."""

    def __init__(self) -> None:
        self._redirects: dict[int, tuple[int, int]] = {}  # port -> (tick, packets)

    def admits(self, port: int, now: int) -> bool:
        """Count a packet from ``port`` at ``now``, in ticks of the slots; return False if it is one too many."""
        tick = now >> _TICK_SHIFT & (1 << _TICK_BITS) - 1
        last, packets = self._redirects.get(port, (0, 0))
        if tick != last:
            packets = 0
        self._redirects[port] = tick, min(packets + 1, REDIRECTS_PER_TICK)
        return packets < REDIRECTS_PER_TICK
