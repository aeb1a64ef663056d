# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of ``lanesum top``, metrics and traces: all-reduces of a job that is observed, beside those of one that is not.

It is measured in two ways. Pairs of blocks compare all-reduces: in one block of a pair, the commands observe the job at
their usual rates. Pairs are short, and their order alternates, because the noise of a shared machine is less between
blocks that are near each other. The other way counts the processor time of the job's parts for a single read, scrape
and trace, which its rate makes a share of the time, as if all of it delayed the all-reduces. Confidence intervals are
bootstrapped.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum_lab.bench import registry
from lanesum_lab.bench.machine import machine
from lanesum_lab.bench.observed import AllReduces
from lanesum_lab.bench.observed_site import SWITCH, WORKERS, Block, ObservedSite, open_site

COLUMNS = ("values", "observed by", "time", "processor time", "pairs")
COST_COLUMNS = ("observation", "every", "processor time", "share of a core")
READ, SCRAPED, TRACED = "top", "top and a scrape", "top and a trace"
USUAL, COUNTED = "all at usual rates", "all at usual rates, counted"
#: Usual seconds between two reads of top, two scrapes, and two traces; and those of a trace.
TOP_S, SCRAPE_S, TRACE_EVERY_S, TRACE_S = 2.0, 15.0, 60.0, 2.0
#: Length of a block with a trace, in blocks.
TRACED_BLOCKS = 1.5
_EVERY_S = {"read of top": TOP_S, "scrape of all endpoints": SCRAPE_S, "trace": TRACE_EVERY_S}
_READ, _SCRAPE, _TRACE = _EVERY_S
_OFTEN_TOP_S = 0.5  # while the cost of a read is counted
_WINDOW_S = 1.6 * _OFTEN_TOP_S  # so that no read begins at its end
_TRACED_ALL_REDUCES = 700  # enough for all spans that a worker keeps
_REPORTED_S = 1.0  # after the end of a trace
_CALIBRATION_S = 0.2
_CALIBRATIONS = 5
_RESAMPLES = 10_000

