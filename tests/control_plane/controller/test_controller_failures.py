# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Failures of workers in processes of their own: the others raise the cause, soon, with the name of the worker."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from lanesum.joining import join
from lanesum.keep_alive import KeepAlive
from lanesum.rpc import connections
from lanesum.rpc import controller as rpc
from lanesum.rpc.json_grpc import NoAnswerError
from lanesum.server import AggregationServer
from lanesum.session import Session
from lanesum.transport.errors import WorkerGoneError
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.controller.monitor import Monitor
from lanesum_control.controller.service import ControllerService
from lanesum_control.jobs.liveness import Gone
from lanesum_control.planner.network import Network
from lanesum_fabric.topology import load
from tests.control_plane.control_fakes import FakeClock, what
from tests.waiting import wait_until, with_longer_deadlines

# Every worker takes part in one all-reduce; then worker 1 does as the test says, and the others begin a second one.
WORKER = """
import json, os, sys, time
import numpy as np
from lanesum.joining import join
from lanesum.session import Session

controller, worker, deed = sys.argv[1], int(sys.argv[2]), sys.argv[3]
session = Session(join(controller=controller, job="a", worker=worker), codec="fixed")
session.all_reduce(np.ones(3000, np.float32))
session._transport._deadline_s = float(sys.argv[4])  # not for the first all-reduce: processes start at different times
print("first", flush=True)
if worker == 1:
    sys.stdin.readline()
    exec(deed)
try:
    total = session.all_reduce(np.ones(3000, np.float32))
    print(json.dumps({"sum": float(total[0])}), flush=True)
except Exception as error:
    print(json.dumps({"type": type(error).__name__, "text": str(error)}), flush=True)
    if worker == 1:
        raise
session.close()
"""


class Clock(FakeClock):
    """Real time, which a test can advance."""

    def __call__(self) -> float:
        return self.now + time.monotonic()


@pytest.fixture
def clock() -> FakeClock:
    return Clock()


@pytest.fixture
def controller(clock: FakeClock) -> Iterator[Controller]:
    with AggregationServer(("127.19.0.98", 0)) as server:
        network = dataclasses.replace(Network.of(load("star4"), loopback=True), servers=(server.address,))
        controller = Controller(network, server, clock=clock)
        controller.admit(JobRequest("a", ("w1", "w2", "w3"), codec="fixed"))
        yield controller


@pytest.fixture
def address(controller: Controller) -> Iterator[str]:
    with ControllerService(controller, "127.0.0.1:0") as service, Monitor(controller):
        yield f"127.0.0.1:{service.port}"


class Workers(contextlib.ExitStack):
    """Three worker processes, each after its first all-reduce."""

    def __init__(self, address: str, deed: str = "", deadline_s: float = 30.0) -> None:
        super().__init__()
        self.errors: dict[int, str] = {}
        self._command = [sys.executable, "-c", WORKER, address]
        self.processes = [self.start(worker, deed, deadline_s) for worker in range(3)]
        for process in self.processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "first\n"

    def start(self, worker: int, deed: str = "", deadline_s: float = 30.0) -> subprocess.Popen[str]:
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = subprocess.Popen([*self._command, str(worker), deed, str(deadline_s)], text=True, **pipes)
        self.callback(process.wait)
        self.callback(process.kill)
        return process

    def release(self) -> None:
        """Let worker 1 act."""
        stdin = self.processes[1].stdin
        assert stdin is not None
        stdin.write("\n")
        stdin.flush()

    def outcome(self, worker: int) -> dict[str, Any]:
        """Return what a worker says about its second all-reduce."""
        output, errors = self.processes[worker].communicate(timeout=250)
        assert output, errors
        self.errors[worker] = errors
        read: dict[str, Any] = json.loads(output)
        return read


def test_session_that_begins_has_its_stream(controller: Controller, address: str) -> None:
    with Session(join(controller=address, job="a", worker=0), codec="fixed"):
        assert [worker for _, _, worker in controller.workers._liveness.alive()] == [0]


