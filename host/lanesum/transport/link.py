# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What all rounds of a session share: about the job, about the worker's link, and about the path to every server.

A path is what packets to and from one server share. Only on one path do packets keep their order, and only there is
one round trip like another; another server may be nearer, or less busy. The link window is one for all paths, because
they meet at the worker's own link, which is mostly where there is no more room.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lanesum.transport.congestion import CongestionControl, SlotWindow
from lanesum.transport.membership import Membership
from lanesum.transport.pacing import Pacer
from lanesum.transport.rtt import MIN_RTO_S, RttEstimator
from lanesum.transport.stats import TransportStats
from lanesum.transport.ticket import JobTicket


@dataclass(slots=True)
class ServerPath:
    """A worker's knowledge of its path to one server, or to a switch that answers for that one.

    Attributes:
        sequence: running number that the next packet sent on this path gets.
    """

    rtt: RttEstimator = field(default_factory=RttEstimator)
    sequence: int = 0

    @property
    def answer_interval_s(self) -> float:
        """A contribution that was sent so recently may be under way still: asking for it again changes nothing.

        A round trip, as far as one was measured: what waited for other workers may have taken much longer.
        """
        shortest_s = self.rtt.shortest_s
        return MIN_RTO_S if shortest_s is None else min(MIN_RTO_S, shortest_s)


@dataclass(slots=True)
class Link:
    """A worker's knowledge of its link and its job.

    Attributes:
        pacer: spaces first sends, if there is one; on all paths together, which meet at the worker's own link.
        paths: one for every server, in the ticket's order; slot ``s`` has path ``s mod servers``.
        sequence: running number that the next packet sent gets, on whichever path.
        unanswered: timers that ran out since the aggregation point last said anything.
    """

    ticket: JobTicket
    membership: Membership
    congestion: CongestionControl
    pacer: Pacer | None = None
    slots: SlotWindow = field(default_factory=SlotWindow)
    paths: list[ServerPath] = field(init=False)
    stats: TransportStats = field(default_factory=TransportStats)
    sequence: int = 0
    unanswered: int = 0

    def __post_init__(self) -> None:
        self.paths = [ServerPath() for _ in self.ticket.servers]

    def count_sent(self, size: int, *, again: bool, bypass: bool, asked: bool = False) -> None:
        """Count a contribution of ``size`` bytes."""
        stats = self.stats
        stats.packets_sent += 1
        stats.bytes_sent += size
        stats.retransmissions += again
        stats.bypasses += bypass
        stats.answered_pendings += asked
