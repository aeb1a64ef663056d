# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Errors and speed of the codecs: what is measured is what it says, and what is left out is said."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanesum import codecs
from lanesum._internal.native import VARIABLE
from lanesum.errors import ConfigurationError, MissingToolError
from lanesum_lab.bench import codec, comparison, learning, nmse, pictures
from lanesum_lab.codec_simulation import simulate
from tests.command_line import invoke

has_torch = importlib.util.find_spec("torch") is not None


def test_errors_of_drawn_vectors() -> None:
    result = nmse.run(nmse.NmseSettings(size=4096, runs=2, workers=(1, 4, 64), recorded=False, rounds=(1, 4, 32)))
    json.dumps(result)
    found = {(one["vectors"], one["workers"], one["that"], one["by"]): one for one in result["figures"]}
    one, same = found["Gaussian", 1, "differ", "thc 4"], found["Gaussian", 4, "agree", "thc 4"]
    assert 0.009 < one["nmse"] < 0.0125 and same["nmse"] < one["nmse"] / 5
    assert one["bits_up"] == 4 + 32 / 4096
    assert one["nmse"] < 0.7 * found["Gaussian", 1, "differ", "paper"]["nmse"]
    assert found["layers", 1, "differ", "paper, blocks"]["nmse"] > 5 * found["layers", 1, "differ", "thc 4"]["nmse"]
    # Codecs without lanes for 64 workers have no figure.
    there = {by for _, workers, _, by in found if workers == 64}
    assert there == {"EDEN 4", "thc 4", "thc 8"}
    assert found["log-normal", 1, "differ", "EDEN 4"]["nmse"] == pytest.approx(0.0096, rel=0.1)
    assert found["Gaussian", 4, "differ", "EDEN 4"]["bits_up"] == 4 + 32 / 4096
    rows = list(nmse.rows(result))
    assert len(rows) == 3 * 5 and all(len(row) == len(nmse.COLUMNS) for row in rows)
    assert sum(cell == "-" for cell in rows[-1]) == 4
    slopes = {one["by"]: one["slope"] for one in result["means"]}
    unbiased = ("EDEN 4", "thc 3", "thc 4", "thc 5", "thc 8")
    assert all(slopes[by] == pytest.approx(-0.5, abs=0.05) for by in unbiased)
    assert slopes["paper"] > -0.4
    assert [row[0] for row in nmse.mean_rows(result)] == ["1", "4", "32", "slope of rms"]


@pytest.mark.skipif(not has_torch, reason="PyTorch is not installed.")
def test_trainings_with_widths_by_both_optimizers() -> None:
    some = ("fixed", "widths 2")
    settings = learning.LearningSettings(codecs=some, trainings=(("digits", 5, 1), ("digits AdamW", 5, 1)), workers=2)
    result = learning.run(settings)
    figures = {(one["task"], one["codec"]): one for one in result["figures"]}
    assert len({one["loss"] for one in figures.values()}) == len(figures) == 4
    for task in ("digits", "digits AdamW"):
        assert figures[task, "widths 2"]["bytes_up"] < 0.12 * figures[task, "fixed"]["bytes_up"]
    assert [row[6] for row in learning.rows(result, baseline="fixed")][::2] == ["-", "-"]
    with pytest.raises(ConfigurationError, match="There are the tasks digits, noisy-digits, transformer"):
        learning.LearningSettings(trainings=(("letters", 1, 1),))


@pytest.mark.skipif(not has_torch, reason="PyTorch is not installed.")
def test_trainings_as_hook_follow_the_optimizer() -> None:
    """AdamW doubles the uplink of thc; without the hook's defaults there is error feedback instead."""
    tasks = ("noisy-digits", "noisy-digits AdamW")
    runs = [(hook, task) for hook in (False, True) for task in tasks]
    figures = {
        (hook, task): learning.train(task, "thc", 3, learning.LearningSettings(hook=hook, workers=2), 0)
        for hook, task in runs
    }
    assert len({one["loss"] for one in figures.values()}) == len(runs)
    up = [figures[key]["bytes_up"] for key in runs]
    assert up[0] == up[1] == up[2] and 1.9 < up[3] / up[0] < 2


@pytest.mark.skipif(not has_torch, reason="PyTorch is not installed.")
def test_widths_reach_flat_error_with_half_the_bits() -> None:
    from lanesum_lab.bench import gradients

    (vectors,) = gradients.recorded("word_transformer", 4, 1)
    truth = np.mean(vectors, axis=0, dtype=np.float64)
    flat, planned = (
        simulate(codecs.get("thc", workers=4, **options), vectors) for options in ({}, {"budget": 8, "error": 0.01})
    )
    assert np.sum((planned.values - truth) ** 2) < 1.1 * np.sum((flat.values - truth) ** 2)
    assert 32 * sum(one.words for one in planned.rounds) < 2 * truth.size
    assert 32 * sum(one.result_words for one in planned.rounds) < 4 * truth.size


