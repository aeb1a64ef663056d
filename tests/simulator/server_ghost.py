# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ghost state of the server: the sums it holds and its decisions, tracked from outside."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from dataclasses import dataclass, field

from lanesum.protocol.spec import SCATTERED
from tests.simulator.job import JobRun
from tests.simulator.violation import Invariant, Violation
from tests.simulator.wire import EPOCHS, GONE, HEADER_BYTES, OVERFLOW, PENDING, RESULT, Seen

At = tuple[int, int]  # round and chunk, counted from the job's beginning
Answered = list[tuple[int, Seen, bytes]]  # worker, header, datagram


@dataclass(slots=True)
class GhostEntry:
    at: At
    what: tuple[int, int]  # operation, words of the round
    pieces: list[int] = field(default_factory=list)  # disjoint sets of workers
    done: bool = False
    disputed: bool = False  # workers disagree: there is no result
    refused: int = 0  # workers whose check of the result failed

    @property
    def workers(self) -> int:
        return sum(self.pieces)

    def add(self, workers: int) -> str:
        """Add a sum over a set of workers; return the decision."""
        if not workers & ~self.workers:
            return "report_pending"
        hit = [piece for piece in self.pieces if piece & workers]
        if sum(hit) & ~workers and sum(hit).bit_count() >= workers.bit_count():
            return "report_overlap"
        self.pieces = [piece for piece in self.pieces if piece not in hit] + [workers]
        return "contribute"


