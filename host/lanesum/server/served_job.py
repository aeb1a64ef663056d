# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One job at the server: takes contributions of its members and returns answers."""

from __future__ import annotations

import enum
from pathlib import Path

import numpy as np

from lanesum._internal.udp_socket import Address
from lanesum.aggregation.combine import expand
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.owners import Turns, gets_words, owner_mark, owner_of, sends_words
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import GATHERED, NONCE_WORDS, OPENING, SCATTERED, Flag
from lanesum.server import answers
from lanesum.server.jobs import MemberIndex, ServerJob
from lanesum.server.journal import Journal
from lanesum.server.member_table import MemberTable, set_bits
from lanesum.server.quorum_results import QuorumResultCache
from lanesum.server.slot_table import ServerDecision, ServerEntry, ServerSlotTable

# Datagrams with their receivers.
Datagrams = list[tuple[Address, bytes]]

_KEPT_FLAGS = Flag.ECN | Flag.COLLISION | Flag.RETRANSMISSION
_COMPLETE = (ServerDecision.CLAIM_AND_COMPLETE, ServerDecision.CONTRIBUTE_AND_COMPLETE)
_INCOMPLETE = (ServerDecision.REPORT_PENDING, ServerDecision.REPORT_OVERLAP)


class Refusal(enum.StrEnum):
    """Reason why a datagram changed nothing."""

    MALFORMED = "malformed"
    VERSION = "other version"
    KIND = "not a contribution"
    MEMBER = "not a member"
    TAG = "wrong tag"
    SLOT = "slot out of range"
    OPERATION = "operation not allowed"
    OWNER = "wrong owner"
    SIZE = "other packet size"
    FORGED = "forged aggregate"
    BITMAP = "impossible bitmap"
    JOURNAL = "journal not written"


