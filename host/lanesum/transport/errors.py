# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of the worker's transport."""

from __future__ import annotations

import os
from dataclasses import dataclass

from lanesum.errors import LanesumError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import CERTIFIED, GATHERED, SCATTERED, Flag
from lanesum.transport.path_check import packet_bytes
from lanesum.transport.ticket import JobTicket


class TransportError(LanesumError):
    """Base class of the transport's errors."""


class AggregationTimeoutError(TransportError):
    """No progress until the deadline.

    Attributes:
        missing: workers, by number, that the aggregation point still waits for; empty if it never answered.
    """

    def __init__(self, what: str, next_step: str, missing: tuple[int, ...]) -> None:
        super().__init__(what, next_step)
        self.missing = missing


class SessionClosedError(TransportError):
    """The session was closed, or an earlier all-reduce failed and left its rounds out of step with the job."""


class UsedTicketError(SessionClosedError):
    """The ticket was used before, in this process or in another one. It is valid for one session."""


class WorkerGoneError(TransportError):
    """Another worker has failed, died or left, so the job cannot go on. The controller has reported it.

    Attributes:
        worker: its number.
        host: its host, as the topology names it.
        kind: ``failed``, ``lost`` (no process answers any more) or ``left``.
        cause: its own words; empty if it died.
    """

    def __init__(self, job: str, worker: int, host: str, kind: str, cause: str) -> None:
        event = {"failed": f"has failed: {cause}", "left": f"has left: {cause}"}.get(
            kind, "is lost: its process has ended without a report, or its machine does not answer"
        )
        super().__init__(
            f"Worker {worker} ({host}) of job {job!r} {event.rstrip('.')}.",
            "Read its log, mend the cause, and start all workers again.",
        )
        self.worker = worker
        self.host = host
        self.kind = kind
        self.cause = cause


class ResultGoneError(TransportError):
    """A quorum continued without this worker, so long ago that the server has evicted the result."""


class CertificationError(TransportError):
    """The results of a chunk fail their check, also past the switches. No worker of the job uses a wrong sum.

    Attributes:
        epoch, chunk, slot: the chunk.
    """

    def __init__(self, what: str, next_step: str, header: Header) -> None:
        super().__init__(what, next_step)
        self.epoch, self.chunk, self.slot = header.epoch, header.chunk, header.slot


@dataclass(frozen=True, slots=True)
class RoundSize:
    """A worker's part in a round.

    Attributes:
        op: code of the operation.
        words: uplink words of the whole round.
        certified: packets have check words.
        scattered: each sum is for the owner of its chunk.
        gathered: each chunk has the words of its owner alone.
    """

    op: int
    words: int
    certified: bool = False
    scattered: bool = False
    gathered: bool = False

    @classmethod
    def from_wire(cls, op: int, size: int) -> RoundSize:
        """Return the part that a conflict reports, from its operation and round size."""
        marks = CERTIFIED, SCATTERED, GATHERED
        return cls(op, size & ~sum(marks), *(bool(size & mark) for mark in marks))

    def __str__(self) -> str:
        known = self.op in set(LaneOp)
        kind = "scattered " * self.scattered + "gathered " * self.gathered + "certified " * self.certified
        return f"{self.words:,} {kind}words for {LaneOp(self.op).name if known else f'operation {self.op}'}"


class MismatchError(TransportError):
    """Two workers brought different operations or sizes to the same round.

    Attributes:
        worker: number of the worker that disagreed with those before it; None if only its rack is known.
        brought: its operation and words.
        sender: its host and source address, as the controller has them; empty if that is not known.
        expected: those of the workers before it. Vectors of different lengths may be padded to the same words: then the
            two are the largest and the smallest number of values.
    """

    def __init__(self, what: str, next_step: str, worker: int | None, brought: RoundSize, expected: RoundSize) -> None:
        super().__init__(what, next_step)
        self.worker = worker
        self.brought = brought
        self.expected = expected
        self.sender = ""

    def name_sender(self, sender: str) -> None:
        """Add the host and the source address of the worker that disagreed to the message, once."""
        if sender and not self.sender:
            self.sender = sender
            self.next_step += f" Worker {self.worker} is {sender}."
            self.args = (f"{self.what} {self.next_step}",)


def round_number(ticket: JobTicket, epoch: int) -> int:
    """Return the number of a round in its session, from 0; the ticket has the epoch of the first one."""
    return (epoch - ticket.epoch) % (1 << 32)


def used_ticket_error(ticket: JobTicket) -> UsedTicketError:
    """Return the error of a worker whose ticket was used before."""
    return UsedTicketError(
        f"The ticket of worker {ticket.worker} of job {ticket.label} was used already: a ticket is valid for one "
        "session, and after a restart all workers need new ones.",
        "Join the job again (lanesum.join, or lanesum job ticket). Without a controller, make tickets with a new "
        "tag for all workers, and admit the job with them.",
    )


