# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A data centre for the controller: racks below four spines, whose switches are other processes and pass no packets.

``python -m tests.control_plane.scale`` admits 1,000 jobs of 10 workers at 100 switches, and prints the figures.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import itertools
import json
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanesum.rpc import controller as rpc
from lanesum.rpc.caller import Caller, CallerRole
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.controller.service import ControllerService
from lanesum_control.planner.network import Network
from lanesum_control.planner.quotas import TenantQuota
from lanesum_control.state.store import Store
from lanesum_control.switches.managed import RemoteSwitch
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_fabric.topology import Topology, TopologyBuilder
from tests.control_plane import answering_switches
from tests.control_plane.control_fakes import FakeServer

SPINES = 4
#: Hosts of a rack. Each is in ten jobs of its rack, and in one across two racks. The tables of a switch hold the
#: routes to 1,024 hosts.
HOSTS = 10
_SLOTS = 16
_CALLERS = 4
_GREEDY = 5  # more calls of one tenant
_READY = "ready"


@dataclass(frozen=True, slots=True)
class Figures:
    """Times and memory of a controller.

    Attributes:
        admissions_s: admissions per second of each tenth of the jobs, by four callers of the service.
        admission_cpu_s: the controller's processor time of an admission of the last tenth.
        restart_s, restart_cpu_s: time, and processor time, of a start that reads back all switches and jobs.
        memory_mb: largest resident memory of the controller's process.
        loss_s: seconds from the check that finds a spine lost until all its sums have moved.
        jain: Jain's index of the admissions of tenants that wait all the time.
        list_s, list_bytes: time and length of ``job list --json``.
    """

    switches: int
    jobs: int
    workers: int
    admissions_s: list[float]
    admission_cpu_s: float
    restart_s: float
    restart_cpu_s: float
    memory_mb: float
    loss_s: float
    jain: float
    list_s: float
    list_bytes: int


def topology(switches: int) -> Topology:
    """Return racks with ``HOSTS`` hosts each below the spines; the last rack has server and controller."""
    build = TopologyBuilder("centre", addresses="10.20.0.0/16")
    spines = [f"s{number}" for number in range(SPINES)]
    for spine in spines:
        build.switch(spine)
    for number in range(SPINES, switches):
        build.switch(f"s{number}")
        for spine in spines:
            build.link(f"s{number}", spine)
        for host in range(HOSTS if number < switches - 1 else 0):
            build.worker(f"w{number}-{host}", at=f"s{number}")
    build.server("server", at=f"s{switches - 1}")
    build.controller("controller", at=f"s{switches - 1}")
    return build.topology()


