# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A job on loopback, and the commands that observe it: ``lanesum top``, scrapes, and ``lanesum job trace``.

The parts of the job have all cores but the last one. Observers and benchmark share that one, so that an observer takes
no processor time from the job, but for its calls. An embedded switch is there too: others have processors of their own.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lanesum import environment
from lanesum.launch.supervisor import Supervisor, send_signal
from lanesum_fabric.topology import load
from lanesum_lab.bench import process
from lanesum_lab.bench.agents import Agents
from lanesum_lab.bench.cores import pinned, split_cores
from lanesum_lab.bench.errors import BenchError
from lanesum_lab.bench.fleets import TOPOLOGY, relocated
from lanesum_lab.bench.observed import AllReduces
from lanesum_lab.processor_time import processor_s
from lanesum_lab.run.loopback import free_address
from lanesum_lab.run.site import Site
from lanesum_lab.targets.embedded import lanesum_command

WORKERS = ("w1", "w2")
SWITCH = "s1"
_JOB = "observed"
_SHOWN = b"stragglers"  # once in each screen of top
# The command line of ``lanesum``, once all is imported and a line has arrived.
_PREPARED = (
    "import sys, lanesum_control.cli.job; from lanesum.cli.app import main; print(flush=True); sys.stdin.readline(); "
    "sys.exit(main())"
)
_START_S, _POLL_S = 120.0, 0.05
_ANSWER_S = 30.0  # of one endpoint
# Without busy polling, processor time is that of work.
_VARIABLES = {environment.SPIN: "0", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Block:
    """Elapsed seconds of all-reduces, and processor seconds of all parts of the job in the meantime."""

    wall_s: float
    cpu_s: float


class ObservedSite:
    """Controller, server, workers and their endpoints, and the observers. Use ``open_site``.

    Args:
        folder: folder for files.
        supervisor: supervisor of all processes.
        codec: codec of the job.
        top_s: seconds between two reads of top.
        has_switch: an embedded switch sums, in place of the server.

    Attributes:
        spans: events of all traces so far.
    """

    def __init__(self, folder: Path, supervisor: Supervisor, codec: str, *, top_s: float, has_switch: bool) -> None:
        self._folder, self._supervisor = folder, supervisor
        self._metrics: list[str] = []
        self.spans = 0
        topology = folder / "topology.yaml"
        topology.write_text(relocated(load(TOPOLOGY), 0))
        site = Site(str(topology), folder, supervisor, at=self._pinned, environment=_VARIABLES)
        if has_switch:
            site.start_switch(SWITCH, "--metrics", self._endpoint())
        site.start_server("server", "server", "--metrics", self._endpoint())
        site.start_controller("controller", "--metrics", self._endpoint())
        site.admit(_JOB, WORKERS, codec=codec)
        self._controller = site.controller
        self._agents = Agents(supervisor, folder)
        for worker, name in enumerate(WORKERS):
            arguments = (self._agents.path(name), self._controller, _JOB, str(worker), codec)
            variables = {**_VARIABLES, environment.METRICS: self._endpoint()}
            command = self._pinned(name, process.command("observed", *arguments))
            supervisor.start(name, command, environment=variables)
        self._agents.connect(WORKERS)
        self._pids = {child.name: child.process.pid for child in supervisor.children}
        screen = {"FORCE_COLOR": "1", "COLUMNS": "250", "LINES": "100"}  # as in a terminal
        watch = lanesum_command("top", "--controller", self._controller, "--interval", f"{top_s:g}")
        self._top = supervisor.start("top", pinned(split_cores()[1], watch), environment=screen)
        self._wait_for_top()
        send_signal(self._top, signal.SIGSTOP)

    def _wait_for_top(self) -> None:
        deadline = time.monotonic() + _START_S
        while not self.reads():
            self._supervisor.check()
            if time.monotonic() > deadline:
                assert self._top.log is not None
                shown = self._top.log.read_text(errors="replace")[-500:].strip()
                raise BenchError(f"lanesum top showed no job within {_START_S:g} s: {shown}")
            time.sleep(_POLL_S)

    def reads(self) -> int:
        """Return the number of reads of top so far."""
        assert self._top.log is not None
        return self._top.log.read_bytes().count(_SHOWN)

    @contextlib.contextmanager
    def top(self) -> Iterator[None]:
        """Let top read; it begins at once if its interval has passed since it was stopped."""
        send_signal(self._top, signal.SIGCONT)
        try:
            yield
        finally:
            send_signal(self._top, signal.SIGSTOP)

    def scrape(self) -> None:
        """Scrape all endpoints, as Prometheus does."""
        for address in self._metrics:
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=_ANSWER_S) as answer:
                answer.read()

    def prepare_trace(self, seconds: float) -> Callable[[], None]:
        """Start ``lanesum job trace``; return a function that lets it begin, and waits for its end.

        The function raises BenchError.
        """
        out = self._folder / "trace.json"
        arguments = ["job", "trace", _JOB, "--controller", self._controller, "--seconds", f"{seconds:g}"]
        command = [sys.executable, "-c", _PREPARED, *arguments, "--out", str(out)]
        pipe = subprocess.PIPE
        tracer = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert tracer.stdout is not None
        tracer.stdout.readline()

        def trace() -> None:
            _, errors = tracer.communicate("\n")
            if tracer.returncode != 0:
                raise BenchError(f"The job could not be traced: {errors.strip()}")
            self.spans += len(json.loads(out.read_bytes())["traceEvents"])

        return trace

    def block(self, task: AllReduces, observe: Callable[[], None] = lambda: None) -> Block:
        """Run all-reduces, and meanwhile ``observe`` in a thread of its own."""
        failed: list[Exception] = []

        def observed() -> None:
            try:
                observe()
            except Exception as error:
                failed.append(error)

        thread = threading.Thread(target=observed)
        cpu_s = self.cpu_s()
        thread.start()
        times = self._agents.ask(dict.fromkeys(WORKERS, task))
        thread.join()
        used_s = self.cpu_s() - cpu_s
        if failed:
            raise failed[0]
        return Block(max(end for _, end in times.values()) - min(begin for begin, _ in times.values()), used_s)

    def cpu_s(self, *parts: str) -> float:
        """Return the processor seconds so far of these parts, or of all but the switch."""
        return sum(processor_s(self._pids[name]) for name in parts or self._pids.keys() - {SWITCH})

    def close(self) -> None:
        """End the workers; idempotent."""
        self._agents.close()

    @staticmethod
    def _pinned(node: str, command: list[str]) -> list[str]:
        return pinned(split_cores()[node == SWITCH], command)

    def _endpoint(self) -> str:
        self._metrics.append("{}:{}".format(*free_address()))
        return self._metrics[-1]


@contextlib.contextmanager
def open_site(codec: str, *, top_s: float, has_switch: bool = False) -> Iterator[ObservedSite]:
    """Start a site, see ``ObservedSite``; this thread and its children have the last core meanwhile."""
    cores = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory(prefix="lanesum-") as folder, Supervisor(Path(folder) / "logs") as supervisor:
        try:
            site = ObservedSite(Path(folder), supervisor, codec, top_s=top_s, has_switch=has_switch)
            try:
                os.sched_setaffinity(0, split_cores()[1])
                yield site
            finally:
                site.close()
        finally:
            os.sched_setaffinity(0, cores)
