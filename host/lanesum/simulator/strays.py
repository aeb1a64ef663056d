# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packets from nowhere: from who is no member, from elsewhere than a member, malformed, or beyond a job's slots."""

from __future__ import annotations

import struct
from collections.abc import Callable

from lanesum.simulator.job import JobRun
from lanesum.simulator.points import OUTSIDER, Address, address
from lanesum.simulator.scenario import Stray
from lanesum.simulator.truth import random_words
from lanesum.simulator.wire import CONTRIBUTION, PENDING, RESULT, VERSION, Seen, shadow_slot, version_kind

PASSING = "passing"  # other traffic, only through the switch
# To the aggregation point.
_UP = ("tag", "job", "outsider", "spoofed", "beyond", "operation", "size", "truncated", "version", "answer")
# A switch routes these like anything else and does not count them as refused.
ROUTED = ("version", "answer")
_DOWN = (
    "down_tag", "down_job", "down_epoch", "down_chunk", "down_operation", "down_version", "down_kind", "down_short",
    "down_empty", "down_pending_long",
)  # fmt: skip
KINDS = (*_UP, *_DOWN, PASSING)
_UNKNOWN_OP = 9


def is_down(kind: str) -> bool:
    """Whether a stray goes to a worker."""
    return kind in _DOWN


def sender_of(stray: Stray) -> Address:
    return OUTSIDER if stray.kind == "outsider" else address(stray.line, stray.worker)


def payload(stray: Stray) -> bytes:
    """Other traffic: no lanesum packet, of any length."""
    return struct.pack(">3I", *random_words(3, stray.value))[: stray.value % 13]


def upward(stray: Stray, run: JobRun) -> bytes:
    """A datagram to the aggregation point that must not change anything."""
    header = _contribution(stray, run)
    if stray.kind == "beyond":  # the neighbour's slots begin there
        header = header._replace(shadow_slot=header.shadow_slot & 0x8000 | run.plan.slots + stray.value % 3)
    return _changed(stray.kind, stray.value, header)


def downward(stray: Stray, run: JobRun) -> bytes:
    """A datagram to a worker that it must ignore: nothing it could mean is under way."""
    words = run.truth.accumulator_words
    header = _contribution(stray, run)._replace(
        version_kind=version_kind(RESULT), workers=run.truth.everybody, words=words
    )
    return _changed(stray.kind.removeprefix("down_"), stray.value, header)


def _contribution(stray: Stray, run: JobRun) -> Seen:
    """As a member would send it for a chunk of the job, or of its rounds to come where the value is odd."""
    plan, truth = run.plan, run.truth
    position = stray.value % max(1, len(truth.round_of))
    number = truth.round_of[position] if truth.round_of else 0
    ahead = stray.value % 2 * len(plan.rounds)
    return Seen(
        version_kind=version_kind(CONTRIBUTION),
        flags=0,
        job=plan.job,
        tag=plan.tag,
        epoch=(truth.epoch(number) + ahead) % (1 << 32),
        chunk=position - truth.starts[number],
        shadow_slot=shadow_slot(position, plan.slots),
        op=plan.rounds[number].op,
        spare=0,
        workers=1 << stray.worker,
        racks=0,
        fan_in_workers=truth.workers,
        fan_in_racks=0,
        words=truth.packet_words[number],
    )


_CHANGES: dict[str, Callable[[Seen, int], Seen]] = {
    "tag": lambda seen, value: seen._replace(tag=seen.tag ^ 1 << value % 32),
    "job": lambda seen, value: seen._replace(job=0xFFFF - value % 8),
    "operation": lambda seen, value: seen._replace(op=_UNKNOWN_OP),
    "size": lambda seen, value: seen._replace(words=seen.words + 1 + value % 3),
    "version": lambda seen, value: seen._replace(version_kind=version_kind(seen.kind, VERSION + 1 + value % 13)),
    "answer": lambda seen, value: seen._replace(version_kind=version_kind(RESULT)),
    "epoch": lambda seen, value: seen._replace(epoch=(seen.epoch + (1 << 30) + value) % (1 << 32)),
    "chunk": lambda seen, value: seen._replace(chunk=(1 << 31) + value),
    "kind": lambda seen, value: seen._replace(version_kind=version_kind(CONTRIBUTION)),
    "empty": lambda seen, value: seen._replace(words=0),
    "pending_long": lambda seen, value: seen._replace(version_kind=version_kind(PENDING)),
}


def _changed(kind: str, value: int, header: Seen) -> bytes:
    header = _CHANGES.get(kind, lambda seen, value: seen)(header, value)
    words = random_words(header.words, value, 1)
    datagram = header.pack() + struct.pack(f">{len(words)}I", *words)
    if kind == "truncated":
        return datagram[:-1]
    return datagram[: value % 32] if kind == "short" else datagram
