# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Choice of the implementation of rounds: the native extension where it is available, else Python."""

from __future__ import annotations

from lanesum._internal.native import availability
from lanesum.protocol.spec import MAX_SLOTS
from lanesum.transport.congestion import CongestionControl
from lanesum.transport.native_rounds import NativeRoundSequence, NativeRoundState
from lanesum.transport.round_sequence import RoundSequence
from lanesum.transport.round_state import RoundState
from lanesum.transport.ticket import JobTicket

AnyRoundState = RoundState | NativeRoundState
AnyRoundSequence = RoundSequence | NativeRoundSequence


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
