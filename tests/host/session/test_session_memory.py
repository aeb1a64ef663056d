# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Memory of sessions and a server during a long series of all-reduces."""

from __future__ import annotations

import resource
import statistics
from pathlib import Path

import numpy as np
import pytest

from lanesum.server import AggregationServer, ServerJob
from lanesum.session import Session
from tests.host.session.workers import LOCALHOST, run_workers, tickets_for

pytestmark = [pytest.mark.usefixtures("implementation"), pytest.mark.long]

_SLICES, _ALL_REDUCES = 30, 40
# Allocators round up, and caches fill late.
_ALLOWED_BYTES = 1 << 20


def resident_bytes() -> int:
    """Return the resident memory of this process (proc_pid_statm(5))."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_session_and_server_do_not_grow() -> None:
    """The first third of the samples is warm-up; a packet kept by each all-reduce would grow by more."""
    samples: list[int] = []
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 2, accumulator_words=352, slots=64)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> None:
            for _ in range(_SLICES):
                for _ in range(_ALL_REDUCES):
                    session.all_reduce(np.ones(1000, np.float32))
                    session.all_reduce(np.ones(20_000, np.float32))
                if session.ticket.worker == 0:
                    samples.append(resident_bytes())

        run_workers(tickets, work, codec="fixed")
    third = _SLICES // 3
    grown = statistics.median(samples[-third:]) - statistics.median(samples[third:-third])
    assert grown <= _ALLOWED_BYTES, [sample >> 10 for sample in samples]
