# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packet counters of a worker."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

from lanesum.transport.latency import LatencyHistogram

#: Records of failed chunks that a worker keeps for its reports.
MAX_FAILED_CHUNKS = 64


class FailedChunk(NamedTuple):
    """A chunk of a certified job whose results failed their check at a worker.

    Attributes:
        number: running number of the record at the worker, from 1.
        epoch: epoch of the round.
        chunk: number of the packet in the round.
        slot: slot of the chunk in the job.
        of_switches: failed results that a switch completed.
        of_server: failed results that a server completed.
    """

    number: int
    epoch: int
    chunk: int
    slot: int
    of_switches: int
    of_server: int


@dataclass(slots=True)
class TransportStats:
    """Counts since the transport was opened; bytes are UDP payloads with the lanesum header.

    Every packet received is counted once under ``packets_received`` and, unless it completed a chunk, once more under
    one of ``duplicate_results``, ``failed_results``, ``pending_replies``, ``conflicts`` and ``foreign_packets``.
    """

    packets_sent: int = 0
    packets_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    retransmissions: int = 0  # of contributions, for any reason
    answered_pendings: int = 0  # of them, retransmissions that a pending answer requested
    peer_retransmissions: int = 0  # of chunks that have arrived, by a pending answer, and lack another worker's
    bypasses: int = 0  # contributions that bypass the switches
    duplicate_results: int = 0  # results of chunks that have theirs already
    reordered_results: int = 0  # of chunks sent once, after the result of a chunk that was sent later on the same path
    pending_replies: int = 0
    conflicts: int = 0
    foreign_packets: int = 0  # of another job, tag, epoch or version, unexpected contributors, or malformed: ignored
    failed_results: int = 0  # results that failed the check of a certified job: not used
    partial_results: int = 0  # results of a quorum, without all workers
    server_results: int = 0  # results that a server completed; switches completed the others
    ecn_marks: int = 0  # results that report a full queue
    collisions: int = 0  # results whose slot another job held
    rounds: int = 0
    wait_us: int = 0  # time in which calls sent, waited for packets and received, in microseconds
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)  # of chunks, from first transmission to result

    def __add__(self, other: TransportStats) -> TransportStats:
        return TransportStats(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, earlier: TransportStats) -> TransportStats:
        """Return the counts since ``earlier``."""
        return TransportStats(*(getattr(self, f.name) - getattr(earlier, f.name) for f in fields(self)))

    def copy(self) -> TransportStats:
        """Return a snapshot."""
        return replace(self, latency=LatencyHistogram(bytes(self.latency)))

    @property
    def chunks(self) -> int:
        """Packets received that completed a chunk."""
        refused = self.duplicate_results + self.failed_results + self.pending_replies
        refused += self.conflicts + self.foreign_packets
        return self.packets_received - refused

    def retransmission_causes(self) -> dict[str, int]:
        """Return the retransmissions by cause: another worker was late, the result was on its way, or a loss."""
        peer_late = self.peer_retransmissions
        # Retransmissions of other workers bring second results, too.
        needless = min(self.duplicate_results, self.retransmissions - peer_late)
        return {"peer_late": peer_late, "needless": needless, "lost": self.retransmissions - peer_late - needless}

    def counts(self) -> dict[str, int]:
        """Return all counts of packets and rounds by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("latency", "wait_us")}

    def report(self) -> dict[str, int]:
        """Return the record for the controller: counts, chunks, the sum of their latencies, and the time of waits."""
        times = {"latency_us": round(self.latency.total * 1e6), "wait_us": self.wait_us}
        return {**self.counts(), "chunks": self.chunks, **times}

    def figures(self) -> dict[str, object]:
        """Return a JSON-ready object: all counts, and the number of chunks and percentiles of ``latency``."""
        latency = self.latency
        return {**self.counts(), "latency": {"chunks": latency.count, "p50_s": latency.p50, "p99_s": latency.p99}}
