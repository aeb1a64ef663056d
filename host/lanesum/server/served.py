# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One job at the server: its members' contributions in, answers out."""

from __future__ import annotations

import enum
from pathlib import Path

from lanesum._internal.udp_socket import Address
from lanesum.aggregation.combine import expand
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import Flag
from lanesum.server import answers
from lanesum.server.history import History
from lanesum.server.jobs import Place, ServerJob
from lanesum.server.journal import Journal
from lanesum.server.ledger import Decision, Entry, Ledger
from lanesum.server.roster import Roster, members_of

Datagrams = list[tuple[Address, bytes]]

_KEPT_FLAGS = Flag.ECN | Flag.COLLISION
_COMPLETE = (Decision.CLAIM_AND_COMPLETE, Decision.CONTRIBUTE_AND_COMPLETE)
_INCOMPLETE = (Decision.REPORT_PENDING, Decision.REPORT_OVERLAP)


class Refusal(enum.StrEnum):
    """Why a datagram changed nothing."""

    MALFORMED = "malformed"
    VERSION = "other version"
    KIND = "not a contribution"
    MEMBER = "not a member"
    TAG = "wrong tag"
    SLOT = "slot out of range"
    OPERATION = "operation not allowed"
    SIZE = "other packet size"
    FORGED = "forged aggregate"
    BITMAP = "impossible bitmap"
    JOURNAL = "journal not written"


class RefusedError(Exception):
    """A datagram that is to change nothing; never leaves this package."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal


class ServedJob:
    """A job with its entries and, with a quorum, its decisions.

    Raises ConfigurationError when the journal cannot be used.
    """

    def __init__(self, job: ServerJob, journal_folder: Path | None) -> None:
        self.job = job
        self._roster = Roster(job)
        self._ledger = Ledger(job.threshold)
        self._journal: Journal | None = None
        self._history: History | None = None
        if job.decides and journal_folder is not None:
            self._journal = Journal(journal_folder, job, self._roster)
            self._history = History(self._journal.keep, self._journal.write, self._journal.recorded)
        elif job.decides:
            self._history = History(job.decisions_kept)

    def close(self) -> None:
        """Leave the journal to a later life; idempotent."""
        if self._journal is not None:
            self._journal.close()

    def contribute(self, sender: Address, packet: Packet, congested: bool) -> tuple[Decision, Datagrams]:
        """Take a contribution; returns what was done and who gets which datagram.

        ``congested``: its IPv4 header said so. Raises RefusedError.
        """
        header = packet.header
        place = self.job.members.get(sender)
        if place is None:
            raise RefusedError(Refusal.MEMBER)
        workers = self._check(header, place)
        if self._history is not None:
            answer = self._answer_decided(self._history, header, place, workers)
            if answer is not None:
                return answer
        is_aggregate = bool(header.flags & Flag.UPPER)
        op = LaneOp(header.op)
        words = packet.payload if is_aggregate else expand(op, packet.payload, self.job.code_table)
        flags = header.flags & _KEPT_FLAGS | (Flag.ECN if congested else 0)
        decision, entry = self._ledger.take(header, workers, words, flags=flags, single=not self.job.on_switches)
        if decision in _COMPLETE:
            return decision, self._to(self._roster.everybody, self._complete(header, entry))
        if decision is Decision.REPLAY and entry.result is not None:
            replay = answers.with_flags(entry.result, Flag.RETRANSMISSION | flags & Flag.ECN)
            return decision, self._to(self._askers(header, place, workers), replay)
        if decision in _INCOMPLETE:
            return decision, self._pending(header, entry, place)
        if decision is Decision.REPORT_CONFLICT:
            conflict = entry.conflict or answers.conflict(header, entry.owner, place)
            if entry.result is None:
                entry.conflict = conflict
            return decision, self._to(self._roster.everybody, conflict)
        if decision is Decision.DROP_LATE and self._history is not None:
            return self._gone(header, place, workers)
        return decision, []

    def _check(self, header: Header, place: Place) -> int:
        """The set of workers that a member's packet is the sum of. Raises RefusedError."""
        job = self.job
        if header.tag != job.tag:
            raise RefusedError(Refusal.TAG)
        if header.slot >= job.slots:
            raise RefusedError(Refusal.SLOT)
        if header.op not in job.ops:
            raise RefusedError(Refusal.OPERATION)
        if not header.flags & Flag.UPPER:
            if header.words != LaneOp(header.op).shape.uplink_words(job.accumulator_words):
                raise RefusedError(Refusal.SIZE)
            return 1 << place.worker
        if not job.on_switches:
            raise RefusedError(Refusal.FORGED)
        if header.words != job.accumulator_words:
            raise RefusedError(Refusal.SIZE)
        if header.fan_in_racks:
            workers = self._roster.workers_in_racks(header.workers)
        else:
            workers = self._roster.workers_at(place.rack, header.workers)
        # The packet bears the address of a worker that it sums up: the one that completed it, or asked again.
        if workers is None or not workers >> place.worker & 1:
            raise RefusedError(Refusal.BITMAP)
        return workers

    def _answer_decided(
        self, history: History, header: Header, place: Place, workers: int
    ) -> tuple[Decision, Datagrams] | None:
        """The answer where the chunk was decided before, else None."""
        decided = history.find(header)
        if decided is None:
            return self._gone(header, place, workers) if history.forgot(header) else None
        if (decided.owner.op, decided.owner.round_words) != (header.op, header.racks):
            conflict = answers.conflict(header, decided.owner, place)
            return Decision.REPORT_CONFLICT, self._to(self._roster.everybody, conflict)
        return Decision.REPLAY, self._to(self._askers(header, place, workers), decided.datagram)

    def _complete(self, header: Header, entry: Entry) -> bytes:
        pieces = entry.pieces
        result = answers.result(self._roster, header, entry.owner, pieces.workers, pieces.total(), entry.flags)
        if self._history is not None:
            try:
                self._history.record(entry.owner, result)
            except OSError as error:
                # Nobody has heard of it, so the next contribution may decide anew.
                raise RefusedError(Refusal.JOURNAL) from error
        entry.complete(result)
        return result

    @staticmethod
    def _askers(header: Header, place: Place, workers: int) -> int:
        """A switch that sends its sum again does so for all workers in it."""
        return workers if header.flags & Flag.UPPER else 1 << place.worker

    def _to(self, workers: int, datagram: bytes) -> Datagrams:
        return [(self._roster.addresses[worker], datagram) for worker in members_of(workers)]

    def _pending(self, header: Header, entry: Entry, place: Place) -> Datagrams:
        """To the sender, and to everybody who is still to send."""
        there = entry.pieces.workers
        receivers = self._roster.everybody & ~there | 1 << place.worker
        made: dict[int, bytes] = {}  # one for each rack
        datagrams = []
        for worker in members_of(receivers):
            rack = self._roster.places[worker].rack
            if rack not in made:
                made[rack] = answers.pending(self._roster, header, entry.owner, there, worker)
            datagrams.append((self._roster.addresses[worker], made[rack]))
        return datagrams

    def _gone(self, header: Header, place: Place, workers: int) -> tuple[Decision, Datagrams]:
        return Decision.REPORT_GONE, self._to(self._askers(header, place, workers), answers.gone(self._roster, header))
