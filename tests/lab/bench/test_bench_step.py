# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of trainings beside peers: every method has its figures, in turns with its peer. No speed is judged."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
from typing import Any

import pytest

from lanesum.errors import ConfigurationError
from lanesum_lab.bench import step
from lanesum_lab.bench.figures import BenchError
from lanesum_lab.veth import obstacle

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


def run_of(seconds: float) -> dict[str, Any]:
    return {"step_s": seconds, "cpu_s": 1.0, "loss": 2.0, "chosen": ""}


def figure(own: list[float], peer: list[float], alone: list[float]) -> dict[str, Any]:
    return step._figure(*(list(map(run_of, some)) for some in (own, peer, alone)))


def test_communication_is_beyond_step_without_it() -> None:
    found = figure([0.2, 0.3], [0.5, 0.9], [0.1, 0.1])
    assert found["communication_s"] == pytest.approx({"median": 0.15, "min": 0.1, "max": 0.2})
    assert found["communication_times_peer"] == pytest.approx({"median": 4, "min": 4, "max": 4})
    assert found["times_peer"] == pytest.approx({"median": 2.75, "min": 2.5, "max": 3})


def test_hidden_communication_has_no_ratio() -> None:
    found = figure([0.2, 0.1], [0.5, 0.5], [0.1, 0.1])
    assert found["communication_times_peer"] is None and found["communication_s"]["min"] == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"workers": (1,)}, "A step needs two workers and a rate above 0 at least."),
        ({"rates_mbit": (0.0,)}, "A step needs two workers and a rate above 0 at least."),
        ({"cases": ("sharded",)}, "There is no case sharded."),
        ({"device": "tpu"}, "There is no device 'tpu' to measure on."),
        ({"model": "cnn"}, "There is no model 'cnn'."),
        ({"width": 65}, "width=65, layers=1, context=16 and batch=2 must be positive"),
        ({"by": ("thcc",)}, "There is no way 'thcc' to average gradients."),
        ({"by": ("nccl",)}, "There is no way 'nccl' to average gradients."),
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        step.run(dataclasses.replace(step.QUICK, **wrong))
    assert message in str(refused.value)


def test_different_replicas_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from lanesum_lab.bench.stepper import Stepped

    group = object.__new__(step._Group)
    taken = [Stepped(0.0, 1.0, 1.0, 2.0, "", weights) for weights in ("a", "b")]
    monkeypatch.setattr(step._Group, "_ask", lambda _group, _call: taken)
    assert group._take("alone", 2)["step_s"] == 0.5
    with pytest.raises(BenchError, match="The replicas of the training by thc differ"):
        group._take("thc", 2)


@pytest.mark.long
@pytest.mark.parametrize("model", ["transformer", "small", "tensors"])
def test_every_method_takes_steps(model: str) -> None:
    if problem := obstacle():
        pytest.skip(problem)
    by = ("gloo-fp16", "gloo-powersgd", "two-shot-4", "thc") if model == "transformer" else ("thc",)
    settings = dataclasses.replace(step.QUICK, model=model, by=by, rates_mbit=(50.0, 100.0), warm_up=1)
    result = step.run(settings)
    json.dumps(result)
    found = {(one["rate_mbit"], one["by"]): one for one in result["figures"]}
    assert found.keys() == {(rate, way) for rate in (None, 50.0, 100.0) for way in ("alone", "gloo", *by)}
    assert {one["parameters"] for one in result["figures"]} == {
        {"transformer": 84_032, "small": 10_000, "tensors": 8_000}[model]
    }
    for (_, way), one in found.items():
        assert one["loss"] == pytest.approx(found[None, "alone"]["loss"], rel=0.05)
        assert (one["communication_s"] is None) == (way == "alone")
        assert ("accumulator_words" in one) == (way == "thc")
    texts = list(step.rows(result))
    assert len(texts) == len(found) and all(len(row) == len(step.COLUMNS) for row in texts)
