# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks: processes with one gloo process group that run the functions sent to them."""

from __future__ import annotations

import contextlib
import datetime
import os
import secrets
import socket
import traceback
import unittest.mock
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from lanesum import codecs
from lanesum.server import AggregationServer, ServerJob
from lanesum.server.udp import Loss
from lanesum.transport import JobTicket
from lanesum_lab.train.group import end_process
from tests.free_ports import LOCALHOST, free_ports

_ANSWER_S = 300.0  # four processes import PyTorch on a busy machine


@contextlib.contextmanager
def served_job(
    workers: int, codec: str, *, absent: tuple[int, ...] = (), loss: Loss | None = None
) -> Iterator[list[JobTicket]]:
    """Serve one job, and yield the tickets of its workers without the ``absent`` ones."""
    with AggregationServer((LOCALHOST, 0), loss=loss) as server:
        table = codecs.get(codec, workers=workers).code_table
        tag = secrets.randbits(32)  # a later server may get the same port, and a ticket is valid for one session
        tickets = [
            JobTicket(
                job=7,
                tag=tag,
                slots=256,
                seed=5,
                worker=worker,
                workers=workers,
                servers=(server.address,),
                local=(LOCALHOST, port),
                code_table=None if table is None else table.tobytes(),
            )
            for worker, port in enumerate(free_ports(workers))
        ]
        server.aggregator.admit(ServerJob.from_tickets(tickets))
        yield [ticket for ticket in tickets if ticket.worker not in absent]


@dataclass(frozen=True)
class Failure:
    """An exception of a rank, as sent to the test."""

    kind: str
    message: str
    trace: str


class Ranks:
    """``size`` processes in one process group. They serve a whole test run, because importing PyTorch takes seconds.

    They are forked from a process that has imported PyTorch and has a single thread.
    """

    def __init__(self, size: int) -> None:
        context = mp.get_context("forkserver")
        # DDP and optimizers import _dynamo.
        context.set_forkserver_preload(["torch._dynamo", "torch.nn.parallel", "lanesum.torch"])
        with unittest.mock.patch.dict(os.environ, OMP_NUM_THREADS="1"):
            forkserver.ensure_running()
        (port,) = free_ports(1, socket.SOCK_STREAM)
        self._ends: list[Connection] = []
        self._processes = []
        for rank in range(size):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, rank, size, port), daemon=True)
            process.start()
            theirs.close()
            self._ends.append(ours)
            self._processes.append(process)

    def run(self, work: Callable[..., Any], per_rank: list[Any], *shared: Any) -> list[Any]:
        """Return the results of ``work(per_rank[rank], *shared)``; an exception of a rank fails the test."""
        for end, own in zip(self._ends, per_rank, strict=True):
            end.send((work, (own, *shared)))
        results: dict[int, Any] = {}
        while len(results) < len(self._ends):
            waiting = {end: rank for rank, end in enumerate(self._ends) if rank not in results}
            answered = wait(list(waiting), _ANSWER_S)
            assert answered, f"ranks {sorted(waiting.values())} do not answer; {_traces(results)}"
            for end in answered:
                results[waiting[end]] = end.recv()
        assert not _traces(results), _traces(results)
        return [results[rank] for rank in range(len(self._ends))]

    def close(self) -> None:
        for end in self._ends:
            end.close()
        for process in self._processes:
            process.join(_ANSWER_S)
            assert process.exitcode == 0


def _traces(results: dict[int, Any]) -> str:
    """Return what the ranks raised, first the one that failed first: the others then miss it."""
    return "\n".join(f"rank {rank}: {one.trace}" for rank, one in results.items() if isinstance(one, Failure))


def _serve(end: Connection, rank: int, size: int, port: int) -> None:
    os.environ.update(
        MASTER_ADDR=LOCALHOST, MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(size), GLOO_SOCKET_IFNAME="lo"
    )
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=250))
    with contextlib.suppress(EOFError):
        while True:
            work, arguments = end.recv()
            try:
                end.send(work(*arguments))
            except Exception as error:
                end.send(Failure(type(error).__name__, str(error), traceback.format_exc()))
    dist.destroy_process_group()
    end_process(0)
