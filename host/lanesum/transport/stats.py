# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What a worker counts of its packets."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from lanesum.transport.latency import Latency


@dataclass(slots=True)
class TransportStats:
    """Counts since the transport was opened; bytes are UDP payloads with the lanesum header.

    Every packet received is counted once under ``packets_received`` and, unless it completed a chunk, once more under
    one of ``duplicate_results``, ``pending_replies``, ``conflicts`` and ``foreign_packets``.
    """

    packets_sent: int = 0
    packets_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    retransmissions: int = 0  # contributions sent again, for whatever reason
    answered_pendings: int = 0  # those of them that a pending answer asked for
    bypasses: int = 0  # contributions that no switch was to take
    duplicate_results: int = 0  # of a chunk of this round that has its result
    pending_replies: int = 0
    conflicts: int = 0
    foreign_packets: int = 0  # another job, tag, epoch or version, other contributors, or malformed: ignored
    partial_results: int = 0  # made by a quorum, without everybody
    ecn_marks: int = 0  # results that tell of a full queue
    collisions: int = 0  # results whose slot another job held
    rounds: int = 0
    latency: Latency = field(default_factory=Latency)  # of chunks, from their first send to their result

    def __add__(self, other: TransportStats) -> TransportStats:
        return TransportStats(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, earlier: TransportStats) -> TransportStats:
        """What was counted since ``earlier``."""
        return TransportStats(*(getattr(self, f.name) - getattr(earlier, f.name) for f in fields(self)))

    def copy(self) -> TransportStats:
        """A snapshot: counts that change no more."""
        return replace(self, latency=Latency(bytes(self.latency)))

    def counts(self) -> dict[str, int]:
        """All counts by name, without ``latency``."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "latency"}

    def figures(self) -> dict[str, Any]:
        """A JSON-ready object: all counts, and what ``latency`` comes to."""
        latency = self.latency
        return {**self.counts(), "latency": {"chunks": latency.count, "p50_s": latency.p50, "p99_s": latency.p99}}
