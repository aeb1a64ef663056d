# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The server's logic without sockets: datagrams in, datagrams out, with the slot semantics of the switch."""

from __future__ import annotations

import collections
from dataclasses import dataclass

from lanesum.aggregation.slots import Decision, SlotTable
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header, Packet, PacketError
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, Flag, Kind
from lanesum.transport.ticket import JobTicket
from lanesum.udp_socket import Address

OTHER_PACKET_SIZE = "other packet size"
_RESULTS = (Decision.CLAIM_AND_COMPLETE, Decision.CONTRIBUTE_AND_COMPLETE)


@dataclass(frozen=True, slots=True)
class ServerJob:
    """A job as the server knows it: who may contribute, from where, and what."""

    job: int
    tag: int
    members: dict[Address, int]  # address -> worker number
    slots: int
    ops: tuple[LaneOp, ...] = tuple(LaneOp)
    code_table: bytes | None = None
    accumulator_words: int = DEFAULT_ACCUMULATOR_WORDS

    @classmethod
    def from_tickets(cls, tickets: list[JobTicket]) -> ServerJob:
        """The job whose workers hold ``tickets``; their local addresses must have real ports."""
        first = tickets[0]
        members = {ticket.local: ticket.worker for ticket in tickets}
        return cls(first.job, first.tag, members, first.slots, first.ops, first.code_table, first.accumulator_words)


class Aggregator:
    """Jobs and their slots. ``refused`` counts, by reason, the datagrams that changed nothing."""

    def __init__(self) -> None:
        self.jobs: dict[int, ServerJob] = {}
        self.refused: collections.Counter[str] = collections.Counter()
        self.decisions: collections.Counter[Decision] = collections.Counter()
        self._slots: dict[int, SlotTable] = {}

    def admit(self, job: ServerJob) -> None:
        """Serve ``job``; an older incarnation with the same number is forgotten."""
        self.jobs[job.job] = job
        self._slots[job.job] = SlotTable()

    def remove(self, job: int) -> None:
        """Forget a job; unknown ones are none of our business."""
        self.jobs.pop(job, None)
        self._slots.pop(job, None)

    def handle(self, sender: Address, datagram: bytes) -> list[tuple[Address, bytes]]:
        """Answers to one datagram. Anything that is no valid contribution is counted in ``refused``."""
        try:
            packet = Packet.unpack(datagram)
        except PacketError:
            return self._refuse("malformed")
        header = packet.header
        job = self.jobs.get(header.job)
        if header.kind != Kind.CONTRIBUTION:
            return self._refuse("not a contribution")
        if job is None or sender not in job.members or header.tag != job.tag:
            return self._refuse("not a member")
        if header.slot >= job.slots:
            return self._refuse("slot out of range")
        if header.op not in job.ops:
            return self._refuse("operation not allowed")
        op = LaneOp(header.op)
        if header.words != op.shape.uplink_words(job.accumulator_words):
            return self._refuse(OTHER_PACKET_SIZE)
        decision, entry = self._slots[job.job].contribute(
            header,
            packet.payload,
            slot=header.slot,
            worker=1 << job.members[sender],
            fan_in=len(job.members),
            code_table=job.code_table,
        )
        self.decisions[decision] += 1
        if decision in _RESULTS:
            result = self._answer(header, job, entry.workers, 0, Packet(header, entry.words))
            return [(member, result) for member in job.members]
        if decision is Decision.REPLAY:
            return [(sender, self._answer(header, job, entry.workers, Flag.RESEND, Packet(header, entry.words)))]
        if decision is Decision.REPORT_PENDING:
            packet.payload = packet.payload[:0]
            return [(sender, self._answer(header, job, entry.workers, Flag.RESEND, packet, Kind.PENDING))]
        return []

    def _refuse(self, reason: str) -> list[tuple[Address, bytes]]:
        self.refused[reason] += 1
        return []

    @staticmethod
    def _answer(
        header: Header, job: ServerJob, workers: int, flags: int, packet: Packet, kind: Kind = Kind.RESULT
    ) -> bytes:
        header.kind, header.flags, header.workers = kind, flags, workers
        header.fan_in_workers = len(job.members)
        return packet.pack()
