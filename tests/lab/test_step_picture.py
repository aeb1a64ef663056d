# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Picture of a training step: the step that it shows is that of the trace, with all spans at their times."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lanesum.errors import ConfigurationError
from lanesum_control.observe import timeline
from lanesum_lab import step_picture
from tests.control_plane.observe.test_trace import check_format
from tests.paths import ROOT

TRACE = ROOT / "docs" / "pictures" / "step.json"
BAR = re.compile(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.e]+)" height="\d+" fill="(#\w+)"(?: stroke="#\w+")?')


@pytest.fixture
def made() -> dict[str, Any]:
    """Trace of two workers: the last wait of step 1, step 2, and the begin of step 3."""
    names = [timeline.WAIT, "lanesum::encode", timeline.ROUND, timeline.ROUND, timeline.WAIT, "lanesum::encode"]
    times = [(0, 1000), (1500, 1600), (1600, 4000), (1700, 5000), (3000, 5000), (6000, 6100)]
    traces = [
        {
            "worker": worker,
            "host": f"w{worker}",
            "spans": [(name, begin + late, end + late) for name, (begin, end) in zip(names, times, strict=True)],
            "steps": [1, 2, 2, 2, 2, 3],
            "error_us": 300,
            "offset_us": 0,
        }
        for worker, late in ((0, 0), (1, 40))
    ]
    return timeline.timeline("a", traces)


def test_step_begins_and_ends_with_the_last_waits(made: dict[str, Any]) -> None:
    found = step_picture.steps(step_picture.excerpt(made, 2, "a test"))
    first = found[0]
    assert (first.begin, first.end) == (1000, 5000) and (found[1].begin, found[1].end) == (1040, 5040)
    assert [one[1:] for one in first.training] == [(1000, 3000), (3000, 5000)]
    assert first.reducing == [("lanesum::encode", 1500, 1600)]
    assert [one[1:] for one in first.rounds] == [(1600, 4000), (1700, 5000)]
    assert step_picture.last_to_begin(found) == (1, 1640)


@pytest.mark.parametrize("step", [1, 3, 7])
def test_step_that_is_not_complete_is_refused(made: dict[str, Any], step: int) -> None:
    with pytest.raises(ConfigurationError, match=f"Worker 0 has no complete step {step}"):
        step_picture.steps(step_picture.excerpt(made, step, "a test"))


def test_command_writes_the_events_of_one_step(made: dict[str, Any], tmp_path: Path) -> None:
    (trace := tmp_path / "trace.json").write_text(json.dumps(made))
    assert step_picture.main([str(trace), "2", "a test", str(tmp_path / "step.json")]) == 0
    found = timeline.read_timeline(tmp_path / "step.json")
    assert found == step_picture.excerpt(made, 2, "a test")
    assert {one["args"]["step"] for one in found["traceEvents"] if one["name"] == "lanesum::encode"} == {2}


def test_picture_has_bar_at_time_of_each_span(made: dict[str, Any]) -> None:
    picture = step_picture.svg(step_picture.excerpt(made, 2, "a <test>"))
    bars = [(float(x), float(width), color) for x, width, color in BAR.findall(picture)]
    per_us = (1040 - 170) / 4040
    colors = step_picture._COLORS
    for late in (0, 40):
        for name, begin, end in (("lanesum::encode", 1500, 1600), (timeline.ROUND, 1700, 5000)):
            x, width = 170 + per_us * (begin + late - 1000), per_us * (end - begin)
            assert any(
                color == colors[name] and abs(left - x) < 0.1 and abs(wide - width) < 0.1 for left, wide, color in bars
            )
    assert "Worker 1 begins the first round last" in picture and "a &lt;test&gt;" in picture


def test_picture_of_docs_has_spans_of_four_workers() -> None:
    trace = timeline.read_timeline(TRACE)
    check_format(trace["traceEvents"])
    found = step_picture.steps(trace)
    assert [*found] == [0, 1, 2, 3]
    bars = Counter[str](color for _, _, color in BAR.findall((TRACE.parent / "step.svg").read_text()))
    spans = Counter(name for one in found.values() for name, _, _ in (*one.training, *one.reducing, *one.rounds))
    assert spans.keys() == step_picture._COLORS.keys()
    assert bars == {color: spans[name] for name, color in step_picture._COLORS.items()}
    for one in found.values():
        assert all(one.begin <= begin <= end <= one.end for _, begin, end in (*one.reducing, *one.rounds))
    # A round ends only after all workers have begun it; clocks differ by 1.3 ms at most.
    _, last_begin = step_picture.last_to_begin(found)
    assert all(min(end for _, _, end in one.rounds) + 2 * 1300 >= last_begin for one in found.values())