def certification_error(ticket: JobTicket, header: Header) -> CertificationError:
    """Return the error of a result, given by its header, that fails its check again and again."""
    server = "{}:{}".format(*ticket.servers[header.slot % len(ticket.servers)])
    return CertificationError(
        f"Job {ticket.label}, round {round_number(ticket, header.epoch)}: results of slot {header.slot} from the "
        f"server {server} fail their check at worker {ticket.worker}.",
        "Join the job again. If this error returns, check the memory and the network card of this host and of the "
        "server's host. Tickets of all workers must be of one admission.",
        header,
    )


def gone_error(ticket: JobTicket, header: Header) -> ResultGoneError:
    """Return the error that a pending answer with GONE means for the ticket's worker."""
    return ResultGoneError(
        f"Job {ticket.label}, round {round_number(ticket, header.epoch)}: worker {ticket.worker} is too late; the "
        "quorum continued without it, and the server has evicted the result.",
        "Join the job again, with the state of an up-to-date worker.",
    )


def mismatch_error(ticket: JobTicket, header: Header, own: RoundSize | None) -> MismatchError:
    """Return the error that a conflict means; ``own``: the part of the ticket's worker in that round, if any."""
    brought = RoundSize.from_wire(header.fan_in_racks, header.workers)
    expected = RoundSize.from_wire(header.op, header.racks)
    # Between racks the offender is a rack's aggregate, which has no worker's number; and the field has 8 bits.
    candidates = () if header.flags & Flag.UPPER else range(header.fan_in_workers, ticket.workers, 256)
    worker = candidates[0] if len(candidates) == 1 else None
    who = f"worker {' or '.join(map(str, candidates))}" if candidates else "another rack"
    mine = f"; worker {ticket.worker} itself has {own}" if own is not None else ""
    number = round_number(ticket, header.epoch)
    return MismatchError(
        f"Job {ticket.label}, round {number}: {who} brought {brought}, others {expected}{mine}.",
        "All workers must reduce tensors of the same sizes, with the same codec, in the same order.",
        worker,
        brought,
        expected,
    )


def timeout_error(
    ticket: JobTicket,
    epoch: int | None,
    deadline_s: float,
    *,
    missing: tuple[int, ...],
    refused: bool,
    answered: bool,
    failed: bool = False,
    obstacle: str = "",
) -> AggregationTimeoutError:
    """Return the error of a round that made no progress until the deadline.

    Args:
        ticket: of the worker that waited.
        epoch: epoch of the round; None for the opening of the session.
        deadline_s: the deadline.
        missing: workers that the aggregation point reported missing.
        refused: results arrived and were refused.
        answered: any answer of the round arrived.
        failed: results of a certified job arrived, and failed their check.
        obstacle: reason why this host cannot send packets; empty if it can.
    """
    round_ = "opening of the session" if epoch is None else f"round {round_number(ticket, epoch)}"
    what = f"Job {ticket.label}, {round_}: no progress for {deadline_s:g} s at worker {ticket.worker}"
    path_check = (
        f"it has to carry packets of {packet_bytes(ticket):,} bytes (lanesum doctor --controller). "
        "A job that is admitted again gets smaller ones."
    )
    same_servers = ""
    if len(ticket.servers) > 1:
        same_servers = f" All workers need the same servers in the same order; this one has {ticket.server_names}."
    if obstacle:
        what, next_step = f"{what}; {obstacle}.", "Check the interfaces, the routes and the firewall of this host."
    elif missing:
        names = ", ".join(map(str, missing))
        what, next_step = f"{what}; still missing: worker {names}.", f"Check the logs of these workers.{same_servers}"
        if ticket.worker in missing:
            next_step = f"Check the path of this worker: {path_check}{same_servers}"
    elif failed:
        what, next_step = f"{what}; results arrived and failed their check.", "Check the memory of switches and hosts."
    elif refused:
        what = f"{what}; results arrived with other contributors than the job's {ticket.workers} workers."
        next_step = "The aggregation point holds another membership of this job: admit the job again."
    elif answered:
        what = f"{what}, although answers arrived before."
        next_step = f"Check the path to the switch and its drops: {path_check}{same_servers}"
    else:
        what = f"{what}; no answer ever arrived from {ticket.server_names}."
        next_step = (
            "Check that the switch runs, that the job is admitted there with this worker's address, and that no worker "
            f"has joined it anew since. Check the path: {path_check}"
        )
    return AggregationTimeoutError(what, next_step, missing)


def cannot_send(ticket: JobTicket, server: int, error: int) -> TransportError:
    """Return the error of an errno with which sending to a server, by its number, ended."""
    return TransportError(
        f"Worker {ticket.worker} cannot send to {ticket.servers[server][0]}: {os.strerror(error)}.",
        "Check the route to the aggregation server.",
    )


def closed_in_round() -> SessionClosedError:
    """Return the error of a round whose session another thread has closed."""
    return SessionClosedError("This session was closed while a round of it was in flight.")