class Decided:
    """Decisions of a quorum; they survive a kill of the server."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self.kept: dict[At, tuple[tuple[int, int], int]] = {}  # kind, contributors
        self.newest_lost: At | None = None

    def add(self, at: At, what: tuple[int, int], workers: int) -> None:
        self.kept[at] = what, workers
        if len(self.kept) > self._keep:
            lost = next(iter(self.kept))
            del self.kept[lost]
            self.newest_lost = lost if self.newest_lost is None else max(lost, self.newest_lost)

    def lost(self, at: At) -> bool:
        return self.newest_lost is not None and at <= self.newest_lost


class ServerGhost:
    """Expected decisions and answers of the server. ``decisions``: by name, as the server counts them.

    ``chip``: switches answer a second late contribution with a sum that does not contain it; workers ignore such sums.
    """

    def __init__(self, *, chip: bool = False) -> None:
        self._chip = chip
        self.decisions: collections.Counter[str] = collections.Counter()
        self._entries: dict[tuple[int, int, int], GhostEntry] = {}  # by job, tag, and the header's shadow and slot
        self._decided: dict[tuple[int, int], Decided] = {}  # by job, tag

    def forget(self) -> None:
        """Forget all sums: the server was killed. Its decisions are in its journal."""
        self._entries.clear()

    def check(self, run: JobRun, worker: int, seen: Seen, decided: list[str], answers: Answered) -> None:
        """Check how a contribution with a worker's address was handled. Raises Violation if it is wrong."""
        placement = run.placement
        named = 1 << worker
        if seen.aggregate:
            named = run.workers_in(placement.places[worker][0] if placement.places else 0, seen)
        if self._chip and not named >> worker & 1:
            if decided != ["refused"] or answers:
                raise Violation(Invariant.ISOLATION, f"the server does {decided} with {seen}, which lacks its sender")
            return
        decision, there = self._decide(run, seen, named)
        if decided != [decision]:
            raise Violation(Invariant.ANSWERS, f"the server does {decided} with {seen}, not {decision}")
        self.decisions[decision] += 1
        all_workers = run.truth.all_workers
        receivers = 0
        if decision.endswith("_complete") or decision == "report_conflict":
            receivers = all_workers
        elif decision in ("replay", "report_gone"):
            receivers = named
        elif decision in ("report_pending", "report_overlap"):
            receivers = all_workers & ~there | 1 << worker
        if sorted(one for one, _, _ in answers) != sorted(_members(receivers)):
            got = [one for one, _, _ in answers]
            raise Violation(Invariant.ANSWERS, f"the server answers workers {got} after {decision} of {seen}")
        for receiver, answer, datagram in answers:
            self._check_contributors(run, receiver, answer, datagram, there)

    def check_counters(self, counts: collections.Counter[str]) -> None:
        """Check that the server's counters equal the expected decisions."""
        counted = counts.copy()
        del counted["refused"]
        if +counted != +self.decisions:
            raise Violation(Invariant.COUNTERS, f"the server counts {+counted}, not {+self.decisions}")

    def _decide(self, run: JobRun, seen: Seen, named: int) -> tuple[str, int]:
        """Return the decision for a sum over ``named``, and the contributors that the entry holds then."""
        plan = run.plan
        key = seen.job, seen.tag
        at = (seen.epoch - plan.first_epoch) % EPOCHS, seen.chunk
        what = seen.op, seen.racks
        threshold = plan.quorum or len(plan.workers)
        decided = None
        if threshold < len(plan.workers):
            decided = self._decided.setdefault(key, Decided(max(plan.kept_results, 2 * plan.slots)))
            if at in decided.kept:
                before, workers = decided.kept[at]
                return ("replay" if before == what else "report_conflict"), workers
            if decided.lost(at):
                return "report_gone", 0
        entry = self._entries.get((*key, seen.shadow_slot))
        is_new = entry is None or at > entry.at
        if entry is None or is_new:
            entry = self._entries[(*key, seen.shadow_slot)] = GhostEntry(at, what)
        elif at < entry.at:
            return ("drop_late" if decided is None else "report_gone"), 0
        elif what != entry.what or entry.disputed:
            entry.disputed = not entry.done
            return "report_conflict", 0
        elif entry.done:
            refuses = seen.flags & OVERFLOW and not seen.aggregate
            if refuses and self._owns(run, seen, named):
                entry.pieces, entry.done = [named], threshold == 1
                return ("contribute_and_complete" if entry.done else "report_pending"), named
            entry.refused |= named if refuses else 0
            if entry.refused != run.truth.all_workers:
                return "replay", entry.workers
            entry.pieces, entry.refused = [entry.refused], 0
            return "contribute_and_complete", entry.workers
        fate = entry.add(named)
        if entry.workers.bit_count() >= threshold:
            entry.done = True
            if decided is not None:
                decided.add(at, what, entry.workers)
            return ("claim_and_complete" if is_new else "contribute_and_complete"), entry.workers
        return ("claim" if is_new else fate), entry.workers

    @staticmethod
    def _owns(run: JobRun, seen: Seen, named: int) -> bool:
        """Return True if a contribution to a scattered round is of the owner of its chunk."""
        position = run.truth.position(seen.epoch, seen.chunk)
        if position is None or not seen.racks & SCATTERED:
            return False
        owner = run.truth.owner(position)
        return owner is not None and named == 1 << owner

    @staticmethod
    def _check_contributors(run: JobRun, receiver: int, answer: Seen, datagram: bytes, there: int) -> None:
        """Check that an answer names the contributors that the entry holds."""
        if answer.kind == RESULT:
            named = run.named(datagram, answer)
            position = run.truth.position(answer.epoch, answer.chunk)
            needs_words = position is None or run.truth.needs_words(position, receiver)
            if run.is_header_only(datagram, answer) == needs_words:
                raise Violation(Invariant.ANSWERS, f"the server sends worker {receiver} {answer}")
            if named != there:
                raise Violation(Invariant.ANSWERS, f"the server sends {answer} over {named}, and has {there:#x}")
        elif answer.kind == PENDING and not answer.flags & GONE:
            racks = run.placement.racks
            rack = run.placement.places[receiver][0] if run.placement.places else 0
            bitmap = sum((there >> worker & 1) << bit for bit, worker in enumerate(racks[rack]))
            complete = 0
            for number, workers in enumerate(racks if run.placement.places else ()):
                complete |= all(there >> worker & 1 for worker in workers) << number
            if (answer.workers, answer.racks) != (bitmap, complete) or len(datagram) != HEADER_BYTES:
                raise Violation(Invariant.ANSWERS, f"the server sends worker {receiver} {answer}, and has {there:#x}")


def _members(workers: int) -> Iterable[int]:
    return (worker for worker in range(workers.bit_length()) if workers >> worker & 1)
