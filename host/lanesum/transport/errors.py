# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong between a worker and the aggregation point."""

from __future__ import annotations

from dataclasses import dataclass

from lanesum.errors import LanesumError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import Flag
from lanesum.transport.ticket import JobTicket


class TransportError(LanesumError):
    """Base of the transport's errors."""


class AggregationTimeoutError(TransportError):
    """No progress until the deadline. ``missing``: workers (by number) that the aggregation point still waits for;
    empty when it never answered at all."""

    def __init__(self, what: str, next_step: str, missing: tuple[int, ...]) -> None:
        super().__init__(what, next_step)
        self.missing = missing


class SessionClosedError(TransportError):
    """The session was closed, or an earlier all-reduce failed and left its rounds out of step with the job."""


class ResultGoneError(TransportError):
    """A quorum went on without this worker, so long ago that nobody keeps the result any more."""


@dataclass(frozen=True, slots=True)
class RoundSize:
    """What a worker brings to a round: operation (its code) and uplink words of the whole round."""

    op: int
    words: int

    def __str__(self) -> str:
        known = self.op in set(LaneOp)
        return f"{self.words:,} words for {LaneOp(self.op).name if known else f'operation {self.op}'}"


class MismatchError(TransportError):
    """Two workers brought different things to the same round.

    Attributes:
        worker: number of the worker that disagreed with those before it; None where only its rack is known.
        brought: what that worker brought.
        expected: what those before it had brought. Where vectors differ that codecs pad to as many words, the two are
            the largest and the smallest number of values.
    """

    def __init__(self, what: str, next_step: str, worker: int | None, brought: RoundSize, expected: RoundSize) -> None:
        super().__init__(what, next_step)
        self.worker = worker
        self.brought = brought
        self.expected = expected


def gone_error(ticket: JobTicket, header: Header) -> ResultGoneError:
    """What a pending answer with GONE means to the worker that has the ticket."""
    return ResultGoneError(
        f"Job {ticket.job}, round {header.epoch}: worker {ticket.worker} is too late; the quorum went on without it, "
        "and the result is no longer kept.",
        "Join the job again, with the state of a worker that is up to date.",
    )


def mismatch_error(ticket: JobTicket, header: Header, own: RoundSize | None) -> MismatchError:
    """What a conflict means; ``own``: what the worker that has the ticket brought to that round, if it is in it."""
    brought = RoundSize(header.fan_in_racks, header.workers)
    expected = RoundSize(header.op, header.racks)
    # Between racks the offender is a rack's aggregate, which has no worker's number; and the field has 8 bits.
    candidates = () if header.flags & Flag.UPPER else range(header.fan_in_workers, ticket.workers, 256)
    worker = candidates[0] if len(candidates) == 1 else None
    who = f"worker {' or '.join(map(str, candidates))}" if candidates else "another rack"
    mine = f"; worker {ticket.worker} itself has {own}" if own is not None else ""
    return MismatchError(
        f"Job {ticket.job}, round {header.epoch}: {who} brought {brought}, others {expected}{mine}.",
        "All workers must reduce tensors of the same sizes, with the same codec, in the same order.",
        worker,
        brought,
        expected,
    )
