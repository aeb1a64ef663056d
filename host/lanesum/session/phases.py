# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Time that a session spends in the phases of its all-reduces: encode, network, decode.

All phases are those of the thread that advances the all-reduces, so their times never overlap and add up to at most the
wall-clock time. The network phase is the time in which nothing was left but to send and receive packets.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

#: Returns a range for the trace of a profiler, or None if no profiler runs.
OpenRange = Callable[[str], AbstractContextManager[object] | None]


class Phase:
    """Context manager that adds up the seconds between its entries and exits.

    It is entered at every step of an all-reduce, so it is one object instead of a ``contextlib`` generator.

    Attributes:
        seconds: the total.
    """

    __slots__ = ("_begin", "_name", "_phases", "_range", "seconds")

    def __init__(self, name: str, phases: Phases) -> None:
        self.seconds = 0.0
        self._name = name
        self._phases = phases
        self._range: AbstractContextManager[object] | None = None

    def __enter__(self) -> None:
        open_range = self._phases.open_range
        if open_range is not None:
            self._range = open_range(self._name)
            if self._range is not None:
                self._range.__enter__()
        self._begin = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        self.seconds += time.perf_counter() - self._begin
        if self._range is not None:
            self._range.__exit__(None, None, None)


class Phases:
    """Phases of one session.

    Attributes:
        encode: computing the uplink words, and residuals.
        network: waiting for results, and moving packets meanwhile.
        decode: computing the mean from the sums.
        open_range: called at every entry, with ``lanesum::encode`` and so on.
    """

    def __init__(self) -> None:
        self.open_range: OpenRange | None = None
        self.encode = Phase("lanesum::encode", self)
        self.network = Phase("lanesum::network", self)
        self.decode = Phase("lanesum::decode", self)