@pytest.mark.parametrize(
    ("deed", "says"),
    [
        ("raise ValueError('the loss is NaN')", "Worker 1 (w2) of job 'a' has failed: ValueError: the loss is NaN."),
        ("sys.exit(3)", "Worker 1 (w2) of job 'a' has left: its process has ended."),
        ("session.close(); sys.stdin.readline()", "Worker 1 (w2) of job 'a' has left: it has closed its session."),
        ("os.kill(os.getpid(), 9)", "Worker 1 (w2) of job 'a' is lost: its process has ended without a report"),
        ("session.all_reduce('text')", "Worker 1 (w2) of job 'a' has failed: ConfigurationError: all_reduce takes"),
    ],
)
def test_failed_worker_ends_all_others_with_its_cause(address: str, deed: str, says: str) -> None:
    with Workers(address, deed, deadline_s=3600.0) as workers:
        workers.release()
        outcomes = [workers.outcome(worker) for worker in (0, 2)]
    for outcome in outcomes:
        assert outcome["type"] == "WorkerGoneError"
        assert says in outcome["text"]


def test_worker_that_is_back_is_lost_no_more(controller: Controller, address: str) -> None:
    """Its stream may have ended by an outage of the path to the controller alone."""
    tickets = [join(controller=address, job="a", worker=worker) for worker in range(3)]
    with contextlib.ExitStack() as stack:
        with ThreadPoolExecutor(3) as pool:  # the last one returns once all are there
            sessions = list(pool.map(lambda ticket: Session(ticket, codec="fixed"), tickets))
        for session in sessions:
            stack.enter_context(session)
        other, liveness = sessions[0]._transport, controller.workers._liveness
        deadline_s = other._deadline_s
        job, tag = tickets[1].job, tickets[1].tag
        with controller.reconciler.lock:
            liveness.report(job, tag, 1, Gone(rpc.LOST, ""))
        wait_until(lambda: isinstance(other._interruption, WorkerGoneError))
        with controller.reconciler.lock:
            for watch in [watch for watch in liveness._watches if watch.key == (job, tag, 1)]:
                watch.end()
        wait_until(lambda: other._interruption is None)
        assert other._deadline_s == deadline_s
        assert what(controller, "a")[-1] == "worker 1 (w2) is back"
        with ThreadPoolExecutor(3) as pool:
            totals = list(pool.map(lambda session: session.all_reduce(np.ones(3000, np.float32)), sessions))
        assert {float(total[0]) for total in totals} == {3.0}


def test_failed_worker_is_not_back_with_its_stream(controller: Controller, address: str) -> None:
    ticket = join(controller=address, job="a", worker=0)
    keep_alive = KeepAlive(ticket, address)
    job = {"job": "a", "state": "ready"}
    keep_alive._take({**job, "gone": [{"worker": 1, "host": "w2", "kind": rpc.FAILED, "cause": ""}]})
    keep_alive._take(job)
    assert keep_alive._ending is not None


