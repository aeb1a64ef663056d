# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Forecasts of all methods side by side, what a job needs of switches, and the advice that follows."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from lanesum.errors import ConfigurationError
from lanesum_control.planner.network import Network
from lanesum_control.planner.placement import place
from lanesum_lab.forecast.costs import HostCosts
from lanesum_lab.forecast.methods import LESS_EXACT, InNetwork, InTwoSteps, PeerMethod, peers
from lanesum_lab.forecast.scenario import ForecastNetwork, ForecastScenario
from lanesum_lab.forecast.simulation import StepTimes, forecast

PLAN_COLUMNS = ("by", "bucket, ms", "step, ms", "communication", "times best peer", "MB up", "MB down", "limit")


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast of one method.

    Attributes:
        up, down: bytes of a worker's link for a step.
        limit: resource that a bucket occupies longest.
        in_network: sums are made by switches or a server of lanesum.
    """

    by: str
    times: StepTimes
    up: float
    down: float
    limit: str
    in_network: bool


def run(scenario: ForecastScenario, costs: HostCosts) -> dict[str, Any]:
    """Return all forecasts, the needs of the job and the advice, JSON-ready.

    Raises ConfigurationError, TopologyError.
    """
    network, job = scenario.network(), scenario.job()
    own: list[InNetwork] = []
    refused: dict[str, str] = {}
    for name in job.codecs:
        try:
            own.append(InNetwork(name, network, job, costs))
        except ConfigurationError as error:
            refused[name] = str(error)
    methods: list[PeerMethod | InNetwork] = [*own]
    if not job.scattered:
        methods += [InTwoSteps(one.name, network, job, costs) for one in own if one.scatters]
    # NCCL has no processes without a GPU.
    methods += [
        PeerMethod(name, network, job, costs) for name in peers(job) if scenario.device == "cuda" or "nccl" not in name
    ]
    forecasts = []
    for method in methods:
        busy = method.busy_s(job.per_bucket)
        traffic = [method.traffic(values) for values in job.buckets()]
        forecasts.append(
            Forecast(
                method.name,
                forecast(method, network, job, scenario.seed),
                sum(one.up for one in traffic),
                sum(one.down for one in traffic),
                max(busy, key=lambda name: busy[name]),
                isinstance(method, InNetwork),
            )
        )
    exact = [one for one in forecasts if not one.in_network and one.by not in LESS_EXACT]
    peer = min(exact, key=lambda one: one.times.step_s)
    return {
        "advice": _advice(forecasts, peer, refused),
        "scenario": {field.name: getattr(scenario, field.name) for field in dataclasses.fields(ForecastScenario)},
        "costs": costs.source,
        "compute_s": job.compute_s,
        "forecasts": [
            {
                "by": one.by,
                "bucket_s": one.times.all_reduce_s,
                "step_s": one.times.step_s,
                "slow_step_s": one.times.slow_step_s,
                "communication": max(0.0, 1 - job.compute_s / one.times.step_s),
                "times_best_peer": peer.times.step_s / one.times.step_s,
                "bytes_up": one.up,
                "bytes_down": one.down,
                "limit": one.limit,
            }
            for one in forecasts
        ],
        "packet_words": network.words,
        "slots": network.slots,
        "slots_needed": {one.name: one.slots_needed(job.per_bucket) for one in own},
        "entries": _entries(network),
        "refused": refused,
    }


def _advice(forecasts: list[Forecast], peer: Forecast, refused: dict[str, str]) -> str:
    """Return whether in-network aggregation helps, and by how much."""
    own = [one for one in forecasts if one.in_network]
    if not own:
        return f"No codec can be planned: {' '.join(refused.values())}"
    best = min(own, key=lambda one: one.times.step_s)
    gain = peer.times.step_s / best.times.step_s
    figures = f"a step takes {best.times.step_s * 1e3:,.1f} ms with {best.by}, {peer.times.step_s * 1e3:,.1f} ms with"
    if gain < 1.05:
        return f"In-network aggregation does not help here: {figures} {peer.by}."
    return f"In-network aggregation makes a step {gain:.2f} times as fast: {figures} {peer.by}, the best peer."


def _entries(network: ForecastNetwork) -> dict[str, dict[str, int]]:
    """Return the table entries of one job with all workers, by switch and table; empty without a topology."""
    if network.topology is None:
        return {}
    found = Network.of(network.topology, loopback=False)
    placement = place(found.workers[: network.workers], found, quorum=0, udp_port=1, unavailable={})
    return {one.switch: one.needs(looks_up=False) for one in placement.assignments}


def rows(result: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the rows for ``PLAN_COLUMNS``."""
    return [
        (
            one["by"],
            f"{one['bucket_s'] * 1e3:,.1f}",
            f"{one['step_s'] * 1e3:,.1f}",
            f"{one['communication']:.0%}",
            f"{one['times_best_peer']:.2f}",
            f"{one['bytes_up'] / 1e6:,.1f}",
            f"{one['bytes_down'] / 1e6:,.1f}",
            one["limit"],
        )
        for one in result["forecasts"]
    ]
