# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Forecasts: beside published measurements, their bytes, what slows a step, and refused input."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest

from lanesum.cli.app import main
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.bench import forecast as bench_forecast
from lanesum_lab.bench.allreduce import AllReduceSettings
from lanesum_lab.builds.rates import WireBytes
from lanesum_lab.forecast.costs import REFERENCE
from lanesum_lab.forecast.methods import InNetwork
from lanesum_lab.forecast.plan import rows, run
from lanesum_lab.forecast.published import MEASURED, RATES, deviations
from lanesum_lab.forecast.scenario import ForecastScenario

COSTS = REFERENCE["cuda"]
# Links are the limit at this rate.
SLOW = {"workers": 4, "rate": 100.0, "parameters": "10M", "compute": 0.0}


def times(**options: Any) -> dict[str, float]:
    """Return the seconds of a step by method."""
    return {one["by"]: one["step_s"] for one in run(ForecastScenario(**options), COSTS)["forecasts"]}


def test_published_measurements_are_met() -> None:
    found = [abs(deviation) for _, deviation in deviations().values()]
    assert len(found) == len(MEASURED) * len(RATES)
    assert max(found) < 0.15 and statistics.median(found) < 0.05


@pytest.mark.parametrize(("codec", "op"), [("thc bits=4", LaneOp.EXPAND8), ("fixed", LaneOp.ADD32)])
def test_traffic_equals_bytes_of_full_packets(codec: str, op: LaneOp) -> None:
    scenario = ForecastScenario(workers=4, switch="tofino1-w256", parameters="10M")
    found = InNetwork(codec, scenario.network(), scenario.job(), COSTS).traffic(1 << 22)
    expected = WireBytes.of(op, 256)
    # Norms add a word to 1,024 or 4,096 values, and headers of their own.
    assert found.up / (1 << 22) == pytest.approx(expected.up, rel=0.01)
    assert found.down / (1 << 22) == pytest.approx(expected.down, rel=0.01)


def test_traffic_half_the_link_takes_twice_as_long() -> None:
    whole, half = times(**SLOW), times(**SLOW, background=0.5)
    for by, seconds in whole.items():
        assert half[by] == pytest.approx(2 * seconds, rel=0.03), by


def test_straggler_delays_step_by_slowest_worker() -> None:
    punctual, late = times(**SLOW), times(**SLOW, straggler=100.0)
    # Mean of the largest of 4 exponential delays of 100 ms: 100 (1 + 1/2 + 1/3 + 1/4).
    assert 0.05 < late["thc"] - punctual["thc"] < 0.45
    assert late["thc"] - punctual["thc"] == pytest.approx(late["gloo"] - punctual["gloo"], rel=0.01)


def test_loss_slows_every_method() -> None:
    clean, lossy = times(**SLOW), times(**SLOW, loss=0.01)
    assert all(lossy[by] >= seconds for by, seconds in clean.items())
    assert lossy["thc"] > clean["thc"]


def test_computation_hides_buckets_that_fit() -> None:
    found = run(ForecastScenario(workers=4, rate=100_000.0, parameters="86M", compute=10_000.0), COSTS)["forecasts"]
    (thc,) = [one for one in found if one["by"] == "thc"]
    # The last bucket begins when backward has ended.
    assert 10.0 < thc["step_s"] < 10.0 + 2 * thc["bucket_s"]


def test_narrow_rack_link_becomes_the_limit() -> None:
    options = {**SLOW, "workers": 16, "racks": 4, "codecs": "thc"}
    wide, narrow = (run(ForecastScenario(**options, rack_rate=rate), COSTS) for rate in (None, 10.0))
    assert wide["forecasts"][0]["limit"] == "down"
    assert narrow["forecasts"][0]["limit"] == "rack"
    assert narrow["forecasts"][0]["step_s"] > 5 * wide["forecasts"][0]["step_s"]


def test_recirculation_of_a_fast_port_becomes_limit() -> None:
    found = run(ForecastScenario(workers=16, rate=100_000.0, switch="tofino1-w256", codecs="thc"), COSTS)
    assert found["forecasts"][0]["limit"] == "recirculation"


def test_advice_names_the_faster_peer_first() -> None:
    found = run(ForecastScenario(workers=8, rate=100_000.0, codecs="fixed"), COSTS)
    assert found["advice"].startswith("In-network aggregation does not help here")
    assert run(ForecastScenario(**SLOW), COSTS)["advice"].startswith("In-network aggregation makes a step ")


