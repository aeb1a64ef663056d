# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Training steps in virtual time: discrete events of backward, buckets, hosts and links.

All workers have equal links and hosts, so one of them stands for all. A bucket waits for the slowest worker.
"""

from __future__ import annotations

import statistics
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from lanesum.transport.constants import MAX_ROUNDS_IN_FLIGHT
from lanesum_lab.forecast.methods import InNetwork, PeerMethod, PipelineStage
from lanesum_lab.forecast.scenario import ForecastJob, ForecastNetwork

# Backward takes twice as long as forward: it computes the gradients of inputs and of weights.
_FORWARD = 1 / 3
# Parts of a bucket that are in different stages at once.
_SEGMENTS = 32
# Steps whose median is the forecast, where stragglers or losses are random.
_STEPS = 15

Events = Generator[simpy.Event, Any, None]


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Times of a step, in seconds.

    Attributes:
        all_reduce_s: one bucket alone.
        step_s: median of the steps.
        slow_step_s: the slowest of them.
    """

    all_reduce_s: float
    step_s: float
    slow_step_s: float


def forecast(method: PeerMethod | InNetwork, network: ForecastNetwork, job: ForecastJob, seed: int) -> StepTimes:
    """Return the times of steps with a method."""
    # Stragglers are the same ones for all methods.
    stragglers, rng = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
    alone = _Step(method, rng).run([job.buckets()[0]], 0.0, 0.0)
    is_random = network.straggler_s > 0 or network.loss > 0
    steps = []
    for _ in range(_STEPS if is_random else 1):
        late_s = (
            float(stragglers.exponential(network.straggler_s, network.workers).max()) if network.straggler_s else 0.0
        )
        steps.append(_Step(method, rng).run(job.buckets(), job.compute_s, late_s))
    return StepTimes(alone, statistics.median(steps), max(steps))


class _Step:
    """One step of a training."""

    def __init__(self, method: PeerMethod | InNetwork, rng: np.random.Generator) -> None:
        self._method, self._rng = method, rng
        self._env = simpy.Environment()
        self._in_flight = simpy.Resource(self._env, MAX_ROUNDS_IN_FLIGHT // 2)  # a bucket has two rounds
        self._resources = {
            name: simpy.PriorityResource(self._env)
            for name in ("host", "up", "server", "recirculation", "rack", "pod", "down")
        }

    def run(self, buckets: list[int], compute_s: float, late_s: float) -> float:
        """Return the time until the last bucket is reduced; the slowest worker is late by ``late_s``."""
        store: simpy.Store = simpy.Store(self._env)
        self._env.process(self._backward(store, buckets, compute_s, late_s))
        self._env.run(self._env.process(self._communicate(store, len(buckets))))
        return float(max(self._env.now, compute_s + late_s))

    def _backward(self, store: simpy.Store, buckets: list[int], compute_s: float, late_s: float) -> Events:
        yield self._env.timeout(late_s + compute_s * _FORWARD)
        backward_s, total = compute_s * (1 - _FORWARD), sum(buckets)
        for values in buckets:
            yield self._env.timeout(backward_s * values / total)
            yield store.put(values)

    def _communicate(self, store: simpy.Store, buckets: int) -> Events:
        """Reduce the buckets in the order of backward. Rounds of the next bucket overlap with those of the last."""
        started = []
        for _ in range(buckets):
            values = yield store.get()
            if isinstance(self._method, PeerMethod):
                yield self._env.timeout(self._method.seconds(values))
            else:
                started.append(self._env.process(self._all_reduce(self._method, values)))
        yield self._env.all_of(started)

    def _all_reduce(self, method: InNetwork, values: int) -> Events:
        with self._in_flight.request() as turn:
            yield turn
            yield self._env.timeout(method.opening_s(values))
            chunks = method.chunks(values)
            segments = min(_SEGMENTS, chunks)
            stages = method.stages(values, segments)
            lossy = self._rng.random(segments) < 1 - (1 - method.loss) ** (chunks / segments)
            repairs = [float(some) * method.repair_s for some in lossy[:-1]]
            repairs.append(float(lossy[-1]) * method.last_repair_s)
            yield self._env.all_of([self._env.process(self._segment(stages, repair_s)) for repair_s in repairs])

    def _segment(self, stages: list[PipelineStage], repair_s: float) -> Events:
        for number, stage in enumerate(stages):
            if stage.resource is None:
                yield self._env.timeout(stage.seconds)
                continue
            if number == len(stages) - 1:
                yield self._env.timeout(repair_s)
            # Received results are decoded before further values are encoded.
            with self._resources[stage.resource].request(priority=-number) as turn:
                yield turn
                yield self._env.timeout(stage.seconds)
