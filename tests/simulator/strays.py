# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Stray packets: from non-members, from wrong ports, forged, malformed, or beyond the slots."""

from __future__ import annotations

import struct
from collections.abc import Callable

from lanesum.protocol.lanes import LaneOp
from tests.simulator.job import JobRun
from tests.simulator.layout import OUTSIDER_ADDRESS, SERVER_ADDRESSES, Address
from tests.simulator.scenario import SERVER, Stray
from tests.simulator.truth import random_words
from tests.simulator.wire import (
    BYPASS,
    CONFLICT,
    CONTRIBUTION,
    PARTIAL,
    PENDING,
    RESULT,
    UPPER,
    VERSION,
    Seen,
    shadow_slot,
    version_kind,
)

PASSING = "passing"  # other traffic, only through switches
# To the aggregation point, from the worker's host.
_UP = (
    "tag", "job", "outsider", "beyond", "operation", "size", "truncated", "version", "answer", "forged",
    "forged_partial",
)  # fmt: skip
# To the aggregation point with another address, from the outsider's port or another host; switches drop them.
_SPOOFED = ("spoofed", "spoofed_inside", "spoofed_aggregate")
# To a worker, with the server's address and from its port, for nothing in flight.
_DOWN = (
    "down_tag", "down_job", "down_epoch", "down_chunk", "down_operation", "down_version", "down_kind", "down_short",
    "down_empty", "down_pending_long", "down_conflict_tag", "down_gone_epoch", "down_partial",
)  # fmt: skip
# To a worker from another host, with its own address or the server's.
_FALSE = ("false_result", "false_server", "false_upper")
KINDS = (*_UP, *_SPOOFED, *_DOWN, *_FALSE, PASSING)
# Without switches no node can check where a packet came from.
KINDS_WITHOUT_SWITCHES = (*_UP, *_DOWN)
_UNKNOWN_OP = max(LaneOp) + 1


def is_down(kind: str) -> bool:
    """Return True if a stray goes to a worker from the server's port."""
    return kind in _DOWN


def is_false(kind: str) -> bool:
    """Return True if a stray goes to a worker from another host."""
    return kind in _FALSE


def is_spoofed(kind: str) -> bool:
    """Return True if a stray has another address than its host."""
    return kind in _SPOOFED


def sender_of(stray: Stray, run: JobRun) -> Address:
    """Return the source address of a stray to the aggregation point."""
    return OUTSIDER_ADDRESS if stray.kind == "outsider" else run.placement.addresses[stray.worker]


def payload(stray: Stray) -> bytes:
    """Return other traffic: any bytes that are no lanesum packet."""
    return struct.pack(">3I", *random_words(3, stray.value))[: stray.value % 13]


def upward(stray: Stray, run: JobRun) -> bytes:
    """Return a datagram to the aggregation point that must not change anything."""
    header = _contribution(stray, run)
    if stray.kind == "beyond":  # the neighbour's slots begin there
        header = header._replace(shadow_slot=header.shadow_slot & 0x8000 | run.plan.slots + stray.value % 3)
    elif stray.kind in ("forged", "forged_partial", "spoofed_aggregate"):
        partial = PARTIAL if stray.kind == "forged_partial" else 0
        header = header._replace(
            flags=UPPER | partial, workers=run.truth.all_workers, words=run.truth.accumulator_words
        )
    return _changed(stray.kind, stray.value, header)


def downward(stray: Stray, run: JobRun) -> bytes:
    """Return a datagram to a worker that it must drop."""
    if stray.kind == "down_partial":
        return _too_few(stray, run)
    words = run.truth.accumulator_words
    racks = (1 << len(run.placement.racks)) - 1 if run.placement.places else 0
    header = _contribution(stray, run)._replace(
        version_kind=version_kind(RESULT), workers=0 if racks else run.truth.all_workers, racks=racks, words=words
    )
    if stray.kind == "false_upper":
        header = header._replace(flags=UPPER)
    kind = stray.kind.removeprefix("down_")
    position = run.truth.position(header.epoch, header.chunk)
    if kind == "empty" and position is not None and not run.truth.needs_words(position, stray.worker):
        kind = "short"  # the worker accepts a header alone
    return _changed(kind, stray.value, header)


