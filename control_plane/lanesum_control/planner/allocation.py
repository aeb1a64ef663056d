# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Slot allocation: which job gets which slots of which switch. Pure functions.

Every job with a quota has a range of its own at each of its switches, with the same length everywhere: a slot that one
switch sums and another leaves to the server could not be summed above. First every job gets its quota. The rest goes to
the jobs in the order of their priority, the oldest first. The remainder is the shared pool: jobs without a quota get
ranges there, which overlap if the pool is smaller than their demand.

Ranges move at run time. ``steps`` orders the writes so that two jobs never own a range at the same time: first every
range shrinks to the part that it keeps, then it grows to its new length.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lanesum_control.errors import QuotaError


@dataclass(frozen=True, slots=True)
class SlotClaim:
    """Demand of a job.

    Attributes:
        job: number of the job.
        switches: switches that it is placed on.
        slots: demand; more slots are of no use.
        quota: guaranteed slots at each of its switches; 0 means the shared pool only.
        priority: jobs of a higher one get the rest first.
        order: age; lower is older.
        of_tenant: priority of its tenant, which counts before its own.
        rank: claims of a lower one get the rest first.
    """

    job: int
    switches: tuple[str, ...]
    slots: int
    quota: int
    priority: int = 0
    order: int = 0
    of_tenant: int = 0
    rank: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rank", (-self.of_tenant, -self.priority, self.order, self.job))

    @property
    def shared(self) -> bool:
        return self.quota == 0


@dataclass(frozen=True, slots=True)
class SlotRange:
    """Slots ``base`` to ``base + count - 1`` of a switch; ``shared``: other jobs may use them, too."""

    base: int
    count: int
    shared: bool = False

    @property
    def end(self) -> int:
        return self.base + self.count

    def overlaps(self, other: SlotRange) -> bool:
        return self.base < other.end and other.base < self.end

    def common(self, other: SlotRange) -> SlotRange:
        """Return the intersection; its length is 0 if there is none."""
        base = max(self.base, other.base)
        return SlotRange(base, max(0, min(self.end, other.end) - base), self.shared)


Ranges = Mapping[str, Mapping[int, SlotRange]]  # switch -> job -> range


def allocate(capacity: Mapping[str, int], claims: Sequence[SlotClaim], held: Ranges) -> dict[str, dict[int, SlotRange]]:
    """Return the ranges of all ``claims``.

    Args:
        capacity: slots of every switch.
        claims: all jobs.
        held: the present ranges; a job keeps its place if it can.

    Returns:
        switch -> job -> range. A job of the shared pool has no range if the pool is empty.

    Raises QuotaError: a switch has fewer slots than the sum of the quotas.
    """
    own: dict[str, list[SlotClaim]] = {switch: [] for switch in capacity}
    for claim in _by_priority(claims):
        for switch in () if claim.shared else claim.switches:
            own[switch].append(claim)
    _check_quotas(capacity, own)
    counts = _counts(capacity, claims)
    result: dict[str, dict[int, SlotRange]] = {}
    for switch, slots in capacity.items():
        wanted = {claim.job: counts[claim.job] for claim in own[switch]}
        result[switch] = _arrange(slots, wanted, held.get(switch, {}))
    _share(capacity, claims, result, held)
    return result


def _by_priority(claims: Iterable[SlotClaim]) -> list[SlotClaim]:
    return sorted(claims, key=operator.attrgetter("rank"))


def _check_quotas(capacity: Mapping[str, int], own: Mapping[str, Sequence[SlotClaim]]) -> None:
    for switch, slots in capacity.items():
        guaranteed, jobs = 0, own[switch]
        if sum(claim.quota for claim in jobs) <= slots:
            continue
        for claim in sorted(jobs, key=lambda claim: (claim.order, claim.job)):
            if guaranteed + claim.quota > slots:
                others = sum(1 for one in jobs if one is not claim)
                taken = sum(one.quota for one in jobs if one is not claim)
                raise QuotaError(
                    f"A quota of {claim.quota} slots cannot be met at {switch}: {taken} of {slots} are guaranteed to "
                    f"{others} other jobs, {max(0, slots - taken)} are left.",
                    "Ask for a smaller quota (0 shares what is left over), or remove a job.",
                    job=claim.job,
                    switch=switch,
                )
            guaranteed += claim.quota


def _counts(capacity: Mapping[str, int], claims: Sequence[SlotClaim]) -> dict[int, int]:
    """Return the length of every job's own range."""
    own = [claim for claim in claims if not claim.shared]
    counts = {claim.job: claim.quota for claim in own}
    wanting = _by_priority(claim for claim in own if claim.slots > claim.quota)
    if not wanting:
        return counts
    free = dict(capacity)
    for claim in own:
        for switch in claim.switches:
            free[switch] -= claim.quota
    for claim in wanting:
        more = min([claim.slots - claim.quota, *(free[switch] for switch in claim.switches)])
        counts[claim.job] += more
        for switch in claim.switches:
            free[switch] -= more
    return counts


