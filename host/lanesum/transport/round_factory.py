# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Choice of the implementation of rounds: the native extension where it is available, else Python."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.native import availability
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import MAX_SLOTS
from lanesum.transport.congestion import CongestionControl
from lanesum.transport.native_rounds import NativeRoundSequence, NativeRoundState
from lanesum.transport.round_sequence import RoundSequence
from lanesum.transport.round_state import RoundState
from lanesum.transport.stats import TransportStats
from lanesum.transport.ticket import JobTicket

AnyRoundState = RoundState | NativeRoundState


class AnyRoundSequence(Protocol):
    """The interface of both implementations; see ``RoundSequence``."""

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
    def start(self, op: LaneOp, words: NDArray[np.uint32]) -> AnyRoundState: ...
    def finish(self, round_: Any) -> None:
        """Count and retire a round that ``start`` of the same object made."""

    def due(self, now: float) -> list[memoryview]: ...
    def next_timeout(self, now: float) -> float | None: ...
    def receive(self, datagram: bytes | memoryview, now: float) -> bool: ...
    def final_datagrams(self) -> list[memoryview]: ...
    def missing_workers(self) -> tuple[int, ...]: ...


def make_round_sequence(
    ticket: JobTicket,
    *,
    window: int = MAX_SLOTS,
    congestion: str | CongestionControl = "aimd",
    pacing: bool = False,
) -> AnyRoundSequence:
    """Return the rounds of a session; see ``RoundSequence``. A congestion control object needs the Python ones.

    Raises ConfigurationError for an unknown congestion control, and if the environment requires the native extension
    and it is not available.
    """
    if availability().core is None or not isinstance(congestion, str):
        return RoundSequence(ticket, window=window, congestion=congestion, pacing=pacing)
    return NativeRoundSequence(ticket, window=window, congestion=congestion, pacing=pacing)