def _too_few(stray: Stray, run: JobRun) -> bytes:
    """Return a correct sum of a chunk that may be in flight, over one worker less than required."""
    truth, racks = run.truth, run.placement.racks
    workers = (1 << (run.plan.quorum or truth.workers) - 1) - 1
    position = stray.value % len(truth.round_of)
    header = _contribution(stray, run)._replace(
        version_kind=version_kind(RESULT), flags=PARTIAL, epoch=truth.epoch(truth.round_of[position]), racks=0,
        workers=workers, words=truth.accumulator_words,
    )  # fmt: skip
    if not run.placement.places:
        return header.pack() + truth.combined(position, workers)
    bitmaps = [sum((workers >> worker & 1) << bit for bit, worker in enumerate(rack)) for rack in racks]
    header = header._replace(
        workers=0, racks=sum(bool(one) << rack for rack, one in enumerate(bitmaps)), words=header.words + len(racks)
    )
    return header.pack() + truth.combined(position, workers) + struct.pack(f">{len(bitmaps)}I", *bitmaps)


def source_of_false(stray: Stray, own: Address) -> Address:
    """Return the source address of a false answer."""
    return SERVER_ADDRESSES[SERVER] if stray.kind == "false_server" else own


def _contribution(stray: Stray, run: JobRun) -> Seen:
    """Return a contribution of a member for a chunk of the job, or of a later round if the value is odd."""
    plan, truth = run.plan, run.truth
    position = stray.value % max(1, len(truth.round_of))
    number = truth.round_of[position] if truth.round_of else 0
    ahead = stray.value % 2 * len(plan.rounds)
    return Seen(
        version_kind=version_kind(CONTRIBUTION),
        flags=BYPASS * plan.rounds[number].gathered,
        job=plan.job,
        tag=plan.tag,
        epoch=(truth.epoch(number) + ahead) % (1 << 32),
        chunk=position - truth.starts[number],
        shadow_slot=shadow_slot(position, plan.slots),
        op=plan.rounds[number].op,
        spare=truth.mark(position) if truth.round_of else 0,
        workers=1 << stray.worker,
        racks=truth.wire_size(number),
        fan_in_workers=stray.worker,
        fan_in_racks=0,
        words=truth.wire_words(stray.worker, position),
    )


def _foreign_epoch(seen: Seen, value: int) -> Seen:
    return seen._replace(epoch=(seen.epoch + (1 << 30) + value) % (1 << 32))


_CHANGES: dict[str, Callable[[Seen, int], Seen]] = {
    "tag": lambda seen, value: seen._replace(tag=seen.tag ^ 1 << value % 32),
    "job": lambda seen, value: seen._replace(job=0xFFFF - value % 8),
    "operation": lambda seen, value: seen._replace(op=_UNKNOWN_OP),
    "size": lambda seen, value: seen._replace(words=seen.words + 1 + value % 3),
    "version": lambda seen, value: seen._replace(version_kind=version_kind(seen.kind, VERSION + 1 + value % 13)),
    "answer": lambda seen, value: seen._replace(version_kind=version_kind(RESULT)),
    "epoch": _foreign_epoch,
    "chunk": lambda seen, value: seen._replace(chunk=(1 << 31) + value),
    "kind": lambda seen, value: seen._replace(version_kind=version_kind(CONTRIBUTION)),
    "empty": lambda seen, value: seen._replace(words=0),
    "pending_long": lambda seen, value: seen._replace(version_kind=version_kind(PENDING)),
    "conflict_tag": lambda seen, value: seen._replace(
        version_kind=version_kind(CONFLICT), tag=seen.tag ^ 1 << value % 32, words=0
    ),
    "gone_epoch": lambda seen, value: _foreign_epoch(seen, value)._replace(
        version_kind=version_kind(PENDING), flags=0x80, words=0
    ),
}


def _changed(kind: str, value: int, header: Seen) -> bytes:
    change = _CHANGES.get(kind)
    header = header if change is None else change(header, value)
    words = random_words(header.words, value, 1)
    datagram = header.pack() + struct.pack(f">{len(words)}I", *words)
    if kind == "truncated":
        return datagram[:-1]
    return datagram[: value % 32] if kind == "short" else datagram
