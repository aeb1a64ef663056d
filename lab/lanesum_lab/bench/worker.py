# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Agent process of one worker of a benchmark's job (arguments SOCKET CONTROLLER JOB WORKER)."""

from __future__ import annotations

from lanesum.joining import join
from lanesum.transport import UdpTransport
from lanesum_lab.bench.agents import serve
from lanesum_lab.bench.rounds import RoundsWorker


def main(arguments: list[str]) -> None:
    """Join the job, then work until the benchmark closes the connection."""
    path, controller, job, worker = arguments
    ticket = join(controller=controller, job=job, worker=int(worker), wait=True)
    transport = UdpTransport(ticket)
    try:
        serve(path, RoundsWorker(transport).work)
    finally:
        transport.close()
