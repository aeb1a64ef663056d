# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Loss detection for the chunks in flight, in the terms of RFC 9002. Without sockets or clocks.

A result acknowledges a contribution. Unlike an acknowledgment it also waits for the contributions of all other workers,
so silence mostly means that a worker is late. Four events make a worker retransmit a chunk:

- A pending answer requests it. It is sent to the aggregation point that asked: a point that has the other workers'
  contributions is the one to complete the chunk.
- The results of enough later packets of its path have arrived (reordering threshold). All workers, or a quorum, are in
  the round and have sent the later one, so no late worker explains the silence.
- The time threshold of a reordered chunk runs out. It doubles with every retransmission. A later round's result counts
  as well: its contributors have begun that round.
- The probe timeout (PTO) of the first chunk without a result runs out. One probe is enough to find that a worker is
  late; the timeout backs off until something completes on its path. But where a probe brings a result at once, and no
  pending answer reports a missing worker, the chunk was lost. The flag of a retransmission tells that result from the
  one of the first transmissions, which may arrive while the probe waits behind its own window. Then the chunks sent
  after it mostly were lost, too: a full queue drops the end of a burst, and no later packet shows it. Two more chunks
  are probed then, and two more for each of them. So a burst is repaired in a few round trips instead of one timeout
  per packet.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from lanesum.protocol.packet import Header
from lanesum.protocol.spec import SLOT_RUN, SLOT_SHARES, SLOT_SKEW, Flag
from lanesum.transport.constants import (
    BYPASS_AFTER_LOSSES,
    BYPASS_AFTER_PROBES,
    MAX_BACKOFF_EXPONENT,
    MAX_MIN_PTO_FACTOR,
    MAX_PENDING_BACKOFF,
    MAX_PTO_S,
    MIN_PTO_S,
    PERSISTENT_CONGESTION_TIMEOUTS,
    PROBES_PER_LOST_PROBE,
    REORDERING_THRESHOLD,
    RESULTS_WITHOUT_LOSS,
)
from lanesum.transport.link import Link, ServerPath
from lanesum.transport.round_state import RoundState

# As a plain integer: see ``membership``.
_BYPASS = int(Flag.BYPASS)


@dataclass(slots=True)
class SentChunk:
    """A chunk in flight.

    Attributes:
        first_sent_at, sent_at: times of the first and the last transmission.
        first_sequence, sequence: their numbers on the path.
        first_on_link: number of the first transmission over all paths.
        share: share of the chunk's slot, see ``SLOT_SHARES``.
        bypass: the slot's turn bypasses the switches.
        bypassed: the last transmission did.
        tries: retransmissions without a request.
        probe: the last transmission was a probe.
        arrived: by the last pending answer, the contribution has arrived, and another worker's is missing.
        unanswered: the last transmission was a retransmission, and no pending answer tells of an arrival.
    """

    round: RoundState
    chunk: int
    first_sent_at: float
    first_sequence: int
    first_on_link: int
    sent_at: float
    sequence: int
    bypass: bool
    bypassed: bool
    share: int
    retransmissions: int = 0
    tries: int = 0
    probe: bool = False
    arrived: bool = False
    unanswered: bool = False

    def try_again(self, patience: int) -> bool:
        """Count a try; return True if it bypasses the switches."""
        self.tries += 1
        return self.bypass or (self.tries >= patience and self.tries % 2 == 0)