@pytest.mark.skipif(not has_torch, reason="PyTorch is not installed.")
def test_recorded_gradients_differ_by_batch_at_equal_weights() -> None:
    from lanesum_lab.bench import gradients

    for model in ("digits", "transformer", "word_transformer", "words"):
        (first, second), (third, fourth) = gradients.recorded(model, 2, 2)
        assert first.dtype == np.float32 and first.shape == second.shape == third.shape == fourth.shape
        assert np.isfinite(first).all() and not np.array_equal(first, second) and not np.array_equal(first, third)
        again = gradients.recorded(model, 2, 1)[0]
        assert np.array_equal(again[0], first) and np.array_equal(again[1], second)


def test_speed_beside_pytorch(tmp_path: Path) -> None:
    result = codec.run(dataclasses.replace(codec.QUICK, parts=("speed",)))
    json.dumps(result)
    assert result["comparison"] == []
    figures = {(one["codec"], one["by"]): one for one in result["figures"]}
    assert {name for name, _ in figures} == {"thc, 3 bits", "thc, 4 bits", "thc, 5 bits", "thc, 8 bits", "thc-paper"}
    assert (("thc, 4 bits", codec.PEER) in figures) == has_torch == (codec.PEER not in result["left_out"])
    for one in result["figures"]:
        assert set(one["ns_per_value"]) == {"norm", "encode", "decode"}
        assert 0 <= one["together"]["min"] <= one["together"]["median"] <= one["together"]["max"]
        assert (one["times_peer"] is None) == (not has_torch)
    assert all(len(row) == len(codec.COLUMNS) for row in codec.rows(result))
    with pytest.raises(ConfigurationError, match="The picture shows the comparison of codecs, which was not measured"):
        pictures.codec(result, tmp_path / "codec.png")


def test_levels_that_are_not_there_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = codec.CodecSettings(values=4096, repeats=1, levels=("mmx",), parts=("speed",))
    assert "mmx" in codec.run(settings)["left_out"] or "compiled loops" in codec.run(settings)["left_out"]
    monkeypatch.setenv(VARIABLE, "off")
    result = codec.run(settings)
    assert "compiled loops" in result["left_out"]
    assert {one["by"] for one in result["figures"]} <= {"NumPy", codec.PEER}


def test_all_codecs_beside_each_other(tmp_path: Path) -> None:
    result = codec.run(dataclasses.replace(codec.QUICK, parts=("comparison",)))
    json.dumps(result)
    assert result["figures"] == []
    normal, sparse = (
        {one["codec"]: one for one in result["comparison"] if one["vectors"] == kind}
        for kind in (comparison.GAUSSIAN, comparison.SPARSE)
    )
    there = {*comparison.CODECS, *comparison.PEERS}
    with_torch = {"lgc", "lgc-server", *comparison.PEERS}
    assert set(normal) == (there if has_torch else there - with_torch)
    assert set(sparse) == set(normal) | set(comparison.SPARSE_CODECS)
    assert {name for name, _ in comparison.ALL_CODECS.values()} == set(codecs.names())
    for one in result["comparison"]:
        assert 0 <= one["nmse"] < 2 and one["bits_up"] > 0 and one["bits_down"] > 0 and one["ns_per_value"]["min"] > 0
    # Summed messages cost the same for any number of workers, gathered ones grow with it.
    assert normal["none"]["bits_up"] == 32 * 4 and normal["none"]["nmse"] < 1e-14
    assert normal["fixed"]["bits_up"] < 33 and normal["fp16"]["bits_up"] == 16 * 4
    assert normal["dgc"]["nmse"] == pytest.approx(normal["topk"]["nmse"], rel=1e-3)
    assert normal["eden 4"]["nmse"] < normal["thc 4"]["nmse"]
    if has_torch:
        # A share of each worker stays with it: 3/4 of the bits and scales, in both shots.
        assert normal["two-shot-4"]["bits_up"] == normal["two-shot-4"]["bits_down"] == 1.5 * (4 + 32 / 512)
        assert normal["two-shot-8"]["bits_up"] == 1.5 * (8 + 32 / 512)
        assert normal["two-shot-8"]["nmse"] < normal["thc 4"]["nmse"] < normal["two-shot-4"]["nmse"]
        assert normal["powersgd"]["nmse"] == pytest.approx(normal[comparison.HOOK]["nmse"], rel=0.05)
        assert normal["lgc"]["bits_up"] < 0.3 * normal["topk"]["bits_up"]
    for lossless in ("sketch", "union", "auto"):
        assert sparse[lossless]["nmse"] < 1e-12 and sparse[lossless]["bits_up"] < 4
    assert all(len(row) == len(comparison.COLUMNS) for row in comparison.rows(result))
    pictures.codec(result, tmp_path / "codec.png")
    assert (tmp_path / "codec.png").stat().st_size > 10_000
    assert pictures.shown(tmp_path / "codec.png") == pictures.fingerprint(result)
    assert pictures.shown(tmp_path / "codec.png") != pictures.fingerprint({**result, "repeats": 0})
    assert pictures.shown(tmp_path / "absent.png") is None


