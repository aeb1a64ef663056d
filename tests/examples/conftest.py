# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A controller and a server in this process, on loopback, and processes that run examples against them."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from lanesum.server import AggregationServer
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.controller.service import ControllerService
from lanesum_control.planner.network import Network
from lanesum_fabric.topology import load
from tests.paths import ROOT

WORKERS = ("w1", "w2")


@dataclasses.dataclass(frozen=True)
class Site:
    """A controller and a server, and the controller's address."""

    controller: Controller
    server: AggregationServer
    address: str

    def arguments(self, job: str) -> list[str]:
        return [f"--controller={self.address}", f"--job={job}"]


@pytest.fixture
def site() -> Iterator[Site]:
    with AggregationServer(("127.19.0.97", 0)) as server:
        network = dataclasses.replace(Network.of(load("star4"), loopback=True), servers=(server.address,))
        controller = Controller(network, server)
        controller.admit(JobRequest("demo", WORKERS, codec="fixed", udp_port=29541))
        with ControllerService(controller, "127.0.0.1:0") as service:
            yield Site(controller, server, f"127.0.0.1:{service.port}")


def start(command: list[str], **variables: str) -> subprocess.Popen[str]:
    """Start Python with ``command`` and more environment ``variables``."""
    return start_program([sys.executable, *command], variables)


def start_program(command: list[str], variables: Mapping[str, str]) -> subprocess.Popen[str]:
    path = os.pathsep.join(["examples", os.environ["PYTHONPATH"]])
    settings = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, **settings, **variables}, text=True, **pipes)


def output_of(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=250)
    assert process.returncode == 0, output
    return output