def test_workers_beyond_two_levels_are_refused_by_name() -> None:
    found = run(ForecastScenario(workers=4096, racks=128, parameters="86M"), COSTS)
    assert set(found["refused"]) == {"thc", "fixed"} and "at most 32 workers in a rack" in found["refused"]["thc"]
    assert {one["by"] for one in found["forecasts"]} >= {"nccl", "nccl-tree", "gloo"}


def test_codec_with_bytes_of_the_data_is_refused() -> None:
    found = run(ForecastScenario(workers=4, codecs="thc,thc error=0.01,sketch,nosuch"), COSTS)
    assert set(found["refused"]) == {"thc error=0.01", "sketch", "nosuch"}
    assert "depend on the gradients" in found["refused"]["sketch"]


def test_topology_gives_workers_racks_and_entries() -> None:
    found = run(ForecastScenario(topology="tree4x4", codecs="thc"), COSTS)
    assert found["entries"]["s0"]["member"] == 16
    assert found["entries"]["s1"]["descend"] == 1
    assert len(rows(found)) == len(found["forecasts"])


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({}, "needs the number of workers"),
        ({"workers": 10**9}, "--workers=1e+09"),
        ({"workers": 1}, "--workers=1"),
        ({"workers": 4, "rate": 0.0}, "--rate=0"),
        ({"workers": 4, "racks": 5}, "--racks=5"),
        ({"workers": 4, "loss": 1.0}, "--loss=1"),
        ({"workers": 4, "racks": 2, "pods": 3}, "--pods=3"),
        ({"workers": 4, "racks": 2, "pods": 2, "pod_rate": 0.0}, "--pod-rate=0"),
        ({"workers": 4, "levels": 4}, "--levels=4"),
        ({"workers": 4, "parameters": "lots"}, "--parameters"),
        ({"workers": 4, "parameters": "900G", "bucket": 1.0}, "buckets"),
        ({"workers": 4, "switch": "tofino9"}, "no Tofino profile 'tofino9'"),
        ({"workers": 40, "topology": "tree4x4"}, "has 16 workers"),
        ({"workers": 4, "topology": "nosuch"}, "nosuch"),
        ({"workers": 4, "rate": float("nan")}, "--rate=nan"),
    ],
)
def test_impossible_scenario_is_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(LanesumError, match=re.escape(what)):
        run(ForecastScenario(**options), COSTS)


