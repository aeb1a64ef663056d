# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tickets that an earlier process has used: restarts of one rank, of all ranks and of the server.

Every rank gets a right sum or a typed error, and never a sum of the first run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanesum.server import AggregationServer, ServerJob
from lanesum.session import Session
from lanesum.transport import JobTicket, opening
from lanesum.transport.errors import AggregationTimeoutError, ResultGoneError, UsedTicketError
from tests.host.session.workers import LOCALHOST, random_loss, run_workers, tickets_for

pytestmark = pytest.mark.usefixtures("implementation")

SIZE = 200
DEADLINE_S = 1.5

AnotherProcess = Callable[[], None]


@pytest.fixture
def another_process(monkeypatch: pytest.MonkeyPatch) -> AnotherProcess:
    """Return a function after which this process, like a new one, does not know which tickets were used."""
    return lambda: monkeypatch.setattr(opening, "_used", set())


def vector(life: int, worker: int, number: int, size: int = SIZE) -> np.ndarray:
    """Return whole numbers of one norm, so that codec ``fixed`` sums them exactly over any workers."""
    values = np.random.default_rng((life, worker, number)).integers(-99, 99, size).astype(np.float32)
    values[0] = 99
    return values


def run(tickets: list[JobTicket], life: int, rounds: int, size: int = SIZE) -> list[Any]:
    """Return the sums of each rank of a run, or its error."""

    def work(session: Session) -> list[np.ndarray]:
        worker = session.ticket.worker
        return [session.all_reduce(vector(life, worker, number, size)) for number in range(rounds)]

    return run_workers(tickets, work, errors=True, deadline_s=DEADLINE_S)


def assert_exact(outcome: Any, life: int, workers: int, size: int = SIZE) -> None:
    if isinstance(outcome, BaseException):
        raise outcome
    for number, got in enumerate(outcome):
        expected = sum(vector(life, worker, number, size) for worker in range(workers))
        np.testing.assert_allclose(got, expected, atol=1e-3)


def restart(server: AggregationServer, tickets: list[JobTicket]) -> None:
    """Let the server lose its entries, as after a restart."""
    with server.lock:
        server.aggregator.remove(tickets[0].job)
        server.aggregator.admit(ServerJob.from_tickets(tickets))


@pytest.mark.parametrize(("slots", "first", "second"), [(16, 3, 3), (1, 3, 3), (64, 2, 6), (4, 30, 2)])
def test_second_run_of_all_ranks_is_refused(
    server: AggregationServer, another_process: AnotherProcess, slots: int, first: int, second: int
) -> None:
    tickets = tickets_for(server, 2, slots=slots)
    server.admit(ServerJob.from_tickets(tickets))
    for outcome in run(tickets, 1, first):
        assert_exact(outcome, 1, 2)
    another_process()
    for outcome in run(tickets, 2, second):
        assert isinstance(outcome, UsedTicketError), outcome
        assert "Join the job again" in str(outcome)


def test_second_run_in_job_with_quorum_is_refused(server: AggregationServer, another_process: AnotherProcess) -> None:
    """A worker that contributed to no result of the first run could not tell them from those of its own run."""
    tickets = tickets_for(server, 3, quorum=2)
    server.admit(ServerJob.from_tickets(tickets))
    done = threading.Event()

    def work(session: Session) -> None:
        if session.ticket.worker == 2:
            assert done.wait(30)  # it has opened the session, and contributes nothing
            return
        for number in range(3):
            session.all_reduce(vector(1, session.ticket.worker, number))
        if session.ticket.worker == 0:
            done.set()

    run_workers(tickets, work, deadline_s=10)
    another_process()
    for outcome in run(tickets, 2, 3):
        assert isinstance(outcome, UsedTicketError), outcome


def test_quorum_continues_without_a_worker_that_has_opened(server: AggregationServer) -> None:
    tickets = tickets_for(server, 3, quorum=2)
    server.admit(ServerJob.from_tickets(tickets))
    done = threading.Event()

    def work(session: Session) -> list[np.ndarray]:
        worker = session.ticket.worker
        if worker == 2:
            assert done.wait(30)
        sums = [session.all_reduce(vector(1, worker, number)) for number in range(3)]
        if worker == 0:
            done.set()
        return sums

    first, second, late = run_workers(tickets, work, deadline_s=10)
    assert_exact(first, 1, 2)
    for one, other, third in zip(first, second, late, strict=True):
        assert one.tobytes() == other.tobytes() == third.tobytes()


def test_restarted_rank_is_refused_and_named_by_other(
    server: AggregationServer, another_process: AnotherProcess
) -> None:
    tickets = tickets_for(server, 2, slots=64)
    server.admit(ServerJob.from_tickets(tickets))
    with Session(tickets[1], deadline_s=DEADLINE_S) as survivor:
        thread = threading.Thread(target=lambda: run(tickets[:1], 1, 2))
        thread.start()
        assert_exact([survivor.all_reduce(vector(1, 1, number)) for number in range(2)], 1, 2)
        thread.join()
        another_process()
        begin = time.monotonic()
        (outcome,) = run(tickets[:1], 2, 2)
        assert isinstance(outcome, UsedTicketError), outcome
        assert time.monotonic() - begin < DEADLINE_S
        with pytest.raises(AggregationTimeoutError, match="still missing: worker 0"):
            survivor.all_reduce(vector(1, 1, 2))


