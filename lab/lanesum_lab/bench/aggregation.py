# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Agent process with an aggregation server (arguments SOCKET ADDRESS PORT).

A task is a job to admit, as JSON, or ``USAGE``.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass
from typing import cast

from lanesum._internal.offload import Offload
from lanesum.server.jobs import ServerJob
from lanesum.server.udp import AggregationServer
from lanesum_lab.bench.agents import serve

USAGE = "usage"


@dataclass(frozen=True, slots=True)
class ServerUsage:
    """``cpu_s``: processor time of the process so far. ``broken``: datagrams that failed because of a bug."""

    cpu_s: float
    broken: int


def cpu_seconds() -> float:
    """Return the processor time of this process, all threads and kernel time included."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class _Server:
    def __init__(self, server: AggregationServer) -> None:
        self._server = server

    def work(self, task: str) -> ServerUsage:
        if task != USAGE:
            self._server.admit(ServerJob.from_json(task))
        return ServerUsage(cpu_seconds(), self._server.broken)


def main(arguments: list[str]) -> None:
    """Serve until the benchmark closes the connection."""
    path, address, port, offload = arguments
    with AggregationServer((address, int(port)), offload=cast(Offload, offload)) as server:
        serve(path, _Server(server).work)