@pytest.mark.skipif(not has_torch, reason="PyTorch is not installed.")
def test_messages_not_summed_grow_with_workers() -> None:
    for label, (name, parameters) in comparison.ALL_CODECS.items():
        if label != "lgc-server":  # It gathers once its network is trained.
            four, eight = (
                sum(one.words for one in codecs.get(name, workers=workers, **parameters).shapes(100_000))
                for workers in (4, 8)
            )
            assert (eight == 2 * four) == (label in comparison.NOT_SUMMED), label


def test_missing_gpu_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is measured, and said by the command line in a line."""
    if has_torch:
        monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for names in (("cuda",), ("cpu", "cuda")):
        with pytest.raises(MissingToolError, match=r"finds no CUDA device on this machine|needs PyTorch"):
            codec.run(dataclasses.replace(codec.QUICK, devices=names))
    with pytest.raises(ConfigurationError, match=r"There is no device 'tpu' to measure on.*cpu, cuda"):
        codec.run(dataclasses.replace(codec.QUICK, devices=("tpu",)))
    with pytest.raises(ConfigurationError, match=r"No codec is compared as 'thc'.*thc 4"):
        codec.CodecSettings(codecs=("thc",))
    ended = invoke(["bench", "codec", "--device", "cuda", "--quick", "--json"])
    assert ended.exit_code and re.search(r"finds no CUDA device on this machine|needs PyTorch", ended.output)
    assert "Traceback" not in ended.output and "{" not in ended.output


@pytest.mark.skipif(not has_torch, reason="PyTorch is not installed.")
def test_codecs_on_several_devices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The other device is the host's memory again, through which tensors are staged; without kernels of any kind."""
    import torch

    from lanesum_lab.bench import devices

    monkeypatch.setenv("LANESUM_GPU", "interpret")
    fake = devices.Device(torch.device("cpu"), {"kind": "none", "name": "Another 9000"})
    found = devices.device
    monkeypatch.setattr(codec, "device", lambda name: fake if name == "cuda" else found(name))
    some = ("none", "fixed", "thc-paper", "eden 4")
    settings = dataclasses.replace(codec.QUICK, parts=("comparison",), devices=("cpu", "cuda"), codecs=some)
    result = codec.run(settings)
    json.dumps(result)
    assert [one["kind"] for one in result["devices"]] == ["cpu", "none"]
    by: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in result["comparison"]:
        by.setdefault((one["codec"], one["vectors"]), []).append(one)
    assert set(by) == {(name, kind) for name in some for kind in (comparison.GAUSSIAN, comparison.SPARSE)}
    for here, there in by.values():
        assert here["device"] == result["machine"]["processor"] and there["device"] == "Another 9000"
        assert {**here, "device": 0, "ns_per_value": 0} == {**there, "device": 0, "ns_per_value": 0}
        assert there["ns_per_value"]["min"] > 0
    labels = [row[1] for row in comparison.rows(result)]
    assert labels[0].startswith("none, ") and labels[1] == "none, Another 9000"
    pictures.codec(result, tmp_path / "codec.png")
    assert (tmp_path / "codec.png").stat().st_size > 10_000


@pytest.mark.skipif(not has_torch, reason="PyTorch is not installed.")
def test_trainings_beside_each_other(tmp_path: Path) -> None:
    result = learning.run(learning.QUICK)
    json.dumps(result)
    figures = {one["codec"]: one for one in result["figures"]}
    assert set(figures) == {"topk", learning.PLACES, "lgc", "lgc x workers"}
    for one in figures.values():
        assert 0 < one["accuracy"] <= 1 and one["loss"] > 0 and one["bytes_up"] == one["bytes_down"]
    phases = figures["lgc"]["phases"]
    assert sum(one["bytes_up"] for one in phases.values()) == figures["lgc"]["bytes_up"]
    assert sum(one["all_reduces"] for one in phases.values()) == 40
    rows = list(learning.rows(result))
    assert all(len(row) == len(learning.COLUMNS) for row in rows) and "compressed 31 x" in rows[2][-1]
    # Four times as many places, and latents; the few dense all-reduces are the same.
    one, four = (figures[name]["phases"]["compressed"] for name in ("lgc", "lgc x workers"))
    assert 3 < (four["bytes_up"] - four["network_bytes"]) / (one["bytes_up"] - one["network_bytes"]) < 4
    assert "training 39 x" in rows[1][-1] and "compressed" not in rows[1][-1]
    base, other = (figures[name]["losses"][0] for name in ("topk", "lgc"))
    assert rows[0][6] == "-" and rows[2][6] == f"{100 * (other / base - 1):+.2f} %"
    figures["topk"]["losses"], figures["lgc"]["losses"] = [1.0, 3.0], [1.0, 4.0]
    assert list(learning.rows(result))[2][6] == "+25.00 ± 25.00 %"
    pictures.learning(result, tmp_path / "learning.png")
    assert (tmp_path / "learning.png").stat().st_size > 10_000
