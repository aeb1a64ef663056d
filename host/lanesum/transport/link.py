# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What all rounds of a session share."""

from __future__ import annotations

from dataclasses import dataclass, field

from lanesum.transport.congestion import CongestionControl, SlotWindow
from lanesum.transport.membership import Membership
from lanesum.transport.rtt import MIN_RTO_S, RttEstimator
from lanesum.transport.stats import TransportStats
from lanesum.transport.ticket import JobTicket


@dataclass(slots=True)
class Link:
    """A worker's knowledge of its path and its job.

    Attributes:
        sequence: running number that the next packet sent gets.
        unanswered: timers that ran out since the aggregation point last said anything.
    """

    ticket: JobTicket
    membership: Membership
    congestion: CongestionControl
    slots: SlotWindow = field(default_factory=SlotWindow)
    rtt: RttEstimator = field(default_factory=RttEstimator)
    stats: TransportStats = field(default_factory=TransportStats)
    sequence: int = 0
    unanswered: int = 0

    @property
    def answer_interval_s(self) -> float:
        """A contribution that was sent so recently may be under way still: asking for it again changes nothing.

        A round trip, as far as one was measured: what waited for other workers may have taken much longer.
        """
        shortest_s = self.rtt.shortest_s
        return MIN_RTO_S if shortest_s is None else min(MIN_RTO_S, shortest_s)

    def count_sent(self, size: int, *, again: bool, bypass: bool, asked: bool = False) -> None:
        """Count a contribution of ``size`` bytes."""
        stats = self.stats
        stats.packets_sent += 1
        stats.bytes_sent += size
        stats.retransmissions += again
        stats.bypasses += bypass
        stats.answered_pendings += asked