_Pair = tuple[Block, Block]
Costs = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the benchmark.

    Attributes:
        windows: windows in which a read and a scrape are counted, and as many without; a quarter of it for a trace.
        codec: codec of the job.
    """

    sizes: tuple[int, ...] = registry.option(
        (25_000, 1_000_000), "Values of an all-reduce, separated by commas, such as 25k,1M."
    )
    repeats: int = registry.repeats(14)
    block_s: float = registry.seconds(1.9)
    windows: int = 20
    codec: str = "thc"


QUICK = Settings(sizes=(25_000,), repeats=1, windows=2)


def run(settings: Settings) -> dict[str, Any]:
    """Measure; return a JSON-ready object with ``figures`` and ``costs``. Raises the errors of processes."""
    with open_site(settings.codec, top_s=_OFTEN_TOP_S, has_switch=True) as site:
        site.block(AllReduces(settings.sizes[0], 2), site.scrape)  # some parts are loaded only once
        costs, at_switch = idle_costs(site, settings.windows)
    figures: list[dict[str, Any]] = []
    shares = [*shares_of("of the job", costs), *shares_of("of an embedded switch", at_switch)]
    observed_s = 0.0
    with open_site(settings.codec, top_s=TOP_S) as site:
        costs = {**costs, _TRACE: trace_costs(site, settings)}
        shares += shares_of("of the job", {_TRACE: costs[_TRACE]})
        before = site.reads()
        for values in settings.sizes:
            pairs = _pairs_of(site, settings, values)
            observed_s += sum(observed.wall_s for many in pairs.values() for _, observed in many)
            figures += figures_of(settings, values, pairs, costs)
        counted = {"observed_s": observed_s, "reads": site.reads() - before, "spans": site.spans}
    return {
        **asdict(settings),
        "workers": len(WORKERS),
        "machine": machine(),
        **counted,
        "figures": figures,
        "costs": shares,
    }


def _pairs_of(site: ObservedSite, settings: Settings, values: int) -> dict[str, list[_Pair]]:
    """Return pairs of blocks, the first of which nothing observes, by observers."""
    count = 1
    while site.block(AllReduces(values, count)).wall_s < _CALIBRATION_S:
        count *= 2
    each_s = min(site.block(AllReduces(values, count)).wall_s for _ in range(_CALIBRATIONS)) / count
    task = AllReduces(values, max(1, round(settings.block_s / each_s)))
    long = AllReduces(values, round(TRACED_BLOCKS * task.count))
    kinds: dict[str, tuple[int, AllReduces, Callable[[], Callable[[], None]]]] = {
        READ: (settings.repeats, task, lambda: lambda: None),
        SCRAPED: (max(1, settings.repeats // 4), task, lambda: site.scrape),
        TRACED: (max(1, settings.repeats // 4), long, lambda: site.prepare_trace(TRACE_S)),
    }
    found: dict[str, list[_Pair]] = {kind: [] for kind in kinds}
    order = [kind for kind, (number, _, _) in kinds.items() for _ in range(number)]
    is_plain_first = True
    for kind in np.random.default_rng(1).permutation(order):
        _, work, prepare = kinds[kind]
        observe = prepare()
        blocks = []
        for is_plain in (is_plain_first, not is_plain_first):
            with contextlib.nullcontext() if is_plain else site.top():
                blocks.append(site.block(work) if is_plain else site.block(work, observe))
        found[kind].append((blocks[0], blocks[1]) if is_plain_first else (blocks[1], blocks[0]))
        is_plain_first = not is_plain_first
    return found


def idle_costs(site: ObservedSite, windows: int) -> tuple[Costs, Costs]:
    """Return the processor seconds of a read of top, and of a scrape, in several windows: of the job, and the switch.

    No all-reduce runs meanwhile. The same time without an observer is subtracted.
    """

    def used_s(observe: Callable[[], None] = lambda: None) -> NDArray[np.float64]:
        begin_s = np.array([site.cpu_s(), site.cpu_s(SWITCH)])
        observe()
        time.sleep(_WINDOW_S)
        return np.array([site.cpu_s(), site.cpu_s(SWITCH)]) - begin_s

    reads, scrapes = [], []
    for _ in range(windows):
        idle_s, before = used_s(), site.reads()
        with site.top():
            read_s = used_s()
        reads.append((read_s - idle_s) / max(1, site.reads() - before))
        scrapes.append(used_s(site.scrape) - idle_s)
    job, switch = ({_READ: [r[i] for r in reads], _SCRAPE: [s[i] for s in scrapes]} for i in range(2))
    return job, switch


def trace_costs(site: ObservedSite, settings: Settings) -> list[float]:
    """Return the processor seconds of all parts of the job for a trace that is full of spans, of several windows.

    The same all-reduces and the same time without a trace are subtracted.
    """
    task = AllReduces(settings.sizes[0], _TRACED_ALL_REDUCES)

    def used_s(observe: Callable[[], None]) -> float:
        begin, begin_s = time.monotonic(), site.cpu_s()
        site.block(task, observe)
        time.sleep(max(0.0, begin + TRACE_S + _REPORTED_S - time.monotonic()))
        return site.cpu_s() - begin_s

    used_s(site.prepare_trace(TRACE_S))
    found = []
    for _ in range(max(1, settings.windows // 4)):
        plain_s = used_s(lambda: None)
        found.append(used_s(site.prepare_trace(TRACE_S)) - plain_s)
    return found


def figures_of(
    settings: Settings, values: int, pairs: Mapping[str, Sequence[_Pair]], costs: Costs
) -> Iterator[dict[str, Any]]:
    """Yield the figures of a size: ratios to blocks that nothing observes; those at usual rates in both ways."""
    plain = [one for many in pairs.values() for one, _ in many]
    load = sum(one.cpu_s for one in plain) / sum(one.wall_s for one in plain)  # in cores
    # Time in blocks with scrapes, and in those with traces, as a share of all time.
    scraped, traced = settings.block_s / SCRAPE_S, TRACED_BLOCKS * settings.block_s / TRACE_EVERY_S
    weights = {READ: 1 - scraped - traced, SCRAPED: scraped, TRACED: traced}
    counted = np.ones(1) + sum(_resampled(many, np.mean) / _EVERY_S[name] for name, many in costs.items())
    number = sum(map(len, pairs.values()))
    figures: dict[str, tuple[int, dict[str, Any]]] = {}
    for name, ratio in (("time", _time_ratio), ("cpu", _cpu_ratio)):
        ratios = {kind: _resampled([ratio(*pair) for pair in many], np.median) for kind, many in pairs.items()}
        usual = np.sum([weights[kind] * many for kind, many in ratios.items()], axis=0)
        paid = counted if name == "time" else 1 + (counted - 1) / load
        for kind, many in (*ratios.items(), (USUAL, usual), (COUNTED, paid)):
            figures.setdefault(kind, (len(pairs.get(kind, ())) or number, {}))[1][name] = _interval(many)
    for kind, (blocks, found) in figures.items():
        yield {"values": values, "by": kind, "pairs": blocks, **found}


def _time_ratio(plain: Block, observed: Block) -> float:
    return observed.wall_s / plain.wall_s


def _cpu_ratio(plain: Block, observed: Block) -> float:
    return observed.cpu_s / plain.cpu_s


def shares_of(whose: str, costs: Costs) -> Iterator[dict[str, Any]]:
    """Yield the processor seconds of each observation per second at its usual rate."""
    for name, many in costs.items():
        share = _interval(_resampled(many, np.mean) / _EVERY_S[name])
        yield {"observation": name, "whose": whose, "every_s": _EVERY_S[name], "share": share}


def _resampled(values: Sequence[float], statistic: Callable[..., Any]) -> NDArray[np.float64]:
    """Return the statistic of the values, and of those resampled with replacement."""
    found = np.array(values)
    picks = np.random.default_rng(2).integers(len(found), size=(_RESAMPLES, len(found)))
    return np.append(statistic(found), statistic(found[picks], axis=1))


def _interval(resampled: NDArray[np.float64]) -> dict[str, float]:
    """Return the statistic of ``_resampled``, and its confidence interval of 95 % by percentiles."""
    low, high = np.percentile(resampled[1:], [2.5, 97.5])
    return {"value": float(resampled[0]), "low": float(low), "high": float(high)}


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COLUMNS``: ratios to all-reduces that nothing observes, with confidence intervals."""
    for figure in result["figures"]:
        ratios = [_words(figure[name], ".4f") for name in ("time", "cpu")]
        yield f"{figure['values']:,}", figure["by"], *ratios, str(figure["pairs"])


def cost_rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COST_COLUMNS``."""
    for cost in result["costs"]:
        every = f"{cost['every_s']:g} s"
        yield cost["observation"], every, cost["whose"], _words(cost["share"], ".3%")


def _words(found: Mapping[str, float], form: str) -> str:
    return f"{found['value']:{form}} ({found['low']:{form}} to {found['high']:{form}})"


registry.register(
    registry.Benchmark(
        name="observation",
        summary="Cost of top, metrics and traces, beside all-reduces that nothing observes. On loopback.",
        quick=QUICK,
        run=run,
        tables=(
            (COLUMNS, rows),
            (COST_COLUMNS, cost_rows),
        ),
    )
)