def requests(switches: int, jobs: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield name and hosts of jobs: of every rack in turn ``HOSTS`` times, then of half of two racks each."""
    racks = range(SPINES, switches - 1)
    for number in range(jobs):
        turn, at = divmod(number, len(racks))
        hosts = [f"w{racks[at]}-{host}" for host in range(HOSTS)]
        if turn >= HOSTS:
            other = racks[(at + 1) % len(racks)]
            hosts[HOSTS // 2 :] = [f"w{other}-{host}" for host in range(HOSTS // 2, HOSTS)]
        yield f"job{number}", tuple(hosts)


def jain(counts: Sequence[int]) -> float:
    """Return Jain's index of fairness (Jain et al., 1984): 1 if all are equal, 1/n if one has everything."""
    return sum(counts) ** 2 / (len(counts) * sum(count * count for count in counts))


@contextlib.contextmanager
def started(*command: str) -> Iterator[subprocess.Popen[str]]:
    """Run a process of this Python, which says that it is ready."""
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(_READY), f"{command} has not started"
            yield process
        finally:
            process.kill()


def admit_all(address: str, wanted: Sequence[tuple[str, tuple[str, ...]]]) -> tuple[list[float], float]:
    """Admit jobs by processes; return admissions per second of each tenth, and the controller's processor time of one
    admission of the last tenth."""
    rates, cpu_s = [], 0.0
    size = -(-len(wanted) // 10)
    with multiprocessing.get_context("spawn").Pool(_CALLERS) as callers:
        callers.starmap(_admit, [(address, ())] * _CALLERS, chunksize=1)  # they have imported what they need
        for at in range(0, len(wanted), size):
            part = wanted[at : at + size]
            began, cpu_began = time.monotonic(), time.process_time()
            callers.starmap(_admit, [(address, part[number::_CALLERS]) for number in range(_CALLERS)], chunksize=1)
            rates.append(len(part) / (time.monotonic() - began))
            cpu_s = (time.process_time() - cpu_began) / len(part)
    return rates, cpu_s


def _admit(address: str, wanted: Sequence[tuple[str, tuple[str, ...]]]) -> None:
    for name, hosts in wanted:
        rpc.call(address, rpc.ADMIT, {"name": name, "workers": list(hosts), "codec": "fixed", "slots": _SLOTS})


def side_by_side(tasks: Sequence[Callable[[], object]]) -> None:
    """Run tasks in threads; raise the error of one that fails."""
    errors: list[BaseException] = []

    def guarded(task: Callable[[], object]) -> None:
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def fairness(controller: Controller, hosts: Sequence[str], tenants: int, turns: int) -> float:
    """Return Jain's index of the admissions of tenants, one of which has many calls waiting where others have one.

    Each call admits a job and removes it. It ends after ``turns`` admissions for each tenant on average.
    """
    counts = [0] * tenants
    numbers = itertools.count()
    over = threading.Event()

    def work(tenant: int) -> None:
        caller = Caller(f"tenant{tenant}", CallerRole.TENANT)
        while not over.is_set():
            name = f"fair{next(numbers)}"
            controller.admit(JobRequest(name, tuple(hosts), slots=1, best_effort=True), caller=caller)
            counts[tenant] += 1
            if sum(counts) >= turns * tenants:
                over.set()
            controller.remove(name, caller=caller)

    callers = [*range(tenants), *[0] * _GREEDY]
    side_by_side([functools.partial(work, tenant) for tenant in callers])
    return jain(counts)


def measure(folder: Path, switches: int, jobs: int, tenants: int, turns: int = 5) -> Figures:
    """Admit jobs, lose a spine, restart, and let tenants compete. ``folder`` is empty."""
    network = Network.of(topology(switches), loopback=False)
    wanted = list(requests(switches, jobs))
    lost, spine = folder / "lost", "s0"
    lost.mkdir()
    paths = {name: (lost if name == spine else folder) / name for name in network.switches}
    pipeline, server = bmv2_pipeline(), FakeServer()
    # Tenants are limited by turns alone.
    quota = TenantQuota(1.0, 10**6, 10**6, 10**9)

    @contextlib.contextmanager
    def controlling() -> Iterator[Controller]:
        there = {name: RemoteSwitch(f"unix:{path}", pipeline) for name, path in paths.items()}
        with Store(folder / "state.db") as store:
            controller = Controller(network, server, there, store=store, quota=quota, connect_timeout_s=60.0)
            try:
                yield controller
            finally:
                controller.close()

    module = str(answering_switches.__file__)
    with started(module, str(folder), str(switches), "0"), started(module, str(lost), "1", "0") as losing:
        with controlling() as controller, ControllerService(controller, "127.0.0.1:0") as service:
            address = f"127.0.0.1:{service.port}"
            rates, admission_cpu_s = admit_all(address, wanted)
            began = time.monotonic()
            listed = rpc.call(address, rpc.JOBS, {})
            list_s = time.monotonic() - began
            assert len(listed["jobs"]) == jobs, f"{len(listed['jobs'])} of {jobs} jobs are listed"
            summed = {name: set(controller.job(name).switch_jobs) for name, _ in wanted}
        began, cpu_began = time.monotonic(), time.process_time()
        with controlling() as controller:
            restart_s, restart_cpu_s = time.monotonic() - began, time.process_time() - cpu_began
            assert all(set(controller.job(name).switch_jobs) == at for name, at in summed.items())
            index = fairness(controller, wanted[0][1][:2], tenants, turns)
            losing.kill()
            losing.wait()
            began = time.monotonic()
            controller.reconciler.check_switch(spine)
            loss_s = time.monotonic() - began
            for name, at in summed.items():
                now = set(controller.job(name).switch_jobs)
                assert spine not in now and len(now) == len(at), f"{name} was summed at {at}, and is at {now}"
    return Figures(
        switches,
        jobs,
        sum(len(hosts) for _, hosts in wanted),
        [round(rate, 1) for rate in rates],
        admission_cpu_s,
        restart_s,
        restart_cpu_s,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        loss_s,
        index,
        list_s,
        len(json.dumps(listed)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.control_plane.scale", description=__doc__)
    parser.add_argument("--switches", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--tenants", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), options.switches, options.jobs, options.tenants)
    print(json.dumps(dataclasses.asdict(figures), indent=2))


if __name__ == "__main__":
    main()
