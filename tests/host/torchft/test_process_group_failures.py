# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Replicas that end by SIGKILL in each phase of a step, while the others go on with the right sum."""

from __future__ import annotations

from tests.host.torchft.replicas import Replicas, add_up, replicas

PHASES = ("before configure", "in configure", "before the session", "in the sum", "after the sum")
MAX_STEPS = 5000
MAX_PAUSE_S = 5.0


def next_sums(started: Replicas, after: float = 0.0) -> tuple[float, float]:
    """Return sum and time of the first committed step of replicas 0 and 1 after a time."""
    for _ in range(MAX_STEPS):
        first, second = started.next(0, 1)
        if first[1] and second[1]:
            assert first[:4] == second[:4], "replicas have other sums"
            assert first[2] == int(first[3]).bit_count(), "the sum is not over the members of the quorum"
            if min(first[4], second[4]) > after:
                return first[3], max(first[4], second[4])
    raise AssertionError("no step was committed")


def test_replicas_after_kill_sum_over_the_rest() -> None:
    with replicas(min_replicas=2) as started:
        for number in range(2):
            started.start(number, add_up)
        assert next_sums(started)[0] == 3.0
        for victim, phase in enumerate(PHASES, start=2):
            started.start(victim, add_up, phase)
            while not started.has_event(victim):
                next_sums(started)
            ((_, died),) = started.next(victim)
            summed, when = next_sums(started, died)
            while summed != 3.0:
                summed, when = next_sums(started, died)
            assert when - died < MAX_PAUSE_S, f"{phase}: {when - died:.1f} s"
        started.start(9, add_up)
        while next_sums(started)[0] != 3.0 + 2**9:
            pass
