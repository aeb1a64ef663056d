# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A controller and a server in this process, on loopback, and processes that run examples against them."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from lanesum.server import AggregationServer
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.controller.service import ControllerService
from lanesum_control.jobs.records import DEFAULT_LEASE_S
from lanesum_control.planner.network import Network
from lanesum_fabric.topology import load
from tests.paths import ROOT
from tests.waiting import wait_until

DEMO = "demo"
WORKERS = ("w1", "w2")
BUCKETS = re.compile(r"\b(\d+) buckets averaged")


class LateClock:
    """A clock for leases, set forward by ``ahead_s``."""

    ahead_s = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead_s


@dataclasses.dataclass(frozen=True)
class Site:
    """A controller and a server, and the controller's address."""

    controller: Controller
    server: AggregationServer
    address: str
    clock: LateClock

    def jobs(self) -> list[str]:
        """Return the names of the jobs that hold slots, except that of the fixture."""
        return [job.request.name for job in self.controller.jobs() if job.request.name != DEMO]

    def kill(self, *launches: subprocess.Popen[str], with_descendants: bool = False) -> None:
        """Kill a training once its ranks have joined their job; its slots return with the lease.

        ``with_descendants``: kill each process of the launches, as schedulers do, also in other process groups.
        """
        wait_until(lambda: any(job.joined == {0, 1} for job in self.controller.jobs()))
        assert len(self.jobs()) == 1
        for launch in launches:
            others = descendants(launch.pid) if with_descendants else ()
            os.killpg(launch.pid, signal.SIGKILL)
            for process in others:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            launch.communicate()
        self.lapse()

    def max_jobs(self) -> int:
        """Return the highest number of jobs that were admitted at a time, except that of the fixture."""
        changes = [event.what.partition(" ")[0] for event in self.controller.events.since() if event.whom != DEMO]
        counts = itertools.accumulate((what == "admitted") - what.startswith("removed") for what in changes)
        return max(counts, default=0)

    def lapse(self) -> None:
        """End the leases of all jobs, once no worker lives; a busy host may miss the common end of a training."""
        wait_until(lambda: "alive" not in self.states())
        self.clock.ahead_s += DEFAULT_LEASE_S + 1.0
        self.controller.expire()
        assert self.jobs() == []

    def states(self) -> set[str]:
        """Return the states of all workers."""
        figures = self.controller.workers.figures(self.controller.jobs())
        return {worker.state for workers in figures.values() for worker in workers}

    def arguments(self, job: str) -> list[str]:
        return [f"--controller={self.address}", f"--job={job}"]


@pytest.fixture
def site() -> Iterator[Site]:
    with AggregationServer(("127.19.0.97", 0)) as server:
        network = dataclasses.replace(Network.of(load("star4"), loopback=True), servers=(server.address,))
        clock = LateClock()
        controller = Controller(network, server, clock=clock)
        controller.admit(JobRequest(DEMO, WORKERS, codec="fixed", udp_port=29541))
        with ControllerService(controller, "127.0.0.1:0") as service:
            yield Site(controller, server, f"127.0.0.1:{service.port}", clock)


def descendants(process: int) -> set[int]:
    """Return the children of a process, their children, and so on."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])  # proc_pid_stat(5)
    found, new = set(), {process}
    while new:
        new = {one for one, parent in parents.items() if parent in new}
        found |= new
    return found


def start(command: list[str], **variables: str) -> subprocess.Popen[str]:
    """Start Python with ``command`` and more environment ``variables``."""
    return start_program([sys.executable, *command], variables)


def start_program(command: list[str], variables: Mapping[str, str]) -> subprocess.Popen[str]:
    path = os.pathsep.join(["examples", os.environ["PYTHONPATH"]])
    settings = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    environment = {**os.environ, **settings, **variables}
    return subprocess.Popen(command, cwd=ROOT, env=environment, text=True, start_new_session=True, **pipes)


def output_of(process: subprocess.Popen[str], timeout_s: float = 250) -> str:
    output, _ = process.communicate(timeout=timeout_s)
    assert process.returncode == 0, output
    return output


def start_torchrun(
    script: str, *arguments: str, options: tuple[str, ...] = (), **variables: str
) -> subprocess.Popen[str]:
    """Start an example with two ranks."""
    rendezvous = ["--nnodes=1", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--local-addr=127.0.0.1"]
    command = ["-m", "torch.distributed.run", "--nproc-per-node=2", *rendezvous, *options]
    return start([*command, f"examples/{script}", *arguments], **variables)


def needs(*packages: str) -> None:
    missing = [package for package in ("torch", *packages) if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed.")


def check(output: str, *, min_buckets: int) -> None:
    (buckets,) = BUCKETS.findall(output)
    assert int(buckets) >= min_buckets
    assert output.count("replicas agree: True") == 1, output
