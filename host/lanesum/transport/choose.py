# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Which of the two: rounds that are compiled where those are there, else the ones in Python."""

from __future__ import annotations

from lanesum.native import availability
from lanesum.protocol.spec import MAX_SLOTS
from lanesum.transport.congestion import CongestionControl
from lanesum.transport.native_rounds import NativeRounds, NativeWindow
from lanesum.transport.rounds import RoundSequence
from lanesum.transport.ticket import JobTicket
from lanesum.transport.window import RoundWindow

AnyRounds = RoundSequence | NativeRounds
AnyWindow = RoundWindow | NativeWindow


def make_rounds(
    ticket: JobTicket, *, window: int = MAX_SLOTS, congestion: str | CongestionControl = "aimd"
) -> AnyRounds:
    """The rounds of a session; see ``RoundSequence``. A congestion control of one's own makes them Python's.

    Raises ConfigurationError for an unknown congestion control, and when the environment requires the compiled part
    and it is not there.
    """
    native = availability().core
    if native is None or not isinstance(congestion, str):
        return RoundSequence(ticket, window=window, congestion=congestion)
    return NativeRounds(native, ticket, window=window, congestion=congestion)
