# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The numbers that rounds of a session carry: which epoch, and at which running position they begin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.lanes import LaneOp
from lanesum.transport.rtt import RttEstimator
from lanesum.transport.ticket import JobTicket
from lanesum.transport.window import RoundWindow, TransportStats


class RoundSequence:
    """Rounds of one session, one after another, without sockets or clocks.

    Args:
        ticket: the worker's place in the job.
        window: packets under way at most (never more than the job's slots).
    """

    def __init__(self, ticket: JobTicket, *, window: int) -> None:
        self.stats = TransportStats()
        self.epoch = ticket.epoch
        self.position = 0
        self._ticket = ticket
        self._window = window
        self._rtt = RttEstimator()

    def start(self, op: LaneOp, words: NDArray[np.uint32]) -> RoundWindow:
        """The next round; only when the last one has been finished."""
        return RoundWindow(
            self._ticket,
            op,
            words,
            epoch=self.epoch,
            position=self.position,
            rtt=self._rtt,
            stats=self.stats,
            window=self._window,
        )

    def finish(self, window: RoundWindow) -> None:
        """Count a round that has all its results; the next one goes on where it ended."""
        assert window.finished
        self.epoch = (self.epoch + 1) % (1 << 32)
        self.position = (self.position + window.chunks) % (2 * self._ticket.slots)
        self.stats.rounds += 1
