# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The ghost of an aggregation point: who has contributed to what, known from outside and with no numbers that wrap."""

from __future__ import annotations

import collections
from dataclasses import dataclass

from lanesum.simulator.truth import JobTruth
from lanesum.simulator.violation import Invariant, Violation
from lanesum.simulator.wire import PENDING, RESEND, RESULT, Seen, version_kind

Answers = list[tuple[int, bytes]]  # worker, datagram


@dataclass(slots=True)
class GhostEntry:
    position: int
    workers: int = 0


class Ghost:
    """What one incarnation of a job must find at its entries.

    The real entry knows an owner with an epoch that wraps and is compared as a serial number; the ghost knows the
    position of the chunk in the whole job. A new incarnation gets a new ghost, whatever the registers still hold.
    """

    def __init__(self, truth: JobTruth) -> None:
        self._truth = truth
        self._entries: dict[int, GhostEntry] = {}  # by the header's shadow and slot
        self.accepted: list[set[int]] = [set() for _ in range(truth.workers)]  # by worker: positions with a result
        self.decisions: collections.Counter[str] = collections.Counter()

    def contribute(self, worker: int, seen: Seen, position: int) -> Answers:
        """A worker's packet arrives; returns the answers that have to leave."""
        truth, entry = self._truth, self._entries.get(seen.shadow_slot)
        if entry is None or position > entry.position:
            if entry is not None:
                self._check_overwriting(entry.position, position)
            entry = self._entries[seen.shadow_slot] = GhostEntry(position)
        elif position < entry.position:
            return self._decide("drop_late")
        elif entry.workers == truth.everybody:
            return self._decide("replay", [(worker, self._result(seen, entry, RESEND))])
        elif entry.workers >> worker & 1:
            answer = seen._replace(
                version_kind=version_kind(PENDING),
                flags=RESEND,
                workers=entry.workers,
                fan_in_workers=truth.workers,
                words=0,
            )
            return self._decide("report_pending", [(worker, answer.pack())])
        action = "contribute" if entry.workers else "claim"
        entry.workers |= 1 << worker
        if entry.workers != truth.everybody:
            return self._decide(action)
        result = self._result(seen, entry, 0)
        return self._decide(action + "_and_complete", [(other, result) for other in range(truth.workers)])

    def conflict(self, seen: Seen, position: int) -> None:
        """A packet of another operation than the chunk's arrives, after the entry was claimed for it or a newer one."""
        entry = self._entries[seen.shadow_slot]
        self._decide("drop_late" if position < entry.position else "drop_conflict")

    def _decide(self, name: str, answers: Answers | None = None) -> Answers:
        self.decisions[name] += 1
        return answers or []

    def _check_overwriting(self, old: int, new: int) -> None:
        if new - old != 2 * self._truth.plan.slots:
            raise Violation(Invariant.ALIASING, f"position {new} takes the entry of position {old}")
        for worker, accepted in enumerate(self.accepted):
            if old not in accepted:
                detail = f"position {new} overwrites position {old}, whose result worker {worker} does not have yet"
                raise Violation(Invariant.ALIASING, detail)

    def _result(self, seen: Seen, entry: GhostEntry, flags: int) -> bytes:
        header = seen._replace(
            version_kind=version_kind(RESULT),
            flags=flags,
            workers=entry.workers,
            fan_in_workers=self._truth.workers,
            words=self._truth.accumulator_words,
        )
        return header.pack() + self._truth.combined(entry.position, entry.workers)
