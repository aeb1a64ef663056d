# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Forecasts beside measurements that were published with their conditions.

4 ranks shared one NVIDIA H200 and 16 virtual processors of an Intel Xeon with AVX-512. Links were pairs of virtual
interfaces with a token bucket. The aggregation server was where they meet. An all-reduce had 25,000,000 float32 values.
"""

from __future__ import annotations

import statistics

from lanesum_lab.forecast.costs import REFERENCE
from lanesum_lab.forecast.plan import run
from lanesum_lab.forecast.scenario import NONE, ForecastScenario
from lanesum_lab.markdown import markdown_table

RATES = (1_000.0, 10_000.0, 25_000.0)
#: Median milliseconds of an all-reduce at each of ``RATES``. The costs of ``REFERENCE`` follow from the last column.
MEASURED = {
    "nccl": (1257.0, 212.0, 165.0),
    "nccl-fp16": (628.0, 108.0, 84.5),
    "gloo": (1262.0, 140.0, 94.8),
    "thc": (210.0, 53.0, 52.0),
    "fixed": (879.0, 207.0, 215.0),
}


def deviations() -> dict[tuple[str, float], tuple[float, float]]:
    """Return forecast in milliseconds, and deviation from the measurement, by method and rate."""
    found = {}
    for number, rate in enumerate(RATES):
        scenario = ForecastScenario(
            workers=4,
            rate=rate,
            parameters="25M",
            bucket=100.0,  # one bucket
            compute=0.0,
            optimizer="sgd",
            switch=NONE,
            virtual=True,
        )
        for one in run(scenario, REFERENCE[scenario.device])["forecasts"]:
            if one["by"] in MEASURED:
                milliseconds = one["step_s"] * 1e3
                found[one["by"], rate] = milliseconds, milliseconds / MEASURED[one["by"]][number] - 1
    return found


def deviation_table() -> str:
    """Return the table of docs/forecast.md."""
    found = deviations()
    rows = [
        (by, f"{rate / 1000:g}", f"{measured:,g}", f"{found[by, rate][0]:,.0f}", f"{found[by, rate][1]:+.0%}")
        for by, times in MEASURED.items()
        for rate, measured in zip(RATES, times, strict=True)
    ]
    middle = statistics.median(abs(deviation) for _, deviation in found.values())
    rows.append(("median, without sign", "", "", "", f"{middle:.0%}"))
    return markdown_table(("by", "Gbit/s", "measured, ms", "forecast, ms", "deviation"), rows)
