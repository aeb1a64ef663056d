# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Network and job of a forecast, and checks of its options."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import FULL_ACCUMULATOR_WORDS
from lanesum_control.jobs.records import DEFAULT_SLOTS, DEFAULT_SLOTS_WITHOUT_SWITCH
from lanesum_fabric.tofino.chips import TofinoProfile, profile
from lanesum_fabric.topology.files import load
from lanesum_fabric.topology.model import NO_SWITCH, Topology
from lanesum_lab.builds.rates import WIRE_OVERHEAD
from lanesum_lab.numbers import positive_number

MAX_FORECAST_WORKERS = 4096
NONE = "none"  # in place of a switch's profile
# Bounds keep times finite, and the number of simulated buckets small.
_MAX_PARAMETERS = 10**12
_MAX_BUCKETS = 10_000
_VALUE_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastScenario:
    """Network and job of a forecast; its fields are the options of ``lanesum plan``."""

    workers: Annotated[int | None, typer.Option(help="Number of workers; by default all of the topology.")] = None
    topology: Annotated[str | None, typer.Option(help="Shipped topology or YAML file, for workers and racks.")] = None
    racks: Annotated[int, typer.Option(help="Racks, each with a switch; more than one have a spine.")] = 1
    rate: Annotated[float, typer.Option(help="Rate of a worker's link, in Mbit/s.")] = 10_000.0
    rack_rate: Annotated[
        float | None, typer.Option(help="Rate from a rack to the spine, in Mbit/s; by default that of all its workers.")
    ] = None
    pods: Annotated[int, typer.Option(help="Pods of racks, which switches of a third level join.")] = 1
    pod_rate: Annotated[
        float | None, typer.Option(help="Rate from a pod to the third level, in Mbit/s; by default that of its racks.")
    ] = None
    levels: Annotated[
        int, typer.Option(help="Levels of switches that sum: 2; or 3 for an estimate, which no program has.")
    ] = 2
    delay: Annotated[float, typer.Option(help="Delay of a hop, in microseconds.")] = 2.0
    loss: Annotated[float, typer.Option(help="Fraction of packets that a link loses.")] = 0.0
    background: Annotated[float, typer.Option(help="Fraction of every link that other traffic has.")] = 0.0
    straggler: Annotated[
        float, typer.Option(help="Mean delay of a worker in a step, in milliseconds; exponentially distributed.")
    ] = 0.0
    parameters: Annotated[str, typer.Option(help="Parameters of the model, as 86M or 7G.")] = "86M"
    bucket: Annotated[float, typer.Option(help="Size of a DDP bucket, in MiB.")] = 25.0
    compute: Annotated[float, typer.Option(help="Time of forward and backward of a step, in milliseconds.")] = 100.0
    optimizer: Annotated[Literal["adaptive", "sgd"], typer.Option(help="Kind of the optimizer.")] = "adaptive"
    collective: Annotated[
        Literal["all-reduce", "reduce-scatter"],
        typer.Option(help="Collective of the gradients; a reduce-scatter without the gathers of parameters."),
    ] = "all-reduce"
    codecs: Annotated[str, typer.Option(help="Codecs, separated by commas.")] = "thc,fixed"
    switch: Annotated[
        str, typer.Option(help="Profile of the switches, such as tofino1-w256; or none: the server sums.")
    ] = "tofino2-w64"
    device: Annotated[Literal["cpu", "cuda"], typer.Option(help="Device of the gradients.")] = "cuda"
    virtual: Annotated[
        bool, typer.Option("--virtual", help="Links of a kernel, which carry no preamble, gap and frame check.")
    ] = False
    seed: Annotated[int, typer.Option(min=0, help="Seed of stragglers and losses.")] = 0

    def network(self) -> ForecastNetwork:
        """Return the checked network. Raises ConfigurationError, TopologyError."""
        workers, racks, rate, profile_name = self.workers, self.racks, self.rate, self.switch
        topology = None if self.topology is None else load(self.topology)
        if topology is not None:
            names = topology.names("worker")
            workers = len(names) if workers is None else workers
            if workers > len(names):
                raise ConfigurationError(f"--workers {workers}: topology {topology.name} has {len(names)} workers.")
            racks = len({topology.switch_of(name) for name in names[:workers]})
            rate = min([rate, *(link.rate_mbit for link in topology.links if link.rate_mbit is not None)])
            if NO_SWITCH in {topology.switch_of(name) for name in names}:
                profile_name = NONE
        if workers is None:
            raise ConfigurationError("A forecast needs the number of workers.", "Give --workers or --topology.")
        _check("--workers", workers, 2, MAX_FORECAST_WORKERS)
        _check("--racks", racks, 1, workers)
        _check("--rate", rate, 0.001, 1e7)
        _check("--rack-rate", self.rack_rate if self.rack_rate is not None else rate, 0.001, 1e9)
        _check("--pods", self.pods, 1, racks)
        _check("--pod-rate", self.pod_rate if self.pod_rate is not None else rate, 0.001, 1e10)
        _check("--levels", self.levels, 2, 3)
        _check("--delay", self.delay, 0, 1e6)
        _check("--loss", self.loss, 0, 0.5)
        _check("--background", self.background, 0, 0.99)
        _check("--straggler", self.straggler, 0, 1e6)
        per_rack = math.ceil(workers / racks)
        free = 1e6 * (1 - self.background)
        rack_rate = rate * per_rack if self.rack_rate is None else self.rack_rate
        pod_rate = rack_rate * math.ceil(racks / self.pods) if self.pod_rate is None else self.pod_rate
        return ForecastNetwork(
            workers=workers,
            racks=racks,
            rate=rate * free,
            rack_rate=rack_rate * free,
            pods=self.pods,
            pod_rate=pod_rate * free,
            levels=self.levels,
            one_way_s=self.delay * 1e-6 * (2 + 2 * (racks > 1) + 2 * (self.pods > 1)),
            loss=self.loss,
            straggler_s=self.straggler * 1e-3,
            wire_overhead=0 if self.virtual else WIRE_OVERHEAD,
            profile=None if profile_name == NONE else profile(profile_name),
            topology=topology,
        )

    def job(self) -> ForecastJob:
        """Return the checked job. Raises ConfigurationError."""
        parameters = int(positive_number("--parameters", self.parameters, int))
        _check("--parameters", parameters, 1, _MAX_PARAMETERS)
        _check("--compute", self.compute, 0, 1e7)
        _check("--bucket", self.bucket, 0.001, 1e6)
        per_bucket = min(parameters, math.ceil(self.bucket * 2**20 / _VALUE_BYTES))
        _check("buckets of a step (--parameters, --bucket)", math.ceil(parameters / per_bucket), 1, _MAX_BUCKETS)
        return ForecastJob(
            parameters=parameters,
            per_bucket=per_bucket,
            compute_s=self.compute * 1e-3,
            adaptive=self.optimizer == "adaptive",
            scattered=self.collective == "reduce-scatter",
            codecs=tuple(self.codecs.split(",")),
        )


