# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Forecasts of ``lanesum plan`` beside measured all-reduces and reduce-scatters, behind limited links with losses.

The costs of hosts are measured with as many workers, on loopback or behind links that no host here fills. So no point
that is compared is used for the forecasts.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lanesum import codecs
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import FULL_ACCUMULATOR_WORDS, WORD_BYTES
from lanesum_lab.bench import allreduce, registry, server
from lanesum_lab.bench.figures import machine, spread, text
from lanesum_lab.bench.places import HUB
from lanesum_lab.bench.reducer import ALL_REDUCE, GLOO, NCCL, REDUCE_SCATTER
from lanesum_lab.forecast.costs import REFERENCE, HostCosts
from lanesum_lab.forecast.methods import InNetwork, PeerMethod
from lanesum_lab.forecast.scenario import NONE, ForecastScenario
from lanesum_lab.forecast.simulation import forecast

_COLLECTIVES = (ALL_REDUCE, REDUCE_SCATTER)
_MEASURED_VALUES = 2_000_000
_FEW_VALUES = 1000
_MEASURED_WORKERS = 2
_UNLIMITED_MBIT, _LINK_SHARE_MBIT = 10_000.0, 40.0
FORECAST_COLUMNS = ("collective", "loss", "Mbit/s", "workers", "by", "measured, s", "forecast, s", "deviation")


@dataclass(frozen=True, slots=True)
class ForecastSettings:
    """Settings of the benchmark."""

    workers: tuple[int, ...] = registry.option((4,), "Numbers of workers, separated by commas.")
    collectives: tuple[str, ...] = registry.option(_COLLECTIVES, "Collectives, separated by commas.")
    losses: tuple[float, ...] = registry.option(
        (0.0, 0.001, 0.01), "Fractions of packets that a link loses, separated by commas.", low=0
    )
    values: int = registry.option(1 << 20, "Length of the float32 vectors.", low=1)
    rates_mbit: tuple[float, ...] = registry.option(
        (20.0, 100.0), "Rates of the links, in Mbit/s, separated by commas.", flag="--rates"
    )
    codecs: tuple[str, ...] = registry.option(("thc bits=4", "fixed"), "Codecs, separated by commas.")
    repeats: int = registry.repeats(5)

    def __post_init__(self) -> None:
        if min(self.workers, default=0) < 2 or min(self.rates_mbit, default=0) <= 0:
            raise ConfigurationError("A forecast needs two workers and a rate above 0 at least.")
        if not self.losses:
            raise ConfigurationError("A forecast needs a loss, which may be 0.")
        if not self.collectives or set(self.collectives) - set(_COLLECTIVES):
            known = ", ".join(_COLLECTIVES)
            raise ConfigurationError(f"Unknown collectives={self.collectives}: expected some of {known}.")
        self.measurements()  # checks the rest

    def measurements(self) -> list[allreduce.AllReduceSettings]:
        """Return the settings of the benchmark that measures."""
        return [
            allreduce.AllReduceSettings(
                workers=self.workers,
                values=(self.values,),
                cases=(HUB,),
                rates_mbit=self.rates_mbit,
                codecs=self.codecs,
                peers=(),
                collectives=(collective,),
                loss=loss,
                repeats=self.repeats,
            )
            for collective in self.collectives
            for loss in self.losses
        ]


def measure_costs(
    names: Sequence[str], device: str, *, workers: int = _MEASURED_WORKERS, joined: bool = True
) -> HostCosts:
    """Measure the costs of these codecs on this machine, in about a minute.

    Args:
        workers: number of workers, which share the processors.
        joined: measure on loopback. Otherwise the kernel gets every packet alone, behind links that no host here fills.

    Raises BenchError, ConfigurationError, MissingToolError.
    """
    settings = allreduce.AllReduceSettings(
        workers=(workers,),
        values=(_FEW_VALUES, _MEASURED_VALUES),
        cases=(allreduce.LOOPBACK if joined else HUB,),
        rates_mbit=(_UNLIMITED_MBIT,),
        singly=not joined,
        codecs=tuple(dict.fromkeys(["thc", *names])),
        peers=(NCCL,) if device == "cuda" else (),
        device=device,
        repeats=5,
    )
    measured = allreduce.run(settings)["figures"]
    few, figures = (
        {figure["by"]: figure for figure in measured if figure["values"] == values} for values in settings.values
    )
    each_way = 2 * (workers - 1) / workers * _MEASURED_VALUES * WORD_BYTES
    served = server.run(server.QUICK)["datagrams"]
    per_core = max(one["datagrams_s_per_core"]["median"] for one in served if one["by"].startswith("server"))
    reference = REFERENCE[device]
    return HostCosts(
        source=f"measured on this machine, {device}",
        codec_s={
            name: (_seconds_per_value(figures[name], "encode_s"), _seconds_per_value(figures[name], "decode_s"))
            for name in settings.codecs
        },
        chunk_s=figures["thc"]["network_s"]["median"] / _chunks("thc", workers),
        contribution_s=2 / per_core,
        gloo_s=figures["gloo"]["seconds"]["median"] / each_way,
        nccl_s=figures[NCCL]["seconds"]["median"] / each_way if NCCL in figures else reference.nccl_s,
        message_s=few[GLOO]["seconds"]["median"] / (2 * (workers - 1)),
        round_s=few["thc"]["seconds"]["median"] / 2,  # a round of norms, and one of codes
    )


