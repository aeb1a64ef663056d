# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A running job: its true sums, the packets that its workers sent and accepted, and the checks of results."""

from __future__ import annotations

import collections
import struct

from lanesum_fabric.program.switch_job import Role
from tests.simulator.layout import code_table
from tests.simulator.placement import SimulatedPlacement
from tests.simulator.scenario import SERVER, JobPlan
from tests.simulator.scenario import UPPER as UPPER_NODE
from tests.simulator.truth import JobTruth
from tests.simulator.violation import Invariant, Violation
from tests.simulator.wire import (
    BYPASS,
    CONFLICT,
    CONTRIBUTION,
    GONE,
    HEADER_BYTES,
    PARTIAL,
    PENDING,
    RESULT,
    UPPER,
    VERSION,
    Seen,
    read,
    shadow_slot,
)


class JobRun:
    """One incarnation from its admission to its removal.

    Attributes:
        accepted: positions with a result, by worker.
        sent: set of workers that have sent a position, by position.
        decided: positions in the order of the server's decisions, by server; quorum only.
        is_shared: other jobs may use its slots on switches.
        flipped: positions with a flipped bit, whose words may be wrong on the network.
    """

    def __init__(
        self, line: int, number: int, plan: JobPlan, placement: SimulatedPlacement, now: float, key: int, words: int
    ) -> None:
        self.line = line
        self.number = number  # in its line
        self.plan = plan
        self.placement = placement
        self.admitted_s = now
        tickets = [placement.ticket(worker) for worker in range(len(plan.workers))] if plan.certified else []
        self.truth = JobTruth(plan, key, code_table(line), words, tickets)
        self.running = len(plan.workers)
        self.admitted = True
        self.stopped = False
        self.accepted: list[set[int]] = [set() for _ in plan.workers]
        self.sent: dict[int, int] = {}
        # position -> number of earlier decisions
        self.decided: collections.defaultdict[str, dict[int, int]] = collections.defaultdict(dict)
        self.mismatched = False  # a worker has noticed
        self.lost = 0  # workers that were killed, or whose result was evicted
        self.is_shared = any(job.role & Role.SHARED for job in placement.switches.values())
        self.flipped: set[int] = set()
        self._results: dict[int, tuple[int, bytes]] = {}  # position -> contributors, and words once a worker has them

    def __str__(self) -> str:
        return f"job {self.plan.job} (tag {self.plan.tag:#x})"

    @property
    def has_too_few(self) -> bool:
        """True if so many workers are lost that the others may wait for their deadline."""
        return self.lost > len(self.plan.workers) - (self.plan.quorum or len(self.plan.workers))

    # Events of workers.

    def note_sent(self, worker: int, position: int) -> None:
        """Note that a worker sends a chunk for the first time."""
        self.sent[position] = self.sent.get(position, 0) | 1 << worker
        before = position - 2 * self.plan.slots
        if before < 0 or self.plan.quorum:
            return
        for other, accepted in enumerate(self.accepted):
            if before not in accepted:
                detail = f"position {position} takes the entry of position {before}, which worker {other} does not have"
                raise Violation(Invariant.ALIASING, detail)

    def accept(self, worker: int, position: int, workers: int, words: bytes) -> None:
        """Note that a worker accepts a result; all must accept the same, but for the words of a header-only one."""
        first = self._results.setdefault(position, (workers, words))
        if not first[1] and first[0] == workers:
            first = self._results[position] = workers, words
        if first != (workers, words or first[1]):
            detail = (
                f"worker {worker} takes a result of position {position} over workers {workers:#x}, another one took "
                f"one over {first[0]:#x}"
            )
            raise Violation(Invariant.AGREEMENT, detail)
        self.accepted[worker].add(position)

    def result(self, number: int, worker: int) -> tuple[bytes, list[int]]:
        """Return the accepted words that a worker needs of a round, without padding, and all chunks' contributors."""
        truth = self.truth
        begin = truth.starts[number]
        positions = range(begin, begin + truth.chunks(number))
        contributors = [self._results[at][0] for at in positions]
        if self.plan.rounds[number].gathered:
            workers = range(truth.workers)
            owned = [[at for at in positions if truth.owner(at) == own] for own in workers]
            shards = [b"".join(self._gathered(at, own) for at in owned[own]) for own in workers]
            return b"".join(truth.cut(number, shard) for shard in shards), contributors
        words = b"".join(self._results[at][1] for at in positions if truth.needs_words(at, worker))
        return truth.cut(number, words), contributors

    def _gathered(self, position: int, owner: int) -> bytes:
        """Return the words of a gathered chunk; a worker that has no result with words yet is the owner."""
        return self._results[position][1] or self.truth.data(position, self.truth.combined(position, 1 << owner))

    # Packets of aggregation points.

    def check(self, node: str, seen: Seen, datagram: bytes) -> None:
        """Check a packet that ``node`` has made. Raises Violation."""
        truth = self.truth
        if seen.version_kind >> 4 != VERSION or len(datagram) != HEADER_BYTES + 4 * seen.words:
            raise Violation(Invariant.ANSWERS, f"{node} sends {seen} in {len(datagram)} bytes")
        position = truth.position(seen.epoch, seen.chunk)
        if seen.kind == CONFLICT:
            if self.plan.mismatch is None:
                raise Violation(Invariant.ANSWERS, f"{node} sends {seen}, but all workers agree")
            return
        if position is None:
            if self.plan.mismatch is None:
                raise Violation(Invariant.ANSWERS, f"{node} sends {seen}, of which there is no such chunk")
            return
        if self.plan.mismatch is not None and truth.round_of[position] >= self.plan.mismatch.number:
            if seen.kind == RESULT:
                raise Violation(Invariant.EXACTNESS, f"{node} sends {seen}, although the workers disagree")
            return
        self._check_place(node, seen, position)
        if seen.kind == RESULT:
            self._check_result(node, seen, position, datagram)
        elif seen.kind == PENDING:
            self._check_pending(node, seen, position)
        elif seen.kind == CONTRIBUTION and node != SERVER and seen.flags & UPPER:
            self._check_aggregate(node, seen, position, datagram)
        else:
            raise Violation(Invariant.ANSWERS, f"{node} sends {seen}")

    def _check_place(self, node: str, seen: Seen, position: int) -> None:
        """Check that slot, shadow set, operation and fan-ins are those of the chunk and of the level of ``node``."""
        plan = self.plan
        number = self.truth.round_of[position]
        if (seen.shadow_slot, seen.op) != (shadow_slot(position, plan.slots), plan.rounds[number].op):
            raise Violation(Invariant.ANSWERS, f"{node} sends {seen}, which is about position {position}")
        if node == SERVER:
            fan_ins = (0, len(self.placement.racks)) if self.placement.places else (len(plan.workers), 0)
        else:
            # A rack's switch takes the words out of answers that it hands down.
            shortened = seen.kind == RESULT and seen.flags & UPPER and not seen.words
            job = self.placement.switches[UPPER_NODE if shortened else node]
            fan_ins = (0, job.fan_in) if job.role & Role.UPPER else (job.fan_in, 0)
        if (seen.fan_in_workers, seen.fan_in_racks) != fan_ins:
            raise Violation(Invariant.ANSWERS, f"{node} sends {seen}, where the fan-ins are {fan_ins}")

    def _check_result(self, node: str, seen: Seen, position: int, datagram: bytes) -> None:
        workers = self.named(datagram, seen)
        if workers is None:
            raise Violation(Invariant.ANSWERS, f"{node} sends {seen}, which names impossible contributors")
        if workers != self.truth.all_workers and (node != SERVER or workers.bit_count() < (self.plan.quorum or 99)):
            raise Violation(Invariant.EXACTNESS, f"{node} sends a result over workers {workers:#x} only: {seen}")
        if self.is_header_only(datagram, seen):
            if all(self.truth.needs_words(position, one) for one in range(self.truth.workers)):
                raise Violation(Invariant.ANSWERS, f"{node} sends {seen}, without the words that are needed")
        elif position not in self.flipped and self.words_of(datagram) != self.truth.combined(position, workers):
            raise Violation(Invariant.EXACTNESS, f"{node} sends {seen}, which is not the combination over {workers:#x}")
        if node == SERVER:
            decided = self.decided[self._server_of(position)]
            decided.setdefault(position, len(decided))

    def _check_pending(self, node: str, seen: Seen, position: int) -> None:
        plan = self.plan
        if seen.flags & GONE:
            self.check_gone(position, node)
            return
        if node == SERVER:
            if not seen.flags & BYPASS or seen.flags & UPPER:
                raise Violation(Invariant.ANSWERS, f"{node} sends {seen}")
            if self.placement.places:
                return  # differs between receivers
            members = tuple(1 << worker for worker in range(len(plan.workers)))
            bitmap = seen.workers
        else:
            members = self.placement.members_at(node)
            upper = bool(self.placement.switches[node].role & Role.UPPER)
            bitmap = seen.racks if upper else seen.workers
            if bool(seen.flags & UPPER) != upper or seen.flags & BYPASS:
                raise Violation(Invariant.ANSWERS, f"{node} sends {seen}")
        workers = _union(members, bitmap)
        if workers is None or workers & ~self.sent.get(position, 0):
            raise Violation(Invariant.ANSWERS, f"{node} sends {seen}, which names who has sent nothing")
        if bitmap.bit_count() >= len(members):
            raise Violation(Invariant.ANSWERS, f"{node} sends {seen}, but no contribution is missing")

    def check_gone(self, position: int, who: str) -> None:
        """Check that a server evicts a result only because of newer decisions."""
        decided = self.decided[self._server_of(position)]
        since = len(decided) - 1 - decided.get(position, len(decided))
        if not self.plan.quorum or since < max(self.plan.kept_results, 2 * self.plan.slots):
            raise Violation(Invariant.BOUNDED, f"{who} gives position {position} up, after which {since} were decided")

    def _server_of(self, position: int) -> str:
        return self.placement.server_of(shadow_slot(position, self.plan.slots))

    def _check_aggregate(self, node: str, seen: Seen, position: int, datagram: bytes) -> None:
        members = self.placement.members_at(node)
        bitmap = seen.workers
        workers = _union(members, bitmap)
        if not workers or seen.racks != self.truth.wire_size(self.truth.round_of[position]):
            raise Violation(Invariant.ANSWERS, f"{node} sends {seen}, which names impossible contributors")
        if bool(seen.flags & PARTIAL) != (bitmap.bit_count() < len(members)):
            raise Violation(Invariant.ANSWERS, f"{node} sends {seen}: flag PARTIAL is wrong")
        if position not in self.flipped and datagram[HEADER_BYTES:] != self.truth.combined(position, workers):
            raise Violation(Invariant.EXACTNESS, f"{node} sends {seen}, which is not the combination over {workers:#x}")

    def named(self, datagram: bytes, seen: Seen) -> int | None:
        """Return the set of workers in a result; None if it names a worker that does not exist."""
        truth, places = self.truth, self.placement.places
        if not places:
            workers = seen.workers
            partial = workers != truth.all_workers
            sound = not seen.racks and not workers & ~truth.all_workers and bool(workers)
            return workers if sound and partial == bool(seen.flags & PARTIAL) else None
        racks = self.placement.racks
        if not seen.flags & PARTIAL:
            return truth.all_workers if seen.racks == (1 << len(racks)) - 1 and not seen.workers else None
        trailer_at = len(datagram) - 4 * len(racks)
        if trailer_at not in (HEADER_BYTES, HEADER_BYTES + 4 * truth.accumulator_words):
            return None
        bitmaps = struct.unpack_from(f">{len(racks)}I", datagram, trailer_at)
        workers = 0
        for rack, bitmap in enumerate(bitmaps):
            found = _union(tuple(1 << worker for worker in racks[rack]), bitmap)
            if found is None or bool(bitmap) != bool(seen.racks >> rack & 1):
                return None
            workers |= found
        return workers or None

    def possible_contributors(self, datagram: bytes) -> list[int]:
        """Return the sets of workers that a result with a flipped bit in its header may be over."""
        truth, racks = self.truth, self.placement.racks
        if not self.plan.quorum:
            return [truth.all_workers]
        if not self.placement.places:
            return [read(datagram).workers & truth.all_workers, truth.all_workers]
        at = HEADER_BYTES + 4 * truth.accumulator_words
        if len(datagram) != at + 4 * len(racks):
            return [truth.all_workers]
        bitmaps = struct.unpack_from(f">{len(racks)}I", datagram, at)
        members = [
            one for rack, bits in zip(racks, bitmaps, strict=True) for bit, one in enumerate(rack) if bits >> bit & 1
        ]
        return [sum(1 << one for one in members), truth.all_workers]

    def workers_in(self, rack: int, seen: Seen) -> int:
        """Return the set of workers that an aggregate names; an upper switch names racks."""
        racks = self.placement.racks
        if seen.fan_in_racks:
            return sum(
                sum(1 << worker for worker in racks[one]) for one in range(len(racks)) if seen.workers >> one & 1
            )
        return sum(1 << worker for bit, worker in enumerate(racks[rack]) if seen.workers >> bit & 1)

    def trailer_bytes(self, seen: Seen) -> int:
        """Return the length of the bitmaps at the end of a result."""
        return 4 * len(self.placement.racks) if seen.flags & PARTIAL and self.placement.places else 0

    def is_header_only(self, datagram: bytes, seen: Seen) -> bool:
        """Return True if a result has no accumulator words."""
        return len(datagram) == HEADER_BYTES + self.trailer_bytes(seen)

    def words_of(self, datagram: bytes) -> bytes:
        """Return the words of a result."""
        return datagram[HEADER_BYTES : HEADER_BYTES + 4 * self.truth.accumulator_words]


def _union(members: tuple[int, ...], bitmap: int) -> int | None:
    """Return the union of the sets behind the bits of a bitmap; None if a bit has no set."""
    if bitmap >> len(members):
        return None
    union = 0
    for bit, workers in enumerate(members):
        if bitmap >> bit & 1:
            union |= workers
    return union