def _arrange(slots: int, wanted: Mapping[int, int], held: Mapping[int, SlotRange]) -> dict[int, SlotRange]:
    """Return disjoint ranges of the requested lengths, with as few moves as possible."""
    kept = {job: one for job, one in held.items() if wanted.get(job) == one.count and not one.shared}
    if len(kept) == len(wanted) and all(one.end <= slots for one in kept.values()):
        return kept  # as at most switches
    placed: dict[int, SlotRange] = {}

    def keep(job: int) -> bool:
        here = SlotRange(held[job].base, wanted[job])
        if here.end > slots or any(here.overlaps(other) for other in placed.values()):
            return False
        placed[job] = here
        return True

    own = [job for job in wanted if job in held and not held[job].shared]
    for job in own:  # ranges that do not grow never collide
        if wanted[job] <= held[job].count:
            keep(job)
    for job in own:
        if job not in placed:
            keep(job)
    for job in wanted:
        if job not in placed:
            base = _first_fit(slots, wanted[job], placed.values())
            if base is None:
                return _pack(wanted, held)
            placed[job] = SlotRange(base, wanted[job])
    return placed


def _first_fit(slots: int, count: int, taken: Iterable[SlotRange]) -> int | None:
    return next((gap.base for gap in _gaps(slots, taken) if gap.count >= count), None)


def _gaps(slots: int, taken: Iterable[SlotRange]) -> list[SlotRange]:
    gaps, base = [], 0
    for one in sorted(taken, key=lambda one: one.base):
        if one.base > base:
            gaps.append(SlotRange(base, one.base - base))
        base = max(base, one.end)
    if slots > base:
        gaps.append(SlotRange(base, slots - base))
    return gaps


def _pack(wanted: Mapping[int, int], held: Mapping[int, SlotRange]) -> dict[int, SlotRange]:
    """Compact all ranges in their present order, because the free fragments are too small."""
    order = sorted(wanted, key=lambda job: (held[job].base if job in held else 1 << 30, job))
    packed, base = {}, 0
    for job in order:
        packed[job] = SlotRange(base, wanted[job])
        base += wanted[job]
    return packed


def _share(
    capacity: Mapping[str, int], claims: Sequence[SlotClaim], result: dict[str, dict[int, SlotRange]], held: Ranges
) -> None:
    """Assign the pool: the longest free fragment of every switch, from its start on, cyclically.

    A job keeps its range while it fits, because every move costs writes at the switches.
    """
    shared = _by_priority(claim for claim in claims if claim.shared)
    if not shared:
        return
    pools = {
        switch: max(_gaps(slots, result[switch].values()), key=lambda gap: gap.count, default=SlotRange(0, 0))
        for switch, slots in capacity.items()
    }
    handed = {switch: pool.base for switch, pool in pools.items()}
    for claim in shared:
        count = min([claim.slots, *(pools[switch].count for switch in claim.switches)])
        if count == 0:
            continue
        before = {switch: held.get(switch, {}).get(claim.job) for switch in claim.switches}
        stays = all(
            one is not None
            and one.shared
            and one.count == count
            and pools[at].base <= one.base
            and one.end <= pools[at].end
            for at, one in before.items()
        )
        for switch in claim.switches:
            pool, one = pools[switch], before[switch]
            base = one.base if stays and one is not None else handed[switch]
            if base + count > pool.end:
                base = pool.base
            result[switch][claim.job] = SlotRange(base, count, shared=True)
            handed[switch] = base + count


@dataclass(frozen=True, slots=True)
class Steps:
    """Writes at one switch, job -> range each: all ``cuts``, then all ``moves``, then all ``growths``.

    The writes of a step may be carried out in any order.
    """

    cuts: Mapping[int, SlotRange]
    moves: Mapping[int, SlotRange]
    growths: Mapping[int, SlotRange]


def steps(old: Mapping[int, SlotRange], new: Mapping[int, SlotRange]) -> Steps:
    """Return the writes at one switch that lead from ``old`` to ``new``, for jobs in both.

    Remove jobs that have ended before, and add new jobs after. A job whose range stays is in no step.
    """
    changed = [job for job in old if job in new and old[job] != new[job]]
    # No job owns slots of the pool, so a range there moves in one write, before others grow into its slots.
    shared = [job for job in changed if old[job].shared and new[job].shared]
    moves = {job: new[job] for job in shared if old[job].count == new[job].count}
    kept = {job: old[job].common(new[job]) for job in changed if job not in moves}
    cuts = {job: one for job, one in kept.items() if one != old[job]}
    return Steps(cuts, moves, {job: new[job] for job, one in kept.items() if one != new[job]})