@dataclass(slots=True)
class _PathRecovery:
    """Recovery state of one path. Answers of one server say nothing about the path to another.

    Attributes:
        in_flight: chunks by position, in the order of their first transmissions.
        largest_acked: number of the latest first transmission that has its result.
        acked_of_share: the same of each share of the slots.
        in_order: False once a chunk was reordered without having been lost. Threads of the server reorder results: each
            serves whole shares. Only results of a chunk's own share make it suspicious from then on.
        probe_sequence: number of the last probe of a timer: packets sent before may be lost as well.
        probe_credit: of them, chunks to be probed at once.
        min_pto_factor: factor of ``MIN_PTO_S``. Needless retransmissions show that workers are late by more than that.
        results_since_loss: results without a retransmission in them, since the last one with it.
    """

    path: ServerPath
    in_flight: dict[int, SentChunk] = field(default_factory=dict)
    largest_acked: int = -1
    acked_of_share: list[int] = field(default_factory=lambda: [-1] * SLOT_SHARES)
    in_order: bool = True
    pto_backoff: int = 1
    last_ack_at: float = float("-inf")
    probe_sequence: int = 0
    probe_credit: int = 0
    min_pto_factor: int = 1
    results_since_loss: int = 0

    def acked_after(self, sent: SentChunk) -> int:
        """Return ``largest_acked`` of the packets whose results arrive in order with that of a chunk."""
        return self.largest_acked if self.in_order else self.acked_of_share[sent.share]

    def reordered(self, threshold: int) -> Iterator[tuple[int, SentChunk]]:
        """Iterate over chunks with a result more than ``threshold`` packets later; they are in order of sending."""
        for position, sent in self.in_flight.items():
            if sent.first_sequence + threshold >= self.largest_acked:
                return
            if sent.first_sequence + threshold < self.acked_after(sent):
                yield position, sent

    def loss_time_left(self, sent: SentChunk, since: float, now: float) -> float:
        """Return the seconds until a reordered chunk is lost."""
        factor = 1 << min(sent.retransmissions, MAX_BACKOFF_EXPONENT)
        return since + min(self.path.rtt.loss_delay_s * factor, MAX_PTO_S) - now

    def probe_time_left(self, sent: SentChunk, now: float) -> float:
        """Return the seconds until a probe. Every result restarts the timer, because a full window arrives slowly."""
        since = max(sent.sent_at, self.last_ack_at)  # RFC 6298, 5.3
        timeout_s = max(self.path.rtt.probe_timeout_s, MIN_PTO_S * self.min_pto_factor)
        return since + min(timeout_s * self.pto_backoff, MAX_PTO_S) - now

    @property
    def request_interval_s(self) -> float:
        """Shortest time from a transmission to one on request. The packet may wait behind this worker's own window."""
        return self.path.min_request_interval_s if self.min_pto_factor == 1 else MIN_PTO_S * self.min_pto_factor

    def take_probes(self, lost: dict[int, Retransmission]) -> list[int]:
        """Spend the credit on positions that were sent before the last probe and are not known to be lost."""
        sent_before = (
            position
            for position, sent in self.in_flight.items()
            if sent.sequence < self.probe_sequence and position not in lost
        )
        chosen = list(itertools.islice(sent_before, self.probe_credit))
        self.probe_credit = 0
        return chosen


class Retransmission(NamedTuple):
    """A retransmission that is due.

    Attributes:
        bypass: it bypasses the switches.
        requested: a pending answer requested it.
    """

    bypass: bool
    requested: bool


