# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Upper bounds on the length of a run."""

from __future__ import annotations

from lanesum.transport.constants import MAX_FAILED_RESULTS, MAX_PTO_S
from tests.simulator.network import MAX_LOSSES
from tests.simulator.scenario import RACKS, SERVER_ALONE, JobPlan, Scenario

# Workers of a removed job notice the removal late, and continue to send for this time.
AFTERLIFE_S = 0.5
_LINKS = {SERVER_ALONE: 1, RACKS: 3}


def bounds(scenario: Scenario) -> tuple[float, int]:
    """Return the virtual seconds and the number of events after which a run must have ended.

    A link loses the packets about a chunk at most ``MAX_LOSSES`` times. So every chunk of every worker completes after
    that many retransmissions on each link in both directions, in the worst case one after another. A killed node
    costs the time until its jobs are restored, and the chunks of two turns of all slots are summed again.
    """
    links = _LINKS.get(scenario.network, 2)
    disturbances = len(scenario.kills) + len(scenario.resizes) + sum(one.lease is not None for one in scenario.lines)
    total_s = 1.0 + sum(kill.down_s + kill.routes_s + kill.jobs_s for kill in scenario.kills)
    pairs, waiting_s = 0, 0.0
    for line in scenario.lines:
        total_s += line.start_s
        for job in line.jobs:
            idle = _idle_s(job)
            try_s = MAX_PTO_S + scenario.rates.longest_delay_s + 2e-3 + 4 * scenario.trunk_s
            try_s += max(2 * one.latency_s + 3 * one.pace_s for one in job.workers)
            shards = [len(job.workers) if one.scattered or one.gathered else 1 for one in job.rounds]
            chunks = sum(one.words * count for one, count in zip(job.rounds, shards, strict=True)) + sum(shards)
            again = disturbances * min(chunks, 2 * job.slots)
            # A wrong sum of a server fails so often, and ends the worker; a job without it ends 10 s later.
            tries = 2 * MAX_LOSSES * links + 2 + 2 * links + job.certified * (MAX_FAILED_RESULTS + 2)
            total_s += 10.0 * job.certified
            total_s += idle + job.linger_s + AFTERLIFE_S + (chunks + again) * len(job.workers) * tries * try_s
            pairs += (chunks + again) * len(job.workers)
            waiting_s += (idle + AFTERLIFE_S) * len(job.workers)
    down_s = sum(kill.down_s + kill.routes_s + kill.jobs_s for kill in scenario.kills)
    waiting_s += down_s * sum(len(job.workers) for line in scenario.lines for job in line.jobs)
    return total_s, int(4000 + 200 * links * pairs + 400 * links * waiting_s + 4 * len(scenario.strays))


def _idle_s(job: JobPlan) -> float:
    """Return the time in which all workers are idle."""
    return max(one.start_s for one in job.workers) + sum(length for w in job.workers for _, length in w.pauses)