def test_command_writes_json_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "plan.png"
    assert main(["plan", "--workers", "4", "--rate", "1000", "--json", "--picture", str(picture)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["scenario"]["workers"] == 4 and found["forecasts"][0]["by"] == "thc"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_command_with_wrong_option_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--workers", "many"]) == ConfigurationError.exit_code
    assert "--workers" in capsys.readouterr().err


def test_benchmark_compares_forecast_with_measured_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"median": 1.0, "min": 1.0, "max": 1.0}

    def measured(settings: AllReduceSettings) -> dict[str, Any]:
        # The link is shared by half while the share of gloo is measured, at another rate and length.
        times = {"gloo": 0.5 if not settings.codecs else 1.0, "fixed": 1.0}
        figures = [
            {"rate_mbit": rate, "workers": 2, "by": by, "seconds": {**seconds, "median": times[by]}}
            for rate in settings.rates_mbit
            for by in ("gloo", *settings.codecs)
        ]
        return {"figures": figures, "repeats": 1, "machine": {}, "left_out": {}}

    monkeypatch.setattr(bench_forecast, "measure_costs", lambda *_, **__: REFERENCE["cpu"])
    monkeypatch.setattr(bench_forecast.allreduce, "run", measured)
    settings = bench_forecast.ForecastSettings(
        workers=(2,),
        collectives=("all-reduce",),
        losses=(0.0,),
        values=2_000_000,
        rates_mbit=(100.0,),
        codecs=("fixed",),
    )
    found = bench_forecast.run(settings)
    # 2 million values of 4 bytes and headers at 100 Mbit/s take about .68 s in each direction. A quarter of them take
    # .42 s at 40 Mbit/s, which is .84 of the time of gloo there.
    assert [one["forecast_s"] for one in found["figures"]] == pytest.approx([0.68 / 0.84, 0.68], rel=0.06)
    assert found["deviation"]["max"] == pytest.approx(0.32, abs=0.05)


def test_reduce_scatter_sends_down_a_share() -> None:
    """A server sends each sum to its owner alone; chips send all to all. Gloo's is an all-reduce."""
    found = {}
    for collective in ("all-reduce", "reduce-scatter"):
        for switch in ("none", "tofino2-w64"):
            scenario = ForecastScenario(**SLOW, collective=collective, switch=switch)  # type: ignore[arg-type]
            found[collective, switch] = {one["by"]: one for one in run(scenario, COSTS)["forecasts"]}
    whole, shards = (found[one, "none"] for one in ("all-reduce", "reduce-scatter"))
    assert set(shards) == {"thc", "fixed", "nccl", "nccl-fp16", "gloo"}
    assert shards["fixed"]["bytes_up"] == pytest.approx(whole["fixed"]["bytes_up"], rel=0.01)
    assert shards["fixed"]["bytes_down"] == pytest.approx(0.3 * whole["fixed"]["bytes_down"], rel=0.1)
    assert shards["nccl"]["bytes_up"] == whole["nccl"]["bytes_up"] / 2
    assert shards["gloo"]["step_s"] == whole["gloo"]["step_s"]
    chips = [found[one, "tofino2-w64"]["fixed"]["bytes_down"] for one in ("all-reduce", "reduce-scatter")]
    assert chips[0] == pytest.approx(chips[1], rel=0.01)


@pytest.mark.parametrize("switch", ["none", "tofino2-w64"])
@pytest.mark.parametrize("rate", [10.0, 1000.0, 100_000.0])
@pytest.mark.parametrize("workers", [2, 4, 32])
def test_two_steps_are_slower_than_one(workers: int, rate: float, switch: str) -> None:
    """Both have the same sums. The words of the all-gather cross each link once more than those of the all-reduce."""
    scenario = ForecastScenario(
        workers=workers, rate=rate, switch=switch, codecs="thc bits=4,fixed,bf16", parameters="4M", compute=0.0
    )
    found = {one["by"]: one for one in run(scenario, REFERENCE["cpu"])["forecasts"]}
    assert "bf16" in found and "bf16, two steps" not in found
    for codec in ("thc bits=4", "fixed"):
        one, two = found[codec], found[f"{codec}, two steps"]
        assert two["step_s"] > 1.02 * one["step_s"]
        # An owner sends a share of all words, and one header a packet. No result comes back for its own ones.
        assert two["bytes_up"] - one["bytes_up"] > one["bytes_down"] / workers
        assert two["bytes_down"] > one["bytes_down"]
        # Behind a switch all copies leave the server.
        assert switch == "none" or two["step_s"] > 1.5 * one["step_s"]


def test_link_of_rack_without_switch_carries_all_results() -> None:
    """Results of 4-bit codes have 8 bits, which the server sends to each of 4 workers behind the link."""
    options = {**SLOW, "workers": 16, "racks": 4, "codecs": "thc bits=4", "switch": "none", "rate": 10_000.0}
    one, two = run(ForecastScenario(**options, rack_rate=100.0), COSTS)["forecasts"][:2]
    carried = 4 * one["bytes_down"] * 8 / 100e6
    assert one["limit"] == "rack" and one["step_s"] == pytest.approx(carried, rel=0.05)
    # The copies of an all-gather fill the direction of results; contributions have the other one.
    assert two["step_s"] == pytest.approx(4 * two["bytes_down"] * 8 / 100e6, rel=0.05)


@pytest.mark.parametrize("narrow", [{"rack_rate": 100.0}, {"pods": 2, "pod_rate": 100.0}])
def test_two_steps_of_rack_send_all_copies(narrow: dict[str, Any]) -> None:
    """A switch sends one sum, and a server one copy to each of at least 4 workers behind the same link."""
    options = {**SLOW, "workers": 16, "racks": 4, "codecs": "fixed", "switch": "tofino2-w64", "rate": 10_000.0}
    one, two = run(ForecastScenario(**options, **narrow), COSTS)["forecasts"][:2]
    assert two["by"] == "fixed, two steps"
    assert two["limit"] in ("rack", "pod") and two["step_s"] > 3.5 * one["step_s"]


def test_benchmark_without_rates_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="a rate above 0"):
        bench_forecast.ForecastSettings(rates_mbit=())
    with pytest.raises(ConfigurationError, match="needs a loss"):
        bench_forecast.ForecastSettings(losses=())
    with pytest.raises(ConfigurationError, match=r"Unknown collectives=\('all-gather',\): expected some"):
        bench_forecast.ForecastSettings(collectives=("all-gather",))