class LossDetector:
    """Chunks in flight, their losses and their timers."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._slots = link.ticket.slots
        self._paths = [_PathRecovery(path) for path in link.paths]
        self._largest_acked_on_link = -1  # as ``largest_acked``, over all paths
        self._requests: dict[int, bool] = {}  # requested positions in flight -> bypass the switches

    @property
    def in_flight(self) -> int:
        """Chunks in flight."""
        return sum([len(path.in_flight) for path in self._paths])

    def sent(self, position: int) -> SentChunk | None:
        """Return the chunk in flight at a position, if there is one."""
        return self._path(position).in_flight.get(position)

    def on_packet_sent(self, position: int, round_: RoundState, now: float, *, bypass: bool) -> None:
        """Take the first transmission of a chunk."""
        recovery, link = self._path(position), self._link
        sequence = recovery.path.sequence
        chunk = position - round_.begin
        run = position % self._slots // (SLOT_RUN * len(self._paths))
        share = (run + run // SLOT_SKEW) % SLOT_SHARES
        recovery.in_flight[position] = SentChunk(
            round_, chunk, now, sequence, link.sequence, now, sequence, bypass, bypass, share
        )
        recovery.path.sequence += 1
        link.sequence += 1

    def on_retransmitted(self, position: int, now: float, *, bypass: bool) -> SentChunk:
        """Take a retransmission of a chunk in flight, and return the chunk."""
        recovery = self._path(position)
        sent = recovery.in_flight[position]
        sent.sent_at, sent.sequence, sent.bypassed = now, recovery.path.sequence, bypass
        sent.retransmissions += 1
        self._link.stats.peer_retransmissions += sent.arrived
        sent.unanswered = not sent.arrived
        recovery.path.sequence += 1
        self._link.sequence += 1
        return sent

    def on_ack_received(self, position: int, now: float, *, marked: bool, retransmitted: bool) -> None:
        """Take the result of a position.

        Args:
            position: position of the chunk.
            now: time in seconds.
            marked: the result reports a full queue.
            retransmitted: the result has a retransmission in it, or answers one.
        """
        link = self._link
        self._requests.pop(position, None)
        recovery = self._path(position)
        recovery.pto_backoff = 1
        recovery.last_ack_at = now
        sent = recovery.in_flight.pop(position, None)
        if sent is None:
            return  # a quorum completed it without this worker
        # The result does not tell which transmission it acknowledges: count the first, and measure no round trip of a
        # retransmitted chunk (Karn's rule).
        once = sent.sequence == sent.first_sequence
        link.stats.reordered_results += once and sent.first_sequence < recovery.largest_acked
        if not once and not retransmitted and sent.first_sequence + REORDERING_THRESHOLD < recovery.largest_acked:
            recovery.in_order = False  # no retransmission is in the result: the first transmission was not lost
        recovery.results_since_loss += 1
        if retransmitted:
            recovery.min_pto_factor, recovery.results_since_loss = 1, 0
        elif not once and recovery.results_since_loss > RESULTS_WITHOUT_LOSS:
            recovery.min_pto_factor = min(2 * recovery.min_pto_factor, MAX_MIN_PTO_FACTOR)
        recovery.largest_acked = max(recovery.largest_acked, sent.first_sequence)
        recovery.acked_of_share[sent.share] = max(recovery.acked_of_share[sent.share], sent.first_sequence)
        self._largest_acked_on_link = max(self._largest_acked_on_link, sent.first_on_link)
        link.stats.latency.record(now - sent.first_sent_at)
        if once:
            recovery.path.rtt.sample(now - sent.sent_at)
            if link.pacer is not None:
                link.pacer.sample(now - sent.sent_at)
        elif sent.probe and retransmitted and now - sent.sent_at < recovery.path.rtt.loss_delay_s:
            recovery.probe_credit += PROBES_PER_LOST_PROBE
        link.congestion.on_packet_acked(sent.first_on_link, link.sequence, marked)

    def on_result_failed(self, position: int) -> None:
        """Take a result that failed its check: the chunk is taken again, past the switches."""
        sent = self.sent(position)
        if sent is not None:
            sent.bypass = True
            self._requests[position] = True

    def on_pending_received(self, position: int, pending: Header, now: float) -> None:
        """Take a pending answer: an aggregation point waits for a chunk that has no result here either."""
        recovery = self._path(position)
        sent = recovery.in_flight.get(position)
        if sent is None:
            return  # not sent yet: its turn comes
        sent.round.note_pending(pending)
        sent.probe = False
        # The path is alive and another worker is late: probe on, at a moderate pace.
        recovery.pto_backoff = min(recovery.pto_backoff, MAX_PENDING_BACKOFF)
        bypass = bool(pending.flags & _BYPASS)
        elsewhere = sent.bypassed != bypass
        late = now - sent.sent_at >= recovery.request_interval_s
        if self._link.membership.has_own(pending):
            self._link.stats.peer_retransmissions += sent.unanswered
            sent.arrived, sent.unanswered = True, False
            return
        sent.arrived = False
        if not (late or elsewhere):
            return
        self._requests[position] = bypass or sent.round.bypasses
        if elsewhere and now - sent.first_sent_at >= recovery.path.rtt.probe_timeout_s:
            # No loss, which would have been requested sooner: the other workers' contributions took another way than
            # this one, and so did theirs of the other chunks in flight. Requesting them one by one would take for ever.
            # Their servers do not matter: a switch is on the way to all of them.
            for other, one in itertools.chain.from_iterable(path.in_flight.items() for path in self._paths):
                if one.bypassed != bypass and not one.round.bypasses:
                    self._requests.setdefault(other, bypass)

    def detect_loss(self, now: float, probe_position: int, *, more_to_send: bool) -> dict[int, Retransmission]:
        """Return the positions to retransmit at ``now``; see above for the four events, which are taken in that order.

        Args:
            now: time in seconds.
            probe_position: position with the probe timer.
            more_to_send: further packets can be sent for the first time.
        """
        link = self._link
        lost = {position: Retransmission(bypass, requested=True) for position, bypass in self._requests.items()}
        self._requests.clear()
        for recovery, position, sent, left_s in self._reordered(now, more_to_send):
            if position in lost:
                continue
            if sent.sequence + REORDERING_THRESHOLD < recovery.acked_after(sent) or left_s <= 0:
                if recovery.path.rtt.queued:
                    link.congestion.on_packet_lost(sent.first_on_link, link.sequence)
                sent.probe = False
                lost[position] = Retransmission(sent.try_again(BYPASS_AFTER_LOSSES), requested=False)
        timed = self.sent(probe_position)
        if timed is not None and probe_position not in lost:
            recovery = self._path(probe_position)
            if recovery.probe_time_left(timed, now) <= 0:
                self._on_probe_timeout(recovery)
                lost[probe_position] = self._probe(timed)
        for recovery in self._paths:
            if recovery.probe_credit:
                for position in recovery.take_probes(lost):
                    lost[position] = self._probe(recovery.in_flight[position])
        return lost

    @property
    def has_requests(self) -> bool:
        """``detect_loss`` has retransmissions, whatever the time."""
        return bool(self._requests) or any(path.probe_credit for path in self._paths)

    def time_left(self, now: float, probe_position: int, *, more_to_send: bool) -> float:
        """Return the seconds until the next timer of chunks in flight runs out; arguments as of ``detect_loss``.

        0 or less while that position is not in flight.
        """
        timed = self.sent(probe_position)
        if timed is None:
            return 0.0
        reordered = (left_s for *_, left_s in self._reordered(now, more_to_send))
        return min(self._path(probe_position).probe_time_left(timed, now), min(reordered, default=MAX_PTO_S))

    def _on_probe_timeout(self, recovery: _PathRecovery) -> None:
        link = self._link
        recovery.pto_backoff = min(2 * recovery.pto_backoff, 1 << MAX_BACKOFF_EXPONENT)
        recovery.probe_sequence = recovery.path.sequence
        link.unanswered_probes += 1
        if link.unanswered_probes >= PERSISTENT_CONGESTION_TIMEOUTS:
            link.congestion.on_persistent_congestion(link.sequence, self.in_flight)

    @staticmethod
    def _probe(sent: SentChunk) -> Retransmission:
        sent.probe = True
        return Retransmission(sent.try_again(BYPASS_AFTER_PROBES), requested=False)

    def _path(self, position: int) -> _PathRecovery:
        return self._paths[position % self._slots % len(self._paths)]

    def _reordered(self, now: float, more_to_send: bool) -> Iterator[tuple[_PathRecovery, int, SentChunk, float]]:
        """Iterate over chunks that a later result makes suspicious, with the seconds left to them.

        They are the reordered ones of each path, or else the first one of the path if it was reordered on the link,
        or, without ``in_order``, on the path.
        Such a one waits for no late worker either, but may need as much as a round trip, or more while its path's
        results arrive one by one. Without it, a loss among the last packets of each path would wait for the probe
        timeout.

        Where nothing is left to be sent for now, one later result is enough, because no more may follow.
        """
        threshold = REORDERING_THRESHOLD if more_to_send else 0
        for recovery in self._paths:
            reordered = False
            for position, sent in recovery.reordered(threshold):
                reordered = True
                yield recovery, position, sent, recovery.loss_time_left(sent, sent.sent_at, now)
            if recovery.in_flight and not reordered:
                position, sent = next(iter(recovery.in_flight.items()))
                if sent.first_on_link + threshold < self._largest_acked_on_link:
                    since = max(sent.sent_at, recovery.last_ack_at)
                    yield recovery, position, sent, recovery.loss_time_left(sent, since, now)
