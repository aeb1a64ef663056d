# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Time that a session spends in the phases of its all-reduces, and their spans while a trace is recorded.

All phases but ``wait`` are those of the thread that advances the all-reduces, so their times never overlap and add up
to at most the wall-clock time. The network phase is the time in which nothing was left but to send and receive packets.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager

#: Returns a range for the trace of a profiler, or None if no profiler runs.
OpenRange = Callable[[str], AbstractContextManager[object] | None]


class PhaseTimer:
    """Context manager that adds up the seconds between its entries and exits.

    It is entered at every step of an all-reduce, so it is one object instead of a ``contextlib`` generator.

    Attributes:
        seconds: the total.
        begin: time of the last entry, by ``time.perf_counter``.
    """

    __slots__ = ("_name", "_phases", "_range", "begin", "seconds")

    def __init__(self, name: str, phases: SessionPhases) -> None:
        self.seconds = 0.0
        self._name = name
        self._phases = phases
        self._range: AbstractContextManager[object] | None = None

    def __enter__(self) -> None:
        self._range = self._phases.open_range(self._name)
        if self._range is not None:
            self._range.__enter__()
        self.begin = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        self.seconds += self._phases.add_spans(self.begin, self._name) - self.begin
        if self._range is not None:
            self._range.__exit__(None, None, None)


class SessionPhases:
    """Phases of one session.

    Attributes:
        encode: computing the uplink words, and residuals.
        send: beginning a round: sending its first packets.
        network: waiting for results, and moving packets meanwhile.
        decode: computing the mean from the sums.
        wait: the thread that needs the results waits for them.
        open_range: called at every entry, with ``lanesum::encode`` and so on.
        spans: names, begins, ends by ``time.perf_counter``, and steps, while a trace is recorded; else None.
        step: number of the step of DDP, or of a synchronous all-reduce; the same at all workers.
    """

    def __init__(self) -> None:
        self.open_range: OpenRange = lambda _: None
        self.spans: deque[tuple[str, float, float, int]] | None = None
        self.step = 0
        names = ("encode", "send", "network", "decode", "wait")
        self.encode, self.send, self.network, self.decode, self.wait = (
            PhaseTimer(f"lanesum::{x}", self) for x in names
        )

    def add_spans(self, begin: float, *names: str) -> float:
        """Add spans that end now, if a trace is recorded; return the time."""
        now = time.perf_counter()
        if (spans := self.spans) is not None:  # another thread ends the trace
            spans.extend((name, begin, now, self.step) for name in names)
        return now
