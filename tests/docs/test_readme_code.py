# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The Python examples of the pages run as they stand."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanesum.server import AggregationServer
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.controller.service import ControllerService
from lanesum_control.planner.network import Network
from lanesum_fabric.topology import load
from lanesum_fabric.topology.drawing import svg
from tests.paths import ROOT

_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("page", "name"), [("README.md", "total"), ("docs/python.md", "mean")])
def test_example_of_a_session_returns_sum(page: str, name: str) -> None:
    """One worker: sum and mean are its array, up to the error of the codec."""
    (example,) = _PYTHON.findall((ROOT / page).read_text())
    with AggregationServer(("127.19.0.98", 0)) as server:
        network = dataclasses.replace(Network.of(load("star4"), loopback=True), servers=(server.address,))
        controller = Controller(network, server)
        controller.admit(JobRequest("train", ("w1",), codec="fixed", udp_port=29540))
        with ControllerService(controller, "127.0.0.1:0") as service:
            runnable = example.replace("10.0.0.9:19551", f"127.0.0.1:{service.port}")
            assert runnable != example
            array = np.arange(5, dtype=np.float32)
            names: dict[str, Any] = {"array": array}
            exec(compile(runnable, page, "exec"), names)
    np.testing.assert_allclose(names[name], array, rtol=1e-6, atol=0.5 * (name == "mean"))


def test_running_builder_example_writes_topology(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = _PYTHON.findall((ROOT / "docs" / "running.md").read_text())
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "running.md", "exec"), {})
    assert load("lab.yaml").switches() == ["spine", "rack1", "rack2"]


def test_running_picture_is_current() -> None:
    picture = ROOT / "docs" / "pictures" / "twojobs.svg"
    assert picture.read_text() == svg(load("twojobs")), f"lanesum topology draw twojobs --out {picture}"