class RefusedDatagramError(Exception):
    """A datagram was refused. Internal to this package."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal


class ServedJob:
    """State of one job: its entries and, with a quorum, its results.

    Raises ConfigurationError: the journal cannot be used.
    """

    def __init__(self, job: ServerJob, journal_folder: Path | None) -> None:
        self.job = job
        self._members = MemberTable(job)
        self._slots = ServerSlotTable(job.threshold, len(job.members))
        self._opening_chunks = -(-NONCE_WORDS * len(job.members) // job.accumulator_words)
        self._journal: Journal | None = None
        self._results: QuorumResultCache | None = None
        if job.has_quorum and journal_folder is not None:
            journal = self._journal = Journal(journal_folder, job, self._members)
            self._results = QuorumResultCache(journal.result_capacity, journal.write, journal.recorded)
        elif job.has_quorum:
            self._results = QuorumResultCache(job.result_capacity)

    def close(self) -> None:
        """Close the journal, which stays for a later process; idempotent."""
        if self._journal is not None:
            self._journal.close()

    def contribute(self, sender: Address, packet: Packet, congested: bool) -> tuple[ServerDecision, Datagrams]:
        """Count a contribution; return the decision and the answers.

        Args:
            congested: its IPv4 header had the mark Congestion Experienced.

        Raises RefusedError: the packet may not change anything.
        """
        header = packet.header
        member = self.job.members.get(sender)
        if member is None:
            raise RefusedDatagramError(Refusal.MEMBER)
        workers = self._check(header, member)
        if self._results is not None and header.spare != OPENING:
            answer = self._answer_from_cache(self._results, header, member, workers)
            if answer is not None:
                return answer
        is_aggregate = bool(header.flags & Flag.UPPER)
        op = LaneOp(header.op)
        words = packet.payload if is_aggregate else expand(op, packet.payload, self.job.code_table)
        if not header.words:  # of a chunk of another worker, in a gathered round
            words = np.zeros(self.job.accumulator_words, np.uint32)
        flags = header.flags & _KEPT_FLAGS | (Flag.ECN if congested else 0)
        decision, entry = self._slots.contribute(
            header,
            workers,
            words,
            flags=flags,
            single_workers=not self.job.on_switches,
            owner=self._owner(header) if header.racks & SCATTERED else None,
        )
        if decision in _COMPLETE:
            return decision, self._results_to(self._members.all_workers, header, self._complete(header, entry))
        if decision is ServerDecision.REPLAY and entry.result is not None:
            replay = answers.with_flags(entry.result, Flag.RETRANSMISSION | flags & Flag.ECN)  # INV-2: the same words
            return decision, self._results_to(self._contributors(header, member, workers), header, replay)
        if decision in _INCOMPLETE:
            return decision, self._pending(header, entry, member)
        if decision is ServerDecision.REPORT_CONFLICT:
            conflict = entry.conflict or answers.conflict(header, entry.owner, member)
            if entry.result is None:
                entry.conflict = conflict
            return decision, self._to(self._members.all_workers, conflict)
        if decision is ServerDecision.DROP_LATE and self._results is not None and header.spare != OPENING:
            return self._gone(header, member, workers)
        return decision, []

    def _check(self, header: Header, member: MemberIndex) -> int:
        """Return the set of workers that a member's packet is the sum of (INV-5). Raises RefusedError."""
        job = self.job
        if header.tag != job.tag:
            raise RefusedDatagramError(Refusal.TAG)
        if header.slot >= job.slots:
            raise RefusedDatagramError(Refusal.SLOT)
        opening = header.spare == OPENING
        if opening and header.chunk >= self._opening_chunks:
            raise RefusedDatagramError(Refusal.SLOT)
        if header.op != LaneOp.OR if opening else header.op not in job.ops:
            raise RefusedDatagramError(Refusal.OPERATION)
        shape = LaneOp(header.op).shape
        if header.racks & GATHERED and (job.has_quorum or shape.widens):
            raise RefusedDatagramError(Refusal.OPERATION)
        # A switch uses the mark as it is, because it cannot divide. Without a mark it sends all words.
        owner = self._owner(header)
        mark = owner_mark(owner, header.racks)
        if header.racks & SCATTERED and header.spare not in (0, mark):
            raise RefusedDatagramError(Refusal.OWNER)
        if not header.flags & Flag.UPPER:
            has_words = sends_words(member.worker, owner, header.racks)
            if header.words != has_words * shape.uplink_words(job.accumulator_words):
                raise RefusedDatagramError(Refusal.SIZE)
            return 1 << member.worker
        if not job.on_switches or opening:
            raise RefusedDatagramError(Refusal.FORGED)
        if header.words != job.accumulator_words:
            raise RefusedDatagramError(Refusal.SIZE)
        if header.fan_in_racks:
            workers = self._members.workers_in_racks(header.workers)
        else:
            workers = self._members.workers_at(member.rack, header.workers)
        # An aggregate bears the address of one of its workers: the last contributor, or the one that retransmitted.
        if workers is None or not workers >> member.worker & 1:
            raise RefusedDatagramError(Refusal.BITMAP)
        return workers

    def _owner(self, header: Header) -> int | None:
        """Return the worker that the chunk of a contribution belongs to; None if it belongs to all."""
        if not header.racks & (SCATTERED | GATHERED):
            return None
        workers, words = len(self.job.members), self.job.accumulator_words
        return owner_of(header.chunk, header.racks, Turns.of_round(LaneOp(header.op), header.racks, words, workers))

    def _answer_from_cache(
        self, results: QuorumResultCache, header: Header, member: MemberIndex, workers: int
    ) -> tuple[ServerDecision, Datagrams] | None:
        """Return the answer to a packet of a completed chunk; None if the chunk is open."""
        cached = results.find(header)
        if cached is None:
            return self._gone(header, member, workers) if results.is_evicted(header) else None
        if (cached.owner.op, cached.owner.round_words) != (header.op, header.racks):
            conflict = answers.conflict(header, cached.owner, member)
            return ServerDecision.REPORT_CONFLICT, self._to(self._members.all_workers, conflict)
        replay = answers.with_flags(cached.datagram, header.flags & Flag.RETRANSMISSION)
        return ServerDecision.REPLAY, self._results_to(self._contributors(header, member, workers), header, replay)

    def _complete(self, header: Header, entry: ServerEntry) -> bytes:
        sums = entry.partial_sums
        result = answers.result(self._members, header, entry.owner, sums.workers, sums.total(), entry.flags)
        if self._results is not None and header.spare != OPENING:
            try:
                self._results.record(entry.owner, result)
            except OSError as error:
                # No worker has received this result, so the next contribution may complete another one.
                raise RefusedDatagramError(Refusal.JOURNAL) from error
        entry.complete(result)
        return result

    @staticmethod
    def _contributors(header: Header, member: MemberIndex, workers: int) -> int:
        """Return the receivers of a replay: an aggregate is answered to all workers in it."""
        return workers if header.flags & Flag.UPPER else 1 << member.worker

    def _results_to(self, workers: int, asked: Header, result: bytes) -> Datagrams:
        """Return a result for each of ``workers``: header-only for those that need no words of the chunk."""
        owner = self._owner(asked)
        if owner is None:
            return self._to(workers, result)
        brief = answers.header_only(result, self.job.accumulator_words)
        addresses = self._members.addresses
        return [
            (addresses[worker], result if gets_words(worker, owner, asked.racks) else brief)
            for worker in set_bits(workers)
        ]

    def _to(self, workers: int, datagram: bytes) -> Datagrams:
        return [(self._members.addresses[worker], datagram) for worker in set_bits(workers)]

    def _pending(self, header: Header, entry: ServerEntry, member: MemberIndex) -> Datagrams:
        """Return pending packets for the sender and for all workers whose contributions are missing."""
        arrived = entry.partial_sums.workers
        receivers = self._members.all_workers & ~arrived | 1 << member.worker
        by_rack: dict[int, bytes] = {}
        datagrams = []
        for worker in set_bits(receivers):
            rack = self._members.indices[worker].rack
            if rack not in by_rack:
                by_rack[rack] = answers.pending(self._members, header, entry.owner, arrived, worker)
            datagrams.append((self._members.addresses[worker], by_rack[rack]))
        return datagrams

    def _gone(self, header: Header, member: MemberIndex, workers: int) -> tuple[ServerDecision, Datagrams]:
        receivers = self._contributors(header, member, workers)
        return ServerDecision.REPORT_GONE, self._to(receivers, answers.gone(self._members, header))
