# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State that all rounds of a session share: job, congestion window, counters, and the path to every server.

A path carries the packets to and from one server. Only packets of one path keep their order and have comparable round
trips; another server may be nearer or less busy. The congestion window is one for all paths, because they meet at the
worker's own link, which is mostly the bottleneck.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lanesum.transport.certification import Certification
from lanesum.transport.congestion import CongestionControl
from lanesum.transport.constants import MIN_PTO_S
from lanesum.transport.membership import Membership
from lanesum.transport.pacing import Pacer
from lanesum.transport.rtt import RttEstimator
from lanesum.transport.slot_backoff import SlotBackoff
from lanesum.transport.stats import TransportStats
from lanesum.transport.ticket import JobTicket


@dataclass(slots=True)
class ServerPath:
    """The path to one server, or to a switch that answers in that server's name.

    Attributes:
        sequence: number of the next packet sent on this path.
    """

    rtt: RttEstimator = field(default_factory=RttEstimator)
    sequence: int = 0

    @property
    def min_request_interval_s(self) -> float:
        """Shortest time between two retransmissions on request: a round trip, as far as one was measured.

        A contribution sent more recently may still be in flight. Round trips that waited for other workers may be much
        longer, so the interval has an upper bound.
        """
        shortest_s = self.rtt.shortest_s
        return MIN_PTO_S if shortest_s is None else min(MIN_PTO_S, shortest_s)


@dataclass(slots=True)
class Link:
    """A worker's link: state of its job and its paths.

    Attributes:
        pacer: spaces first transmissions, if pacing is on; one for all paths, as the congestion window.
        certification: check words of the job; None without.
        slot_backoff: slots that bypass the switches after collisions.
        paths: one for every server, in the ticket's order; slot ``s`` has path ``s mod servers``.
        sequence: number of the next packet sent, on any path.
        unanswered_probes: probe timeouts since the last answer of an aggregation point.
    """

    ticket: JobTicket
    membership: Membership
    congestion: CongestionControl
    pacer: Pacer | None = None
    certification: Certification | None = field(init=False)
    slot_backoff: SlotBackoff = field(default_factory=SlotBackoff)
    paths: list[ServerPath] = field(init=False)
    stats: TransportStats = field(default_factory=TransportStats)
    sequence: int = 0
    unanswered_probes: int = 0

    def __post_init__(self) -> None:
        self.certification = Certification(self.ticket) if self.ticket.certified else None
        self.paths = [ServerPath() for _ in self.ticket.servers]

    def count_sent(self, size: int, *, retransmission: bool, bypass: bool, requested: bool = False) -> None:
        """Count a contribution of ``size`` bytes."""
        stats = self.stats
        stats.packets_sent += 1
        stats.bytes_sent += size
        stats.retransmissions += retransmission
        stats.bypasses += bypass
        stats.answered_pendings += requested
