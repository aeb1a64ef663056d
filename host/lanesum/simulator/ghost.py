# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The ghost of an aggregation point: who has contributed to what, known from outside and with no numbers that wrap.

It predicts every answer, byte for byte, where that is simple: a server or one switch, with one level, without quorum,
in slots of its own. Elsewhere the checks of ``lanesum.simulator.job`` have to do.
"""

from __future__ import annotations

import collections
from dataclasses import dataclass

from lanesum.simulator.job import JobRun
from lanesum.simulator.layout import Address
from lanesum.simulator.scenario import ONE_SWITCH, RACKS, SERVER, Scenario, rack_switch
from lanesum.simulator.violation import Invariant, Violation
from lanesum.simulator.wire import BYPASS, PENDING, RESEND, RESULT, Seen, read, version_kind

Answers = list[tuple[Address, bytes]]
DECISIONS = (
    "claim", "claim_and_complete", "contribute", "contribute_and_complete", "replay", "report_pending", "drop_late",
)  # fmt: skip


@dataclass(slots=True)
class GhostEntry:
    position: int
    workers: int = 0


class Ghost:
    """What an aggregation point must find at its entries.

    The real entry knows an owner with an epoch that wraps and is compared as a serial number; the ghost knows the
    position of the chunk in the whole job. A new incarnation has entries of its own, whatever the registers still hold.

    Args:
        node: ``SERVER``, or the name of the switch.
    """

    def __init__(self, node: str) -> None:
        self.node = node
        self.decisions: collections.Counter[str] = collections.Counter()
        self._entries: dict[tuple[int, int, int], GhostEntry] = {}  # by job, tag, and the header's shadow and slot

    @classmethod
    def of(cls, scenario: Scenario) -> dict[str, Ghost]:
        """Ghosts by node; none where they could not know what happens."""
        jobs = [job for line in scenario.lines for job in line.jobs]
        shared = any(line.lease is not None for line in scenario.lines)
        if scenario.network == RACKS or scenario.resizes or shared or any(job.quorum or job.mismatch for job in jobs):
            return {}
        nodes = (SERVER, rack_switch(0)) if scenario.network == ONE_SWITCH else (SERVER,)
        return {node: cls(node) for node in nodes}

    def forget(self) -> None:
        """The point dies."""
        self._entries.clear()

    def compare(self, run: JobRun, worker: int, datagram: bytes, answers: Answers) -> None:
        """A worker's packet was answered. Raises Violation where it should not have been so."""
        seen = read(datagram)
        expected = self._contribute(run, worker, seen)
        if expected == answers or sorted(expected) == sorted(answers):
            return
        wanted = "; ".join(f"{read(one)} to {to}" for to, one in expected) or "nothing"
        got = "; ".join(f"{read(one)} to {to}" for to, one in answers) or "nothing"
        raise Violation(Invariant.ANSWERS, f"{self.node} answers {seen} by {got}, not by {wanted}")

    def check_counters(self, counts: collections.Counter[str]) -> None:
        """What the point counted is what the ghost decided."""
        for name in DECISIONS:
            if counts[name] != self.decisions[name]:
                detail = f"{self.node} counts {counts[name]} {name}, not {self.decisions[name]}"
                raise Violation(Invariant.COUNTERS, detail)

    def _contribute(self, run: JobRun, worker: int, seen: Seen) -> Answers:
        truth = run.truth
        if (seen.job, seen.tag) != (run.plan.job, run.plan.tag):
            return []  # of the incarnation before, from the same address
        if self.node != SERVER and (seen.flags & BYPASS or seen.shadow_slot & 0x7FFF >= run.plan.switch_slots):
            return []
        position = truth.position(seen.epoch, seen.chunk)
        assert position is not None
        key = seen.job, seen.tag, seen.shadow_slot
        entry = self._entries.get(key)
        if entry is None or position > entry.position:
            entry = self._entries[key] = GhostEntry(position)
        elif position < entry.position:
            return self._decide("drop_late")
        elif entry.workers == truth.everybody:
            return self._decide("replay", [(run.placement.addresses[worker], self._result(run, seen, entry, RESEND))])
        elif entry.workers >> worker & 1:
            return self._decide("report_pending", self._pending(run, worker, seen, entry))
        action = "contribute" if entry.workers else "claim"
        entry.workers |= 1 << worker
        if entry.workers != truth.everybody:
            return self._decide(action)
        result = self._result(run, seen, entry, 0)
        return self._decide(action + "_and_complete", [(one, result) for one in run.placement.addresses])

    def _decide(self, name: str, answers: Answers | None = None) -> Answers:
        self.decisions[name] += 1
        return answers or []

    def _pending(self, run: JobRun, worker: int, seen: Seen, entry: GhostEntry) -> Answers:
        """A switch tells everybody; the server the sender and whoever is missing, and asks to bypass the switches."""
        at_server = self.node == SERVER
        answer = seen._replace(
            version_kind=version_kind(PENDING),
            flags=BYPASS if at_server else RESEND,
            workers=entry.workers,
            racks=0,
            fan_in_workers=run.truth.workers,
            words=0,
        ).pack()
        return [
            (one, answer)
            for other, one in enumerate(run.placement.addresses)
            if not at_server or other == worker or not entry.workers >> other & 1
        ]

    @staticmethod
    def _result(run: JobRun, seen: Seen, entry: GhostEntry, flags: int) -> bytes:
        header = seen._replace(
            version_kind=version_kind(RESULT),
            flags=flags,
            workers=entry.workers,
            racks=0,
            fan_in_workers=run.truth.workers,
            words=run.truth.accumulator_words,
        )
        return header.pack() + run.truth.combined(entry.position, entry.workers)
