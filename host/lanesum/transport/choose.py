# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Which of the two: rounds that are compiled where those are there, else the ones in Python."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.native import availability
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import MAX_SLOTS
from lanesum.transport.congestion import CongestionControl
from lanesum.transport.native_rounds import NativeRounds, NativeWindow
from lanesum.transport.rounds import RoundSequence
from lanesum.transport.stats import TransportStats
from lanesum.transport.ticket import JobTicket
from lanesum.transport.window import RoundWindow

AnyWindow = RoundWindow | NativeWindow


class AnyRounds(Protocol):
    """What both are; see ``RoundSequence``."""

    @property
    def stats(self) -> TransportStats: ...
    @property
    def epoch(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def answered(self) -> bool: ...
    @property
    def can_start(self) -> bool: ...
    def start(self, op: LaneOp, words: NDArray[np.uint32]) -> AnyWindow: ...
    def finish(self, window: Any) -> None:
        """``window``: as ``start`` made it."""

    def due(self, now: float) -> list[memoryview]: ...
    def next_timeout(self, now: float) -> float | None: ...
    def receive(self, datagram: bytes | memoryview, now: float) -> bool: ...
    def last_words(self) -> list[memoryview]: ...
    def missing_workers(self) -> tuple[int, ...]: ...


def make_rounds(
    ticket: JobTicket,
    *,
    window: int = MAX_SLOTS,
    congestion: str | CongestionControl = "aimd",
    pacing: bool = False,
) -> AnyRounds:
    """The rounds of a session; see ``RoundSequence``. A congestion control of one's own makes them Python's.

    Raises ConfigurationError for an unknown congestion control, and when the environment requires the compiled part
    and it is not there.
    """
    native = availability().core
    if native is None or not isinstance(congestion, str):
        return RoundSequence(ticket, window=window, congestion=congestion, pacing=pacing)
    return NativeRounds(native, ticket, window=window, congestion=congestion, pacing=pacing)
