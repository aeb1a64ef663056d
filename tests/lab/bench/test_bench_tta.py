# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Time to accuracy: every method has its figures, and the target is what it says. No speed is judged."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from lanesum.errors import ConfigurationError
from lanesum_lab.bench import tta
from lanesum_lab.bench.figures import BenchError
from lanesum_lab.bench.places import Wire
from lanesum_lab.bench.training_network import Trained, training_network
from lanesum_lab.cli import bench
from lanesum_lab.run.plan import mininet_obstacle
from lanesum_lab.veth import obstacle

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
needs_namespaces = pytest.mark.skipif(bool(obstacle()), reason=obstacle() or "-")
needs_mininet = pytest.mark.skipif(bool(mininet_obstacle()), reason=mininet_obstacle() or "-")


def record(losses: list[float], *, step_s: float = 1.0, weights: str = "a") -> Trained:
    """Return a training of two steps per test."""
    steps = 2 * len(losses)
    tests = [
        {"step": 2 * number, "loss": loss, "accuracy": 0.5, "train_s": 0.0} for number, loss in enumerate(losses, 1)
    ]
    curve = {
        "losses": [1.0] * steps,
        "tests": tests,
        "step_s": [step_s] * steps,
        "phases": {"forward": 0.1, "backward": step_s, "optimizer": 0.1},
        "weights_sha256": weights,
        "elements": 10,
    }
    return Trained(curve, 1.0)


class Invented:
    """Network with invented trainings: lanesum is twice as fast, and ``two-shot-4`` ends with a higher loss."""

    def __init__(self) -> None:
        self.trained: list[str] = []
        self.rates: list[float | None] = []

    def limit(self, rate_mbit: float | None) -> None:
        self.rates.append(rate_mbit)

    def train(self, by: str, settings: dict[str, object]) -> tuple[list[Trained], Wire]:
        self.trained.append(by)
        losses = [4.0, 3.0, 2.5] if by == "two-shot-4" else [4.0, 3.0, 2.0]
        one = record(losses, step_s=0.5 if by == "thc" else 1.0)
        return [one, one], Wire(6_000_000, 12_000_000)


SETTINGS = dataclasses.replace(
    tta.QUICK, by=("alone", "gloo", "two-shot-4", "thc"), steps=6, seeds=2, rates_mbit=(10.0, 20.0)
)


@pytest.fixture
def invented(monkeypatch: pytest.MonkeyPatch) -> Invented:
    made = Invented()
    monkeypatch.setattr(tta, "training_network", lambda case, **_: contextlib.nullcontext(made))
    return made


def figures(result: dict[str, Any]) -> dict[tuple[float, str], dict[str, Any]]:
    return {(one["rate_mbit"], one["by"]): one for one in result["figures"]}


@needs_torch
def test_figures_have_time_to_target_and_gloo_ratios(invented: Invented, tmp_path: Path) -> None:
    result = tta.run(dataclasses.replace(SETTINGS, out=tmp_path))
    json.dumps(result)
    found = figures(result)
    assert len(found) == 2 * 4 and set(invented.rates) == {10.0, 20.0}
    gloo, thc, coarse = (found[10.0, by] for by in ("gloo", "thc", "two-shot-4"))
    # The target, 2.01, is reached between the second test (4 s, 3.0) and the third (6 s, 2.0).
    assert gloo["to_target_s"]["median"] == pytest.approx(4 + 2 * 0.99)
    assert thc["times_gloo"] == pytest.approx({"median": 2, "min": 2, "max": 2})
    assert coarse["to_target_s"] is None and coarse["reached"] == 0
    assert coarse["beside_gloo"]["median"] == pytest.approx(0.25)
    assert found[10.0, "alone"]["to_target_s"] is None
    # 18 MB in all, by two workers in six steps.
    assert gloo["mbyte_per_step"]["median"] == pytest.approx(1.5)
    texts = dict(zip(["alone", "gloo", "two-shot-4", "thc"], tta.rows(result), strict=False))
    assert texts["two-shot-4"][2] == "not reached (0 of 2 seeds)"
    assert next(tta.winners(result)) == "10 Mbit/s: thc is first at the target, 2.00 times as fast as gloo."


