# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A controller and a server for ranks that join and admit jobs, without a switch, on loopback."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import unittest.mock
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager

from lanesum.server import AggregationServer
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.controller.service import ControllerService
from lanesum_control.planner.network import Network
from lanesum_fabric.topology import load

HOSTS = ("w1", "w2", "w3", "w4")


@contextlib.contextmanager
def controlled(workers: int, codec: str | None = None, quorum: int = 0) -> Iterator[tuple[Controller, dict[str, str]]]:
    """Admit a job ``train``; yield the controller, and the environment of its ranks."""
    with AggregationServer(("127.19.0.96", 0)) as server:
        network = dataclasses.replace(Network.of(load("star4"), loopback=True), servers=(server.address,))
        controller = Controller(network, server)
        controller.admit(JobRequest("train", HOSTS[:workers], codec=codec, quorum=quorum))
        with ControllerService(controller, "127.0.0.1:0") as service:
            yield controller, {"LANESUM_CONTROLLER": f"127.0.0.1:{service.port}", "LANESUM_JOB": "train"}


def environment(values: Mapping[str, str]) -> AbstractContextManager[object]:
    """Return a context manager that sets variables of this process."""
    return unittest.mock.patch.dict(os.environ, values)