def _check(flag: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ConfigurationError(f"Invalid {flag}={value:,g}: expected a number from {low:,g} to {high:,g}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastNetwork:
    """Hosts in racks, and racks in pods.

    Attributes:
        rate, rack_rate, pod_rate: bits per second of a worker's link, from a rack to the spine, and from a pod to the
            third level, without other traffic.
        levels: levels of switches that sum. With 2, the server sums the racks of several pods.
        one_way_s: delay from one worker to another, or to the aggregation point and back by half.
        loss: fraction of packets that a link loses.
        straggler_s: mean delay of a worker in a step.
        wire_overhead: bytes of a frame besides those of its headers and payload.
        profile: program of the switches; None where the server sums.
        topology: the topology from a file, if there is one.
    """

    workers: int
    racks: int
    rate: float
    rack_rate: float
    pods: int
    pod_rate: float
    levels: int
    one_way_s: float
    loss: float
    straggler_s: float
    wire_overhead: int
    profile: TofinoProfile | None
    topology: Topology | None = None

    @property
    def words(self) -> int:
        """Accumulator words of a packet."""
        return FULL_ACCUMULATOR_WORDS if self.profile is None else self.profile.accumulator_words

    @property
    def served(self) -> int:
        """Contributions to a chunk that the server adds: of workers without switches, of racks in several pods."""
        if self.profile is None:
            return self.workers
        return self.racks if self.pods > 1 and self.levels == 2 else 0

    @property
    def slots(self) -> int:
        """Slots of a job, which bound its packets in flight."""
        return DEFAULT_SLOTS_WITHOUT_SWITCH if self.profile is None else DEFAULT_SLOTS


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastJob:
    """A model trained by DDP.

    Attributes:
        per_bucket: values of a bucket; the last one may have fewer.
        compute_s: time of forward and backward without communication.
        adaptive: the optimizer divides by the size of past gradients, as Adam does.
        scattered: gradients are reduce-scattered, so each worker needs the sum of its own shard.
    """

    parameters: int
    per_bucket: int
    compute_s: float
    adaptive: bool
    scattered: bool
    codecs: tuple[str, ...]

    def buckets(self) -> list[int]:
        """Return the values of every bucket, in the order in which backward completes them."""
        whole, rest = divmod(self.parameters, self.per_bucket)
        return [self.per_bucket] * whole + [rest] * (rest > 0)