def test_rank_that_died_before_others_came_is_missed(
    server: AggregationServer, another_process: AnotherProcess
) -> None:
    """The number of the dead process is in the opening, so its successor is refused, and the other rank misses it."""
    tickets = tickets_for(server, 2)
    server.admit(ServerJob.from_tickets(tickets))
    (outcome,) = run(tickets[:1], 1, 1)
    assert isinstance(outcome, AggregationTimeoutError) and outcome.missing == (1,), outcome
    assert "opening of the session" in str(outcome)
    another_process()
    restarted, other = run(tickets, 2, 1)
    assert isinstance(restarted, UsedTicketError), restarted
    assert isinstance(other, AggregationTimeoutError) and other.missing == (0,), other


def test_second_run_after_restart_of_server_is_exact(
    server: AggregationServer, another_process: AnotherProcess
) -> None:
    tickets = tickets_for(server, 2)
    server.admit(ServerJob.from_tickets(tickets))
    for life in range(4):
        for outcome in run(tickets, life, 3):
            assert_exact(outcome, life, 2)
        another_process()
        restart(server, tickets)


def test_second_run_beside_journal_is_exact_or_raises(another_process: AnotherProcess, tmp_path: Path) -> None:
    """Results of the first run may be newer, as serial numbers, than all rounds of the second one."""
    address, tickets = (LOCALHOST, 0), []
    outcomes: list[Any] = []
    for life in range(6):
        with AggregationServer(address, journal_folder=tmp_path) as server:
            address, tickets = server.address, tickets or tickets_for(server, 3, quorum=2, slots=4)
            server.admit(ServerJob.from_tickets(tickets))
            for outcome in run(tickets, life, 3):
                outcomes.append(outcome)
                if not isinstance(outcome, (ResultGoneError, AggregationTimeoutError)):
                    assert_one_life(outcome, life)
        another_process()
    assert any(isinstance(outcome, list) for outcome in outcomes)


def assert_one_life(outcome: Any, life: int) -> None:
    """Check that each value is the sum of two or three workers of this life."""
    if isinstance(outcome, BaseException):
        raise outcome
    for number, got in enumerate(outcome):
        parts = np.array([vector(life, worker, number) for worker in range(3)])
        sums = parts.sum(0) - np.vstack((parts, np.zeros(SIZE, np.float32)))
        assert np.isclose(got, sums, atol=1e-2).any(0).all()


@pytest.mark.parametrize("rounds", [1, 20])
def test_restarted_rank_after_restart_of_server_ends_both(
    server: AggregationServer, another_process: AnotherProcess, rounds: int
) -> None:
    """The survivor may answer with its part in the opening, but sums of the two lives never meet."""
    tickets = tickets_for(server, 2, slots=8)
    server.admit(ServerJob.from_tickets(tickets))
    with Session(tickets[1], deadline_s=2 * DEADLINE_S) as survivor:
        thread = threading.Thread(target=lambda: run(tickets[:1], 1, rounds))
        thread.start()
        assert_exact([survivor.all_reduce(vector(1, 1, number)) for number in range(rounds)], 1, 2)
        thread.join()
        another_process()
        restart(server, tickets)
        restarted: list[Any] = []
        thread = threading.Thread(target=lambda: restarted.extend(run(tickets[:1], 2, 2)))
        thread.start()
        with pytest.raises(AggregationTimeoutError, match="still missing: worker 0"):
            survivor.all_reduce(vector(1, 1, rounds))
        thread.join()
    assert isinstance(restarted[0], AggregationTimeoutError), restarted


def test_opening_of_many_packets_completes_under_loss(another_process: AnotherProcess) -> None:
    """32 workers and packets of 8 words: eight packets in two slots."""
    with AggregationServer((LOCALHOST, 0), loss=random_loss(4, 0.1)) as server:
        tickets = tickets_for(server, 32, slots=2, accumulator_words=8)
        server.admit(ServerJob.from_tickets(tickets))
        for outcome in run_workers(
            tickets, lambda session: [session.all_reduce(vector(1, session.ticket.worker, 0, 8))], deadline_s=20
        ):
            assert_exact(outcome, 1, 32, 8)
    another_process()


_SCRIPT = """
import sys
import numpy as np
from lanesum.errors import LanesumError
from lanesum.joining import join
from lanesum.session import Session
try:
    with Session(join(), deadline_s=10) as session:
        print(float(session.all_reduce(np.full(100, float(sys.argv[1]), np.float32))[99]))
        session.leave()
except LanesumError as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize("copied", [True, False])
def test_ticket_file_in_second_process_is_refused(server: AggregationServer, tmp_path: Path, copied: bool) -> None:
    """A used file is refused when it is read; a copy of it is refused by the other workers' and its own number."""
    tickets = tickets_for(server, 2)
    server.admit(ServerJob.from_tickets(tickets))

    def outcomes(folder: str, value: int) -> list[str]:
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", _SCRIPT, str(value)],
                env={**os.environ, "LANESUM_TICKET": str(tmp_path / folder / f"{ticket.worker}.json")},
                stdout=subprocess.PIPE,
                text=True,
            )
            for ticket in tickets
        ]
        return [process.communicate(timeout=60)[0].strip() for process in processes]

    (tmp_path / "one").mkdir()
    for ticket in tickets:
        (tmp_path / "one" / f"{ticket.worker}.json").write_text(ticket.to_json())
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    assert outcomes("one", 3) == ["6.0", "6.0"]
    again = outcomes("two" if copied else "one", 5)
    assert again == ["UsedTicketError" if copied else "ConfigurationError"] * 2
