# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The Python example of the README runs as it stands, with a server and a controller."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np

from lanesum.server import AggregationServer
from lanesum_control.controller import Controller, JobRequest
from lanesum_control.network import Network
from lanesum_control.service import ControllerService
from lanesum_control.topology import load
from tests.paths import ROOT

_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_readme_example_returns_sum() -> None:
    (example,) = _PYTHON.findall((ROOT / "README.md").read_text())
    with AggregationServer(("127.19.0.98", 0)) as server:
        network = dataclasses.replace(Network.of(load("star4"), loopback=True), servers=(server.address,))
        controller = Controller(network, server)
        controller.admit(JobRequest("train", ("w1",), codec="fixed", udp_port=29540))
        with ControllerService(controller, "127.0.0.1:0") as service:
            runnable = example.replace("10.0.0.9:50551", f"127.0.0.1:{service.port}")
            assert runnable != example
            names: dict[str, Any] = {"array": np.arange(5, dtype=np.float32)}
            exec(compile(runnable, "README.md", "exec"), names)
    np.testing.assert_allclose(names["total"], np.arange(5), rtol=1e-6)
