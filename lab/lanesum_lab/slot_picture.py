# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Picture of one slot through three positions, drawn from a run of the reference model of the switch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lanesum.protocol.packet import Header
from lanesum_lab.svg import DARK, GREY, head, line, text
from lanesum_switch.reference.slots import Decision, Entry, SlotTable

WORKERS = 3
SLOTS = 64
# Packets in order of arrival at the switch: worker, position, and what preceded the packet.
PACKETS = (
    (1, 0, ""),
    (2, 0, ""),
    (3, 0, "retransmission: the first was lost"),
    (1, 64, ""),
    (2, 0, "retransmission: the result was lost"),
    (3, 64, ""),
    (1, 64, "duplicate"),
    (2, 64, ""),
    (2, 128, ""),
    (1, 0, "delayed in the network"),
)
_ANSWERS = {
    Decision.CONTRIBUTE_AND_COMPLETE: "result to all workers",
    Decision.REPLAY: "result to worker {}",
    Decision.REPORT_PENDING: "pending to worker {}",
}
_COLUMNS = (16, 330, 500, 670, 880)  # left edges: packet, two shadow sets, decision, answer
_ROW, _TOP, _WIDTH = 44, 56, 1060


@dataclass(frozen=True, slots=True)
class Step:
    """A packet, the decision about it, and position, contributors and sum of both shadow sets afterwards."""

    worker: int
    position: int
    note: str
    decision: Decision
    sets: tuple[tuple[int, int, int, bool] | None, tuple[int, int, int, bool] | None]


def run() -> list[Step]:
    """Give the packets to the reference model: worker ``n`` contributes the number ``n``."""
    table = SlotTable()
    steps = []
    for worker, position, note in PACKETS:
        header = Header(job=1, tag=7, chunk=position, shadow=position // SLOTS % 2)
        words = np.full(1, worker, np.uint32)
        decision, _ = table.contribute(header, words, slot=0, worker=1 << worker - 1, fan_in=WORKERS)
        steps.append(Step(worker, position, note, decision, (_state(table.entry(0, 0)), _state(table.entry(0, 1)))))
    return steps


def _state(entry: Entry) -> tuple[int, int, int, bool] | None:
    return None if entry.owner is None else (entry.owner.chunk, entry.workers, int(entry.words[0]), entry.done)


def svg() -> str:
    """Return the picture."""
    steps = run()
    height = _TOP + _ROW * len(steps) + 12
    lines = head(_WIDTH, height, f"One slot of {SLOTS} through positions 0, 64 and 128")
    heads = ("packet", "shadow set 0", "shadow set 1", "decision", "answer")
    lines += [text(x, 30, words, weight="bold") for x, words in zip(_COLUMNS, heads, strict=True)]
    before: Step | None = None
    for number, step in enumerate(steps):
        lines += _row(_TOP + _ROW * number, step, before)
        before = step
    return "\n".join([*lines, "</svg>", ""])


def _row(top: int, step: Step, before: Step | None) -> Iterator[str]:
    middle = top + _ROW // 2
    yield line(0, top, _WIDTH, top)
    yield text(_COLUMNS[0], middle + (-2 if step.note else 5), f"worker {step.worker}, position {step.position}")
    if step.note:
        yield text(_COLUMNS[0], middle + 14, step.note, size=11)
    for shadow, state in enumerate(step.sets):
        changed = before is None or before.sets[shadow] != state
        yield from _entry(_COLUMNS[1 + shadow], middle, state, changed)
    yield text(_COLUMNS[3], middle + 5, step.decision.value)
    yield text(_COLUMNS[4], middle + 5, _ANSWERS.get(step.decision, "").format(step.worker))


def _entry(left: int, middle: int, state: tuple[int, int, int, bool] | None, changed: bool) -> Iterator[str]:
    if state is None:
        yield text(left, middle + 5, "unused", color=GREY)
        return
    position, workers, total, done = state
    fill = "#d9f2e3" if done else "#fff3cf"
    edge = DARK if changed else "#c3ccd5"
    yield f'  <rect x="{left - 8}" y="{middle - 16}" width="152" height="32" rx="4" fill="{fill}" stroke="{edge}"/>'
    yield text(left, middle + 5, f"{position}:", weight="bold")
    for worker in range(WORKERS):
        color = DARK if workers >> worker & 1 else "#ffffff"
        yield f'  <circle cx="{left + 48 + 18 * worker}" cy="{middle}" r="6" fill="{color}" stroke="{DARK}"/>'
    yield text(left + 104, middle + 5, f"= {total}")
