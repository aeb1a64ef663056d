# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Trainings across sites: figures, settings, links with a delay, and one short run. No speed is judged."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from lanesum.errors import ConfigurationError
from lanesum_lab.bench import delay_line, sites
from lanesum_lab.bench.figures import BenchError
from lanesum_lab.bench.places import Wire, limited_links
from lanesum_lab.veth import obstacle

needs_torchft = pytest.mark.skipif(importlib.util.find_spec("torchft") is None, reason="torchft is not installed")
needs_namespaces = pytest.mark.skipif(bool(obstacle()), reason=obstacle() or "-")


def record(losses: list[float], up: float, down: float) -> dict[str, Any]:
    tests = [{"step": step, "loss": loss, "train_s": float(step)} for step, loss in enumerate(losses, 1)]
    return {"tests": tests, "bytes_up": up, "bytes_down": down, "elements": 10}


def test_figures_are_beside_ddp_and_gloo() -> None:
    runs = {
        "ddp": record([4.0, 3.0, 2.0], 600.0, 600.0),
        "gloo": record([3.0, 2.5, 2.01], 30.0, 30.0),
        "thc": record([2.0, 1.9, 1.8], 2.0, 4.0),
        "topk": record([4.0, 3.0, 2.2], 1.0, 1.0),
    }
    ddp, gloo, thc, topk = (sites._figure(by, [runs, runs], 0.01) for by in runs)
    assert ddp["less_than_ddp"]["median"] == 1 and gloo["less_than_ddp"]["median"] == 20
    assert thc["less_than_ddp"]["median"] == 200 and thc["down_less_than_gloo"]["median"] == 7.5
    assert thc["beside_ddp"] == pytest.approx({"median": -0.1, "min": -0.1, "max": -0.1})
    # DDP reaches 2.02 between its second and third test, and thc has it in its first.
    assert thc["times_ddp"]["median"] == pytest.approx(2.98)
    assert topk["to_target_s"] is None and topk["reached"] == 0
    texts = list(sites.rows({"figures": [thc, topk]}))
    assert all(len(row) == len(sites.COLUMNS) for row in texts)
    assert texts[0][-2:] == ("1/200", "1/7.5") and texts[1][3:5] == ("not reached (0 of 2)", "-")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"steps": 5}, "5 steps, 2 from one outer step to the next, 2 fragments: each must be a multiple"),
        ({"fragments": 3}, "4 steps, 2 from one outer step to the next, 3 fragments: each must be a multiple"),
        ({"overlap": 1}, "--overlap 1 leaves no inner step before the sum of a fragment"),
        ({"keep": 1.5}, r"--keep 1\.5 is not from 0 to 1"),
        ({"rate_mbit": 0.0}, "Sites need a seed, and a rate of links and learning rates above 0"),
        ({"seeds": ()}, "Sites need a seed, and a rate of links and learning rates above 0"),
    ],
)
def test_settings_of_impossible_sites_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        dataclasses.replace(sites.QUICK, **wrong)


@needs_torchft
def test_too_many_fragments_are_an_error() -> None:
    import torch

    parameters = [torch.nn.Parameter(torch.zeros(size)) for size in (10, 1, 9)]
    parts = sites._fragments(parameters, 2)
    assert [[one.numel() for one in part.parameters()] for part in parts] == [[10], [1, 9]]
    with pytest.raises(BenchError, match="3 parameters do not make 4 fragments"):
        sites._fragments(parameters, 4)


@needs_torchft
def test_lost_outer_step_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    manager, made = mock.Mock(), mock.MagicMock(_fragments=[])
    manager.current_step.return_value = 1
    monkeypatch.setattr("torchft.Manager", lambda *_, **__: manager)
    monkeypatch.setattr("torchft.local_sgd.DiLoCo", lambda *_, **__: made)
    made.__exit__.return_value = False
    trainer = object.__new__(sites.SiteTrainer)
    trainer._settings, trainer._worker, trainer._address = sites.QUICK, 3, "127.0.0.1"
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with (
        pytest.raises(BenchError, match="Worker 3 committed 1 of 2 outer steps by gloo"),
        trainer._sharing("gloo", model, optimizer, ("", "", "job")),
    ):
        pass
    manager.shutdown.assert_called_once()


def test_replicas_that_differ_are_an_error(tmp_path: Path) -> None:
    built = mock.Mock(workers={"w0": "worker-w0", "w1": "worker-w1"})
    built.wire.return_value = Wire(0, 0)
    built.agents.ask.side_effect = lambda calls: {name: {"weights_sha256": name} for name in calls}
    train = sites._trainers(built, sites.QUICK, tmp_path)
    with pytest.raises(BenchError, match="The replicas of the training by thc differ"):
        train("thc", 1)


def test_delay_line_keeps_order_and_refuses_too_much() -> None:
    source, end = os.pipe2(os.O_NONBLOCK)
    out, target = os.pipe2(os.O_NONBLOCK)
    line = delay_line.DelayLine(source, target, 0.05, max_bytes=4)
    try:
        begin = time.monotonic()
        for one in (b"ab", b"cd"):
            os.write(end, one)
            line.take()
        with pytest.raises(BlockingIOError):
            os.read(out, 9)
        while line.deliver() is not None:
            pass
        assert os.read(out, 9) == b"abcd" and time.monotonic() - begin >= 0.05
        os.write(end, b"efghi")
        with pytest.raises(BenchError, match="Too many bytes for a link with a delay of 50 ms"):
            line.take()
    finally:
        for one in (source, end, out, target):
            os.close(one)


@needs_namespaces
def test_delayed_link_takes_its_delay_both_ways() -> None:
    echo = "import socket; s = socket.create_server(('', 5000)); c, _ = s.accept(); c.sendall(c.recv(9)); c.recv(9)"
    ask = (
        "import socket, sys, time\nfor _ in range(600):\n"
        " try: s = socket.create_connection((sys.argv[1], 5000)); break\n"
        " except ConnectionRefusedError: time.sleep(0.1)\n"
        "t = time.monotonic(); s.sendall(b'x'); s.recv(9); print(time.monotonic() - t)"
    )
    with limited_links(2, delay_ms=20.0) as links:
        links.limit(50.0)
        peer = subprocess.Popen(links.command("w1", [sys.executable, "-c", echo]))
        try:
            round_trip = float(run_at(links.command("w0", [sys.executable, "-c", ask, links.address("w1")])))
        finally:
            peer.kill()
            peer.wait()
        # Two links there and two back.
        assert round_trip >= 0.08
        wire = links.wire()
        assert wire.up > 0 and wire.down > 0


def run_at(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@needs_namespaces
def test_link_that_cannot_be_made_is_an_error() -> None:
    with pytest.raises(BenchError, match="Links with a delay cannot be made"):
        delay_line.start(1.0, ["no-namespace", "a", "no-namespace", "b"])


@needs_torchft
@needs_namespaces
def test_trainings_across_sites_end_with_equal_replicas() -> None:
    result = sites.run(dataclasses.replace(sites.QUICK, delay_ms=5.0))
    json.dumps(result)
    found = {one["by"]: one for one in result["figures"]}
    assert list(found) == ["ddp", "gloo", "thc bits=4", "streaming thc bits=4"]
    for by in ("thc bits=4", "streaming thc bits=4"):
        assert found[by]["bytes_up"]["median"] < found["gloo"]["bytes_up"]["median"] / 3
        assert found[by]["final_loss"]["median"] < found[by]["runs"][0]["tests"][0]["loss"]
    assert "torchft's FP8" in result["left_out"]
