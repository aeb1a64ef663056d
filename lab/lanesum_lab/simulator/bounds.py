# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""By when a run must have ended."""

from __future__ import annotations

from lanesum.transport.constants import MAX_PTO_S
from lanesum_lab.simulator.network import MOST_LOSSES
from lanesum_lab.simulator.scenario import RACKS, SERVER_ALONE, JobPlan, Scenario

# Workers of a job that was taken out notice it late, and go on sending for so long.
AFTERLIFE_S = 0.5
_LINKS = {SERVER_ALONE: 1, RACKS: 3}


def bounds(scenario: Scenario) -> tuple[float, int]:
    """Virtual seconds and events after which a run must have ended.

    A link loses a packet about a chunk ``MOST_LOSSES`` times at most, so each chunk of each worker is through after so
    many retransmissions on each link in both directions; at worst all of them happen one after another. A death costs
    the time until the node has its jobs again, and the chunks of two turns of all slots are summed anew.
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
            chunks = sum(one.words for one in job.rounds) + len(job.rounds)
            again = disturbances * min(chunks, 2 * job.slots)
            tries = 2 * MOST_LOSSES * links + 2 + 2 * links
            total_s += idle + job.linger_s + AFTERLIFE_S + (chunks + again) * len(job.workers) * tries * try_s
            pairs += (chunks + again) * len(job.workers)
            waiting_s += (idle + AFTERLIFE_S) * len(job.workers)
    down_s = sum(kill.down_s + kill.routes_s + kill.jobs_s for kill in scenario.kills)
    waiting_s += down_s * sum(len(job.workers) for line in scenario.lines for job in line.jobs)
    return total_s, int(4000 + 200 * links * pairs + 400 * links * waiting_s + 4 * len(scenario.strays))


def _idle_s(job: JobPlan) -> float:
    """How long workers do nothing at all."""
    return max(one.start_s for one in job.workers) + sum(length for w in job.workers for _, length in w.pauses)
