# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Slot ranges: quotas, priorities, the shared pool, and the order of writes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanesum_control.errors import QuotaError
from lanesum_control.planner.allocation import SlotClaim, SlotRange, Steps, allocate, steps

SWITCHES = {"s0": 40, "s1": 24, "s2": 32}

claims_strategy = st.lists(
    st.builds(
        lambda switches, slots, quota, priority: (tuple(sorted(switches)), slots, min(quota, slots), priority),
        st.sets(st.sampled_from(sorted(SWITCHES)), min_size=1),
        st.integers(1, 30),
        st.integers(0, 12),
        st.integers(0, 2),
    ),
    max_size=6,
)


def numbered(drawn: list[tuple[tuple[str, ...], int, int, int]], first: int = 1) -> list[SlotClaim]:
    return [SlotClaim(number, *fields, order=number) for number, fields in enumerate(drawn, first)]


def check_disjoint(ranges: Mapping[int, SlotRange], slots: int) -> None:
    """Check that no exclusive range overlaps another one."""
    for (_, one), (_, other) in itertools.combinations(ranges.items(), 2):
        if not (one.shared and other.shared):
            assert not (one.count and other.count and one.overlaps(other))
    for one in ranges.values():
        assert one.base >= 0
        assert one.end <= slots


def admitted(claims: list[SlotClaim]) -> list[SlotClaim]:
    """Return the jobs that a controller admits, one after another."""
    taken: list[SlotClaim] = []
    for claim in claims:
        try:
            allocate(SWITCHES, [*taken, claim], {})
        except QuotaError as error:
            assert (error.job, error.switch in claim.switches) == (claim.job, True)
        else:
            taken.append(claim)
    return taken


@given(claims_strategy, claims_strategy, st.data())
@settings(max_examples=150, deadline=None)
def test_promises_hold_while_jobs_come_and_go(
    drawn: list[tuple[tuple[str, ...], int, int, int]],
    later: list[tuple[tuple[str, ...], int, int, int]],
    data: st.DataObject,
) -> None:
    claims = admitted(numbered(drawn))
    held = allocate(SWITCHES, claims, {})
    leaving = data.draw(st.sets(st.sampled_from([claim.job for claim in claims]))) if claims else set()
    now = admitted([c for c in claims if c.job not in leaving] + numbered(later, first=100))
    new = allocate(SWITCHES, now, held)
    for switch, slots in SWITCHES.items():
        check_disjoint(new[switch], slots)
        for claim in now:
            if switch in claim.switches:
                if claim.shared:
                    assert claim.job not in new[switch] or 1 <= new[switch][claim.job].count <= claim.slots
                else:
                    assert claim.quota <= new[switch][claim.job].count <= claim.slots
            else:
                assert claim.job not in new[switch]
        # The transition, write by write.
        on_switch = {job: one for job, one in held[switch].items() if job in new[switch]}
        writes = steps(held[switch], new[switch])
        for step in (writes.cuts, writes.moves, writes.growths):
            for job in data.draw(st.permutations(sorted(step))):
                on_switch[job] = step[job]
                check_disjoint(on_switch, slots)
        assert on_switch == {job: one for job, one in new[switch].items() if job in held[switch]}
        check_disjoint({**on_switch, **new[switch]}, slots)
    for claim in now:
        assert len({new[switch][claim.job].count for switch in claim.switches if claim.job in new[switch]}) <= 1


@given(claims_strategy)
@settings(max_examples=100, deadline=None)
def test_nothing_moves_without_a_reason(drawn: list[tuple[tuple[str, ...], int, int, int]]) -> None:
    claims = admitted(numbered(drawn))
    held = allocate(SWITCHES, claims, {})
    assert allocate(SWITCHES, claims, held) == held
    if claims:
        without = [claim for claim in claims[:-1] if not claim.shared]
        new = allocate(SWITCHES, without, held)
        for claim in without:
            for switch in claim.switches:
                before, after = held[switch][claim.job], new[switch][claim.job]
                if after.count == before.count:
                    packed = [one for one in without if one.job != claim.job and switch in one.switches]
                    grown = [one for one in packed if new[switch][one.job].count > held[switch][one.job].count]
                    assert after == before or grown


def test_higher_priority_shrinks_lower_ones_to_their_quota() -> None:
    low = SlotClaim(1, ("s",), slots=80, quota=20, priority=0, order=1)
    high = SlotClaim(2, ("s",), slots=90, quota=10, priority=5, order=2)
    held = allocate({"s": 100}, [low], {})
    assert held == {"s": {1: SlotRange(0, 80)}}
    both = allocate({"s": 100}, [low, high], held)
    assert both == {"s": {1: SlotRange(0, 20), 2: SlotRange(20, 80)}}
    assert steps(held["s"], both["s"]) == Steps(cuts={1: SlotRange(0, 20)}, moves={}, growths={})
    assert allocate({"s": 100}, [low], both) == held


def test_same_priority_takes_nothing_but_its_quota() -> None:
    old = SlotClaim(1, ("s",), slots=100, quota=10, order=1)
    new = SlotClaim(2, ("s",), slots=100, quota=30, order=2)
    held = allocate({"s": 100}, [old], {})
    assert {job: one.count for job, one in allocate({"s": 100}, [old, new], held)["s"].items()} == {1: 70, 2: 30}


def test_quota_that_cannot_be_met_raises_with_numbers() -> None:
    claims = [SlotClaim(n, ("s",), slots=40, quota=40, order=n) for n in (1, 2, 3)]
    with pytest.raises(QuotaError, match=r"40 slots cannot be met at s: 80 of 100 are guaranteed to 2 .*, 20 are left"):
        allocate({"s": 100}, claims, {})


def test_pool_holds_the_free_slots_and_is_shared() -> None:
    own = SlotClaim(1, ("s",), slots=60, quota=60, order=1)
    best_effort = [SlotClaim(n, ("s",), slots=30, quota=0, order=n) for n in (2, 3)]
    ranges = allocate({"s": 100}, [own, *best_effort], {})["s"]
    assert ranges == {1: SlotRange(0, 60), 2: SlotRange(60, 30, shared=True), 3: SlotRange(60, 30, shared=True)}
    everything = SlotClaim(4, ("s",), slots=40, quota=40, order=4)
    assert set(allocate({"s": 100}, [own, *best_effort, everything], {"s": ranges})["s"]) == {1, 4}


def test_pieces_that_are_too_small_are_put_together() -> None:
    claims = [SlotClaim(n, ("s",), slots=25, quota=25, order=n) for n in (1, 2, 3, 4)]
    held = allocate({"s": 100}, claims, {})
    left = [claims[0], claims[2]]
    new = allocate({"s": 100}, [*left, SlotClaim(5, ("s",), slots=50, quota=50, order=5)], held)["s"]
    assert new == {1: SlotRange(0, 25), 3: SlotRange(25, 25), 5: SlotRange(50, 50)}
    assert steps(held["s"], new) == Steps(cuts={3: SlotRange(50, 0)}, moves={}, growths={3: SlotRange(25, 25)})