def _seconds_per_value(figure: dict[str, Any], phase: str) -> float:
    return float(figure[phase]["median"]) / _MEASURED_VALUES


def _chunks(name: str, workers: int) -> int:
    shapes = codecs.get(name, workers=workers).shapes(_MEASURED_VALUES)
    return sum(-(-shape.result_words // FULL_ACCUMULATOR_WORDS) for shape in shapes)


def run(settings: ForecastSettings) -> dict[str, Any]:
    """Measure; return a JSON-ready object with ``figures`` and the deviations.

    Raises BenchError, ConfigurationError, MissingToolError.
    """
    costs = {
        (workers, joined): _with_share(
            measure_costs(settings.codecs, "cpu", workers=workers, joined=joined), workers, joined
        )
        for workers in settings.workers
        for joined in {loss == 0 for loss in settings.losses}
    }
    figures: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for measurement in settings.measurements():
        measured = allreduce.run(measurement)
        left_out |= measured["left_out"]
        figures += [
            _compared(one, measurement, costs[one["workers"], measurement.joined])
            | {"collective": measurement.collectives[0], "loss": measurement.loss}
            for one in measured["figures"]
        ]
    deviations = [abs(one["deviation"]) for one in figures]
    return {
        "repeats": settings.repeats,
        "machine": machine(),
        "left_out": left_out,
        "figures": figures,
        "deviation": spread(deviations) | {"mean": statistics.fmean(deviations)},
    }


def _with_share(costs: HostCosts, workers: int, joined: bool) -> HostCosts:
    """Return costs with the share of a link that gloo uses, measured at a rate and length that are not compared."""
    settings = allreduce.AllReduceSettings(
        workers=(workers,),
        values=(_MEASURED_VALUES // 4,),
        cases=(HUB,),
        rates_mbit=(_LINK_SHARE_MBIT,),
        codecs=(),
        peers=(),
        singly=not joined,
    )
    (figure,) = allreduce.run(settings)["figures"]
    return replace(costs, gloo_link=min(1.0, 1 + _compared(figure, settings, costs)["deviation"]))


def _compared(measured: dict[str, Any], settings: allreduce.AllReduceSettings, costs: HostCosts) -> dict[str, Any]:
    """Return a measured figure with its forecast."""
    scenario = ForecastScenario(
        workers=measured["workers"],
        rate=measured["rate_mbit"],
        loss=settings.loss,
        parameters=str(settings.values[0]),
        bucket=1e6,  # one for all values
        compute=0.0,
        collective="reduce-scatter" if REDUCE_SCATTER in settings.collectives else "all-reduce",
        switch=NONE,
        device="cpu",
        virtual=True,
    )
    network, job = scenario.network(), scenario.job()
    by = measured["by"]
    method = PeerMethod(by, network, job, costs) if by == GLOO else InNetwork(by, network, job, costs)
    seconds = forecast(method, network, job, scenario.seed).step_s
    return {
        **{name: measured[name] for name in ("rate_mbit", "workers", "by", "seconds")},
        "forecast_s": seconds,
        "deviation": seconds / measured["seconds"]["median"] - 1,
    }


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``FORECAST_COLUMNS``."""
    for one in result["figures"]:
        yield (
            one["collective"],
            f"{one['loss']:g}",
            f"{one['rate_mbit']:g}",
            str(one["workers"]),
            one["by"],
            text(one["seconds"], 3),
            f"{one['forecast_s']:.3f}",
            f"{one['deviation']:+.1%}",
        )


def _notes(result: dict[str, Any]) -> Iterator[str]:
    found = result["deviation"]
    yield f"Deviation without sign: median {found['median']:.1%}, largest {found['max']:.1%}."


registry.Benchmark(
    name="forecast",
    summary="Forecasts of `lanesum plan` beside measured collectives, behind limited links. Needs root.",
    quick=ForecastSettings(
        workers=(2,), losses=(0.001,), values=1 << 18, rates_mbit=(50.0,), codecs=("fixed",), repeats=2
    ),
    run=run,
    tables=((FORECAST_COLUMNS, rows),),
    notes=_notes,
).register()