def test_stream_is_opened_after_an_answer(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """To a host that does not answer, a stream waits longer than calls, which are repeated."""
    done: list[str] = []

    class Attempts(KeepAlive):
        def check(self, timeout_s: float = 0.0) -> str:
            done.append("call")
            if len(done) < 4:
                raise rpc.UnreachableError("No answer.")
            return "ready"

        def _watch(self) -> None:
            done.append("stream")
            if done.count("stream") == 2:
                self._stop.set()
            raise NoAnswerError("The stream has ended.")

    monkeypatch.setattr("lanesum.keep_alive._RETRY_S", 0.0)
    Attempts(join(controller=address, job="a", worker=0), address)._run()
    assert done == ["stream", "call", "call", "call", "stream"]


def test_busy_worker_is_awaited_beyond_deadline(address: str) -> None:
    def attempt(deadline_s: float) -> None:
        with Workers(address, f"time.sleep({3 * deadline_s})", deadline_s / 2) as workers:
            workers.release()
            assert [workers.outcome(worker) for worker in range(3)] == [{"sum": 3.0}] * 3
            for worker in (0, 2):
                told = f"for {deadline_s / 2:g} s at worker {worker}; still missing: worker 1. The controller says that"
                assert f"{told} it lives, so the wait goes on for up to 600 s (busy_s)." in workers.errors[worker]
                assert "uneven inputs need model.join()" in workers.errors[worker]

    with_longer_deadlines(attempt)


@pytest.mark.long
def test_stopped_worker_is_awaited_not_lost(controller: Controller, address: str) -> None:
    """For longer than a dead machine is waited for."""
    with Workers(address, deadline_s=5.0) as workers:
        workers.processes[1].send_signal(signal.SIGSTOP)
        time.sleep(2 * (connections.PROBE_AFTER_S + connections.HOST_DEAD_S))
        assert not any("lost" in text for text in what(controller, "a"))
        workers.processes[1].send_signal(signal.SIGCONT)
        workers.release()
        assert [workers.outcome(worker) for worker in range(3)] == [{"sum": 3.0}] * 3


def test_worker_without_stream_is_awaited_until_deadline(address: str) -> None:
    deed = "session._keep_alive._report = print; session._keep_alive.abandon(); sys.stdin.readline()"
    with Workers(address, deed, deadline_s=0.5) as workers:
        workers.release()
        assert workers.outcome(0)["type"] in ("AggregationTimeoutError", "WorkerGoneError")


def test_fork_that_closes_its_session_ends_nothing(address: str) -> None:
    """gRPC would wait forever in the child for a thread that only the parent has."""
    child = "if not os.fork(): import signal; signal.alarm(120); session.close(); os._exit(0)"
    with Workers(address, f"{child}\nassert os.wait()[1] == 0", deadline_s=120) as workers:
        workers.release()
        assert [workers.outcome(worker) for worker in range(3)] == [{"sum": 3.0}] * 3


def test_session_keeps_job_alive_until_closed(clock: FakeClock, controller: Controller, address: str) -> None:
    with Session(join(controller=address, job="a", worker=0)):
        wait_until(lambda: bool(list(controller.workers._liveness.alive())))
        clock.now += 1000
        controller.expire()
        assert [job.request.name for job in controller.jobs()] == ["a"]
    wait_until(lambda: not list(controller.workers._liveness.alive()))
    clock.now += 1000
    controller.expire()
    assert not controller.jobs()


def test_worker_that_leaves_after_others_is_not_lost(controller: Controller, address: str) -> None:
    first, second = (Session(join(controller=address, job="a", worker=worker)) for worker in (0, 1))
    with second:
        first.close()
        keep_alive = second._keep_alive
        assert keep_alive is not None
        wait_until(lambda: keep_alive._ending is not None)  # worker 1 cannot go on without worker 0
    assert what(controller, "a")[-1] == "worker 1 (w2) left: it has closed its session"


def test_restart_of_the_controller_service_disturbs_no_session(controller: Controller) -> None:
    service = ControllerService(controller, "127.0.0.1:0")
    service.start()
    address = f"127.0.0.1:{service.port}"
    with Monitor(controller), Workers(address, "pass") as workers:
        service.close()
        time.sleep(0.5)
        with ControllerService(controller, address):
            workers.release()
            assert [workers.outcome(worker)["sum"] for worker in range(3)] == [3.0] * 3


def test_second_run_is_refused_or_supersedes_first(controller: Controller, address: str) -> None:
    with Workers(address, "raise SystemExit") as workers:
        second = workers.start(0)
        assert second.wait(120) != 0
        assert second.stderr is not None
        assert "Worker 0 (w1) of job 'a' lives: process" in second.stderr.read()
        with pytest.raises(rpc.ControllerError, match=r"'a' is admitted already. 3 of its workers live: w1 \(process"):
            rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w1", "w2"]})
        rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w1", "w2"], "take_over": True})
        for worker in (0, 2):
            outcome = workers.outcome(worker)
            assert outcome["type"] == "SupersededError"
            assert "job 'a' was removed: another run took over" in outcome["text"]
    assert what(controller, "a")[-1].startswith("admitted as job 2")


def test_job_without_workers_is_admitted_again(controller: Controller, address: str) -> None:
    with Workers(address, "raise SystemExit") as workers:
        workers.release()
        for process in workers.processes:
            process.wait(120)
    rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w1"]})
    assert "removed: all of its workers are gone, and it is admitted again" in what(controller, "a")


def test_join_of_expired_job_names_the_lease(clock: FakeClock, controller: Controller, address: str) -> None:
    controller.admit(JobRequest("b", ("w4",), lease_s=0.1))
    clock.now += 1
    wait_until(lambda: len(controller.jobs()) == 1)
    with pytest.raises(
        rpc.ControllerError, match=r"It was removed: no sign of life for 0.1 s, its lease \(lanesum job"
    ):
        rpc.call(address, rpc.JOIN, {"job": "b", "worker": 0})
