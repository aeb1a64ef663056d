# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Forecasts of two and three levels of switches, and the figures of decision record 0028."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lanesum_lab.forecast.costs import REFERENCE
from lanesum_lab.forecast.methods import LESS_EXACT
from lanesum_lab.forecast.plan import run
from lanesum_lab.forecast.scenario import ForecastScenario
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site, request

RECORD = (Path(__file__).resolve().parents[3] / "docs" / "decisions" / "0028-two-levels-of-sums.md").read_text()
COSTS = REFERENCE["cuda"]


def cells(columns: int) -> list[list[str]]:
    """Return the rows of numbers of the record's table with this many columns."""
    rows = [line.strip("|").split("|") for line in RECORD.splitlines() if re.match(r"\| [\d,]+ \|", line)]
    return [[cell.strip() for cell in row] for row in rows if len(row) == columns]


def planned(**options: Any) -> dict[str, Any]:
    return run(ForecastScenario(codecs="thc", **options), COSTS)


def step_ms(found: dict[str, Any]) -> str:
    """Return the time of a step with ``thc``, as in the record."""
    steps = [one["step_s"] for one in found["forecasts"] if one["by"] == "thc"]
    return f"{steps[0] * 1e3:,.0f}" if steps else "-"


@pytest.mark.parametrize("row", cells(10), ids=lambda row: "-".join(row[:4]))
def test_record_of_levels_repeats_its_times(row: list[str]) -> None:
    workers, racks, pods, narrow = (int(cell.replace(",", "")) for cell in row[:4])
    expected = []
    for rate in (1_000.0, 10_000.0):
        rack_rate = rate * workers / racks / narrow
        options = {"rack_rate": rack_rate, "pod_rate": rack_rate * racks / pods / narrow, "rate": rate}
        found = [planned(workers=workers, racks=racks, pods=pods, levels=levels, **options) for levels in (2, 3)]
        peers = [one["step_s"] for one in found[0]["forecasts"] if one["by"] not in ("thc", *LESS_EXACT)]
        expected += [*map(step_ms, found), f"{min(peers) * 1e3:,.0f}"]
    assert row[4:] == expected


@pytest.mark.parametrize("row", cells(8), ids=lambda row: "-".join(row[:2]))
def test_record_of_levels_counts_hosts(row: list[str]) -> None:
    ports, narrow, leaf, *rest = (int(cell.replace(",", "")) for cell in row)
    assert leaf == ports * narrow // (1 + narrow)
    largest = min(32, leaf)
    assert rest == [
        ports * leaf,
        ports // 2 * leaf,
        ports * ports // 2 * leaf,
        largest * min(32, ports),
        largest * min(32, ports // 2),
    ]


def test_commands_of_record_of_levels_run() -> None:
    commands = re.findall(r"^lanesum (plan .*)$", RECORD, re.MULTILINE)
    assert len(commands) == 3
    times = []
    for command in commands:
        ran = invoke([*command.split(), "--parameters", "1M", "--json"])
        assert ran.exit_code == 0, ran.output
        times.append(json.loads(ran.output)["forecasts"][0]["step_s"])
    assert times[0] > times[1]


def test_server_sums_racks_of_several_pods() -> None:
    two, three = (planned(workers=64, racks=8, pods=2, levels=levels)["forecasts"][0] for levels in (2, 3))
    assert (two["limit"], three["limit"]) == ("server", "host")
    assert two["bytes_up"] == three["bytes_up"]


def test_narrow_pod_link_carries_all_racks() -> None:
    # 100 kbit/s for the sums of 4 racks, or for that of a pod.
    narrow = {"workers": 64, "racks": 8, "pods": 2, "pod_rate": 0.1, "parameters": "1M", "compute": 0.0}
    two, three = (planned(**narrow, levels=levels)["forecasts"][0] for levels in (2, 3))
    assert (two["limit"], three["limit"]) == ("pod", "pod")
    assert two["step_s"] == pytest.approx(4 * three["step_s"], rel=0.01)


def test_three_levels_have_bounds_of_their_own() -> None:
    assert planned(workers=1024, racks=64, pods=4, levels=3)["refused"] == {}
    refused = planned(workers=1024, racks=64, pods=1, levels=3)["refused"]["thc"]
    assert "32 racks, here 16 and 64" in refused


def test_racks_below_switch_without_control_sum() -> None:
    """A switch without control stands for all levels above the racks: it routes, and the server sums the racks."""
    controller = Site("tree4x4", controlled=["s1", "s2", "s3", "s4"]).start()
    job = controller.admit(request("a", workers=16))
    assert set(job.switch_jobs) == {"s1", "s2", "s3", "s4"} and set(job.left_out) == {"s0"}
    controller.close()