@needs_torch
def test_command_prints_tables_and_json(
    invented: Invented, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    arguments = [
        "--quick",
        "--by=thc",
        "--steps=6",
        "--seeds=2",
        "--rates=10",
        f"--out={tmp_path}",
        "--note=Other programs ran.",
    ]
    assert bench.main(["tta", *arguments, "--json"]) == 0
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert result["by"] == ["gloo", "thc"] and result["seeds"] == [1, 2] and result["rates_mbit"] == [10]
    assert "4 of 4: digits by thc, 10 Mbit/s, seed 2" in printed.err
    assert "Other programs ran." in tta.conditions(result)
    assert bench.main(["tta", *arguments]) == 0
    printed = capsys.readouterr()
    assert "thc is first at the target" in printed.out
    assert "two-shot" not in printed.out and "10 Mbit/s" in printed.out


def test_time_to_target_ignores_minimum_before_end() -> None:
    tests = [{"loss": loss, "train_s": float(second)} for second, loss in enumerate([4.0, 1.0, 3.0, 1.0], 1)]
    assert tta.time_to(tests, 2.0) == pytest.approx(3.5)
    assert tta.time_to(tests[:3], 2.0) is None
    assert tta.time_to(tests, 5.0) == 1.0
    assert tta.time_to([*tests, {"loss": float("nan"), "train_s": 5.0}], 2.0) is None


@needs_torch
def test_diverged_gloo_is_an_error(invented: Invented, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invented, "train", lambda by, _: ([record([4.0, float("nan")])], Wire(0, 0)))
    with pytest.raises(BenchError, match="The training by gloo with seed 1 diverged"):
        tta.run(dataclasses.replace(SETTINGS, steps=4, out=tmp_path))


def test_differing_replicas_end_the_benchmark() -> None:
    different = [record([2.0]), record([2.0], weights="b")]
    with pytest.raises(BenchError, match="replicas of the training by thc differ"):
        tta._record("thc", different, Wire(0, 0), 2)
    assert tta._record("alone", different, Wire(0, 0), 2)["elements"] == 10


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"case": "ring"}, "There is no case 'ring'. Known ones: "),
        ({"workers": 1}, "A benchmark needs two workers, one seed and a rate above 0 at least"),
        ({"seeds": 0}, "A benchmark needs two workers, one seed and a rate above 0 at least"),
        ({"rates_mbit": (0.0,)}, "A benchmark needs two workers, one seed and a rate above 0 at least"),
        ({"tolerance": -1.0}, "tolerance = -1 is below 0"),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        dataclasses.replace(tta.QUICK, **wrong)


@needs_torch
def test_unknown_method_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="There is no way 'thcc' to average gradients"):
        tta.run(dataclasses.replace(tta.QUICK, by=("gloo", "thcc"), out=tmp_path))


def test_switch_has_one_rate(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigurationError, match="The links of a topology have one rate"),
        training_network("switch", workers=2, job="digits", limit=64, rates_mbit=(1.0, 2.0), logs=tmp_path),
    ):
        pass


@needs_torch
@needs_namespaces
def test_trainings_behind_limited_links(tmp_path: Path) -> None:
    by = ("alone", "gloo", "gloo-fp16", "gloo-powersgd", "two-shot-4", "topk", "dgc", "thc-paper", "thc")
    result = tta.run(dataclasses.replace(tta.QUICK, by=by, out=tmp_path))
    found = {one["by"]: one for one in result["figures"]}
    assert list(found) == list(by)
    assert found["alone"]["mbyte_per_step"]["median"] < found["thc"]["mbyte_per_step"]["median"]
    assert found["thc"]["mbyte_per_step"]["median"] < found["gloo"]["mbyte_per_step"]["median"] / 2
    assert found["thc"]["communication_s"] > 0


@needs_torch
@needs_mininet
def test_trainings_through_the_switch(tmp_path: Path) -> None:
    settings = dataclasses.replace(tta.QUICK, case="switch", by=("gloo", "thc", "thc-paper"), rates_mbit=(10.0,))
    result = tta.run(dataclasses.replace(settings, out=tmp_path))
    found = {one["by"]: one for one in result["figures"]}
    assert found["thc"]["mbyte_per_step"]["median"] < found["gloo"]["mbyte_per_step"]["median"]
    assert found["thc"]["elements"] == 16_290
