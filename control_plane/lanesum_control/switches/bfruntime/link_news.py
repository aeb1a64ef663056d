# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Changes of links in words, at a bounded rate."""

from __future__ import annotations

import collections
import math
import time
from collections.abc import Callable, Iterable

_MAX_NEWS, _PER_S = 10, 60.0


class LinkNews:
    """States of ports whose links have changed, for the events of a controller.

    A port has at most 10 messages in a minute. The changes of a link that flaps more often become one message, which
    comes late and has their number.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[int, collections.deque[float]] = {}  # times of the last messages, by port
        self._waiting: dict[int, tuple[bool, int]] = {}  # last state, and number of changes

    def take(self, changes: Iterable[tuple[int, bool]]) -> list[str]:
        """Return the messages that are due after further ``changes`` (port, is up, the oldest first), by port."""
        for port, is_up in changes:
            _, count = self._waiting.get(port, (is_up, 0))
            self._waiting[port] = is_up, count + 1
        now, words = self._clock(), []
        for port in sorted(self._waiting):
            told = self._told.setdefault(port, collections.deque([-math.inf] * _MAX_NEWS, _MAX_NEWS))
            if now - told[0] >= _PER_S:
                told.append(now)
                is_up, count = self._waiting.pop(port)
                often = f", after {count} changes" if count > 1 else ""
                words.append(f"port {port} is {'up' if is_up else 'down'}{often}")
        return words
