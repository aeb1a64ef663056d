# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Forecasts of ``lanesum plan`` beside measured all-reduces, behind limited links.

The costs of hosts are measured on loopback, so no measured point is used for the forecasts.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lanesum import codecs
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import FULL_ACCUMULATOR_WORDS, WORD_BYTES
from lanesum_lab.bench import allreduce, registry, server
from lanesum_lab.bench.figures import spread, text
from lanesum_lab.bench.places import HUB
from lanesum_lab.bench.reducer import NCCL
from lanesum_lab.forecast.costs import REFERENCE, HostCosts
from lanesum_lab.forecast.methods import InNetwork, PeerMethod
from lanesum_lab.forecast.scenario import NONE, ForecastScenario
from lanesum_lab.forecast.simulation import forecast

_MEASURED_VALUES = 2_000_000
_MEASURED_WORKERS = 2
FORECAST_COLUMNS = ("Mbit/s", "workers", "by", "measured, s", "forecast, s", "deviation")


@dataclass(frozen=True, slots=True)
class ForecastSettings:
    """Settings of the benchmark."""

    workers: tuple[int, ...] = registry.option((2, 4), "Numbers of workers, separated by commas.")
    values: int = registry.option(2_000_000, "Length of the float32 vectors.", low=1)
    rates_mbit: tuple[float, ...] = registry.option(
        (20.0, 50.0, 100.0, 200.0), "Rates of the links, in Mbit/s, separated by commas.", flag="--rates"
    )
    codecs: tuple[str, ...] = registry.option(
        ("thc bits=4", "thc bits=3", "thc bits=8", "fixed", "eden"), "Codecs, separated by commas."
    )
    repeats: int = registry.repeats(5)

    def __post_init__(self) -> None:
        if min(self.workers, default=0) < 2 or min(self.rates_mbit, default=0) <= 0:
            raise ConfigurationError("A forecast needs two workers and a rate above 0 at least.")


def measure_costs(names: Sequence[str], device: str) -> HostCosts:
    """Measure the costs of these codecs on this machine, in about a minute.

    Raises BenchError, ConfigurationError, MissingToolError.
    """
    settings = allreduce.AllReduceSettings(
        workers=(_MEASURED_WORKERS,),
        values=(_MEASURED_VALUES,),
        cases=(allreduce.LOOPBACK,),
        codecs=tuple(dict.fromkeys(["thc", *names])),
        peers=(NCCL,) if device == "cuda" else (),
        device=device,
        repeats=5,
    )
    figures = {figure["by"]: figure for figure in allreduce.run(settings)["figures"]}
    each_way = 2 * (_MEASURED_WORKERS - 1) / _MEASURED_WORKERS * _MEASURED_VALUES * WORD_BYTES
    served = server.run(server.QUICK)["datagrams"]
    per_core = max(one["datagrams_s_per_core"]["median"] for one in served if one["by"].startswith("server"))
    reference = REFERENCE[device]
    return HostCosts(
        source=f"measured on this machine, {device}",
        codec_s={
            name: (_seconds_per_value(figures[name], "encode_s"), _seconds_per_value(figures[name], "decode_s"))
            for name in settings.codecs
        },
        chunk_s=figures["thc"]["network_s"]["median"] / _chunks("thc"),
        contribution_s=2 / per_core,
        gloo_s=figures["gloo"]["seconds"]["median"] / each_way,
        nccl_s=figures[NCCL]["seconds"]["median"] / each_way if NCCL in figures else reference.nccl_s,
    )


def _seconds_per_value(figure: dict[str, Any], phase: str) -> float:
    return float(figure[phase]["median"]) / _MEASURED_VALUES


def _chunks(name: str) -> int:
    shapes = codecs.get(name, workers=_MEASURED_WORKERS).shapes(_MEASURED_VALUES)
    return sum(-(-shape.result_words // FULL_ACCUMULATOR_WORDS) for shape in shapes)


def run(settings: ForecastSettings) -> dict[str, Any]:
    """Measure; return a JSON-ready object with ``figures`` and the deviations.

    Raises BenchError, ConfigurationError, MissingToolError.
    """
    costs = measure_costs(settings.codecs, "cpu")
    measured = allreduce.run(
        allreduce.AllReduceSettings(
            workers=settings.workers,
            values=(settings.values,),
            cases=(HUB,),
            rates_mbit=settings.rates_mbit,
            codecs=settings.codecs,
            peers=(),
            repeats=settings.repeats,
        )
    )
    figures = []
    for one in measured["figures"]:
        scenario = ForecastScenario(
            workers=one["workers"],
            rate=one["rate_mbit"],
            parameters=str(settings.values),
            bucket=1e6,  # one for all values
            compute=0.0,
            switch=NONE,
            device="cpu",
            virtual=True,
        )
        network, job = scenario.network(), scenario.job()
        method = (
            PeerMethod("gloo", network, costs) if one["by"] == "gloo" else InNetwork(one["by"], network, job, costs)
        )
        seconds = forecast(method, network, job, scenario.seed).step_s
        figures.append(
            {
                **{name: one[name] for name in ("rate_mbit", "workers", "by", "seconds")},
                "forecast_s": seconds,
                "deviation": seconds / one["seconds"]["median"] - 1,
            }
        )
    deviations = [abs(one["deviation"]) for one in figures]
    return {
        **{name: measured[name] for name in ("repeats", "machine", "left_out")},
        "figures": figures,
        "deviation": spread(deviations) | {"mean": statistics.fmean(deviations)},
    }


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``FORECAST_COLUMNS``."""
    for one in result["figures"]:
        yield (
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
    summary="Forecasts of `lanesum plan` beside measured all-reduces, behind limited links. Needs root.",
    quick=ForecastSettings(workers=(2,), values=200_000, rates_mbit=(50.0,), codecs=("fixed",), repeats=2),
    run=run,
    tables=((FORECAST_COLUMNS, rows),),
    notes=_notes,
).register()
