# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Training of one job of the registry with all workers on this machine, around an aggregation server."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
from pathlib import Path
from typing import Any

from lanesum.launch.supervisor import Supervisor
from lanesum.protocol.spec import UDP_PORT
from lanesum.server import AggregationServer, ServerJob
from lanesum_control.jobs import DEFAULT_SLOTS
from lanesum_lab.bench.links import HUB
from lanesum_lab.bench.places import FULL_ACCUMULATOR_WORDS, Loopback, make_tickets, worker_nodes
from lanesum_lab.run.commands import rank_environment
from lanesum_lab.train.jobs import find
from lanesum_lab.train.methods import PEERS, check_method, make_codec

_MODULE = "lanesum_lab.train.rank"


def train(job: str, by: str, *, workers: int, out: Path, arguments: list[str]) -> list[dict[str, Any]]:
    """Train ``job`` by ``by``; return the ranks' records.

    Args:
        job: name of a job.
        by: name of a method.
        workers: number of workers, each one a process.
        out: folder of records, checkpoints and logs.
        arguments: more arguments of ``lanesum_lab.train.rank``.

    Raises ConfigurationError; ProcessFailedError if a worker fails.
    """
    find(job)
    check_method(by, workers)
    out.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        options = [job, "--by", by, "--out", str(out), *arguments]
        if by not in PEERS:
            options += ["--ticket", _serve(stack, by, workers, out)]
        supervisor = stack.enter_context(Supervisor(out / "logs"))
        master = _free_address()
        ranks = [
            supervisor.start(
                f"rank-{rank}",
                [sys.executable, "-m", _MODULE, *options],
                environment={
                    **rank_environment(rank, workers, master),
                    "GLOO_SOCKET_IFNAME": "lo",
                    "OMP_NUM_THREADS": "1",
                    "TORCH_CPP_LOG_LEVEL": "ERROR",
                },
                to_terminal=rank == 0,
            )
            for rank in range(workers)
        ]
        supervisor.wait(ranks)
    return [json.loads((out / f"rank-{rank}.json").read_text()) for rank in range(workers)]


def _serve(stack: contextlib.ExitStack, by: str, workers: int, out: Path) -> str:
    """Start a server for a new job; return the pattern of its ticket files."""
    place = Loopback()
    server = stack.enter_context(AggregationServer((place.address(HUB), UDP_PORT)))
    tickets = make_tickets(
        1,
        make_codec(by, workers=workers, steps=1),
        [place.address(node) for node in worker_nodes(workers)],
        [(place.address(HUB), UDP_PORT)],
        accumulator_words=FULL_ACCUMULATOR_WORDS,
        slots=DEFAULT_SLOTS,
    )
    server.admit(ServerJob.from_tickets(tickets))
    for ticket in tickets:
        (out / f"ticket-{ticket.worker}.json").write_text(ticket.to_json())
    return str(out / "ticket-{rank}.json")


def _free_address() -> tuple[str, int]:
    """Return an address for the process group's store."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address: tuple[str, int] = probe.getsockname()
        return address
