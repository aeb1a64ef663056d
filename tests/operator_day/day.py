# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The site of an operator's day, and its steps.

Two spines, four racks, two servers, two controllers on PostgreSQL, and jobs of two workers in two racks, on loopback.
Where PostgreSQL is not installed, one controller has a SQLite file.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lanesum import environment
from lanesum.cli.signals import READY
from lanesum.launch.supervisor import Child, Supervisor, send_signal
from lanesum.rpc import controller as rpc
from lanesum_fabric.topology import TopologyBuilder
from lanesum_lab.bench.places import free_block
from lanesum_lab.run.site import Site
from lanesum_lab.targets.embedded import lanesum_command
from tests.control_plane import postgresql_server
from tests.control_plane.postgresql_server import PostgresqlServer
from tests.free_ports import free_ports
from tests.operator_day.work import ROUND, SESSION, WRONG

SPINES, RACKS = ("spine1", "spine2"), ("s1", "s2", "s3", "s4")
POLL_S, TIMEOUT_S = 0.1, 600.0
FREEZE_S = 6.0  # of a controller without a standby
JOBS_OF_PROCESS = 15
MIN_PAUSE_S, PAUSE_OF_JOB_S = 0.5, 0.05  # between rounds: embedded switches sum for all jobs
RESTORED_TERM = 1000  # least term of the controllers after a restore


@dataclass(frozen=True, slots=True)
class Step:
    """Cost of a step, until each job has completed two more rounds.

    Attributes:
        pause_s: longest time of a job without a sum.
        sessions: sessions that began again.
    """

    name: str
    seconds: float
    pause_s: float
    sessions: int
    rounds: int
    wrong: int


@dataclass(frozen=True, slots=True)
class Note:
    """Line of a log of ``work``."""

    at_s: float
    job: str
    what: str


class Day:
    """A running site. Call ``run`` once."""

    def __init__(self, folder: Path, supervisor: Supervisor, jobs: int, server: PostgresqlServer | None) -> None:
        self.jobs = [f"job{number}" for number in range(1, jobs + 1)]
        self.steps: list[Step] = []
        self._pause_s = max(MIN_PAUSE_S, jobs * PAUSE_OF_JOB_S)
        self._folder, self._supervisor, self._server = folder, supervisor, server
        self._state = str(folder / "state.sqlite") if server is None else server.empty_database("day")
        self._tokens = folder / "tokens"
        self._token = folder / "operator.token"
        self._topology = folder / "day.yaml"
        self._topology.write_text(_topology(jobs))
        count = 1 if server is None else 2
        self._addresses = [f"127.0.0.1:{port}" for port in free_ports(count, socket.SOCK_STREAM)]
        self.controllers = ",".join(self._addresses)
        self._controllers: list[Child] = []
        self._workers: list[Child] = []
        self._site = Site(str(self._topology), folder, supervisor)

    def run(self, say: Callable[[Step], object]) -> list[Step]:
        """Carry out all steps; ``say`` gets each one once it is done. Raises AssertionError if a job stands still."""
        for name, act in self._plan():
            before, begin = len(self._notes()), time.monotonic()
            act()
            self._wait_for_rounds()
            self.steps.append(self._measured(name, begin, before))
            say(self.steps[-1])
        return self.steps

    def _plan(self) -> Iterator[tuple[str, Callable[[], object]]]:
        yield "bring up", self._bring_up
        yield "rotate the token", self._rotate
        yield "drain a spine", lambda: self._command("controller", "drain", SPINES[0], "--reason", "new fans")
        yield "return the spine", lambda: self._command("controller", "undrain", SPINES[0])
        yield "drain a link", lambda: self._command("controller", "drain", "s1-spine2", "--reason", "new cable")
        yield "return the link", lambda: self._command("controller", "undrain", "s1-spine2")
        yield "upgrade the controllers", self._upgrade
        yield "partition the leader", self._freeze
        yield "lose a spine", lambda: self._kill(self._site.parts[SPINES[0]])
        yield "bring it back", lambda: self._bring_back(SPINES[0])
        yield "restore a backup", self._restore

    def _bring_up(self) -> None:
        self._give_token()
        for name in (*SPINES, *RACKS):
            self._site.start_switch(name)
        for number in (1, 2):
            self._site.start_server(f"server{number}", f"server{number}")
        for number, address in enumerate(self._addresses, 1):
            parts = [word for one in self._site.servers.values() for word in ("--server", one)]
            parts += [word for name, one in self._site.switches.items() for word in ("--switch", f"{name}={one}")]
            command = lanesum_command("controller", "--topology", str(self._topology), "--loopback", *parts)
            command += ["--listen", address, "--state", self._state, "--tokens", str(self._tokens)]
            self._controllers.append(self._supervisor.start(f"controller{number}", command))
            self._supervisor.wait_ready(self._controllers[-1], TIMEOUT_S)
        for number, job in enumerate(self.jobs, 1):
            workers = [f"a{number}", f"b{number}"]
            request = {
                "name": job,
                "workers": workers,
                "codec": "fixed",
                "lease_s": 600.0,
                "slots": 16,
                "best_effort": True,
            }
            rpc.call(self.controllers, rpc.ADMIT, request, TIMEOUT_S)
        for jobs in _batches(self.jobs):
            name = f"work-{jobs[0]}"
            command = [sys.executable, "-m", "tests.operator_day.work", str(self._folder / f"{name}.rounds")]
            variables = {environment.TOKEN_FILE: str(self._token), "OMP_NUM_THREADS": "1"}
            self._workers.append(
                self._supervisor.start(
                    name, [*command, self.controllers, str(self._pause_s), *jobs], environment=variables
                )
            )

    def _give_token(self) -> None:
        self._token.unlink(missing_ok=True)
        words = ("token", "add", str(self._tokens), "operator", "--role", "operator", "--out", str(self._token))
        self._command(*words, is_call=False)
        os.environ[environment.TOKEN_FILE] = str(self._token)

    def _rotate(self) -> None:
        before = self._token.read_text()
        self._give_token()
        assert self._token.read_text() != before

    def _upgrade(self) -> None:
        """End one controller after the other, and start it again; the leader is the last one."""
        for child in sorted(self._controllers, key=self._leads):
            send_signal(child, signal.SIGTERM)
            child.process.wait(TIMEOUT_S)
            self._start_again(child)

    def _freeze(self) -> None:
        """Freeze the leader until another one leads. It ends when it continues, and is started again."""
        leader = max(self._controllers, key=self._leads)
        send_signal(leader, signal.SIGSTOP)
        others = [child for child in self._controllers if child is not leader]
        if others:
            self._wait_for(lambda: any(map(self._leads, others)), "another leader")
        else:
            time.sleep(FREEZE_S)
        send_signal(leader, signal.SIGCONT)
        if others:
            leader.process.wait(TIMEOUT_S)
            self._start_again(leader)

    def _kill(self, child: Child) -> None:
        send_signal(child, signal.SIGKILL)
        child.process.wait()
        self._wait_for(lambda: self._is_lost(child.name), f"the loss of {child.name}")

    def _bring_back(self, name: str) -> None:
        self._start_again(self._site.parts[name])
        self._wait_for(lambda: not self._is_lost(name), f"the return of {name}")

    def _restore(self) -> None:
        """Restore the state of a backup into an empty database, with all controllers stopped."""
        backup = self._folder / "backup"
        self._command("controller", "backup", self._state, str(backup), is_call=False)
        begin = time.monotonic()
        for child in self._controllers:
            send_signal(child, signal.SIGTERM)
            child.process.wait(TIMEOUT_S)
        if self._server is None:
            for path in self._folder.glob("state.sqlite*"):
                path.unlink()
        else:
            self._server.empty_database("day")
        self._command("controller", "restore", str(backup), self._state, is_call=False)
        for child in self._controllers:
            if self._server is not None:  # the terms of an empty database begin anew, and servers refuse earlier ones
                child.command = [*child.command, "--election-id", str(RESTORED_TERM)]
            self._start_again(child)
        self._wait_for(lambda: self._have_begun_again(begin), "a new session of each job")

    def _have_begun_again(self, begin: float) -> bool:
        return {note.job for note in self._notes() if note.what == SESSION and note.at_s > begin} == set(self.jobs)

    def _start_again(self, child: Child) -> None:
        assert child.log is not None
        log, length = child.log, child.log.stat().st_size
        self._supervisor.restart(child)
        self._wait_for(lambda: READY.encode() in log.read_bytes()[length:], f"the start of {child.name}")

    @staticmethod
    def _leads(child: Child) -> bool:
        """Return True if a controller has said last that it is no standby."""
        assert child.log is not None
        words = [line for line in child.log.read_text().splitlines() if "controller at" in line]
        return "standby" not in words[-1]

    def _is_lost(self, switch: str) -> bool:
        slots = rpc.call(self.controllers, rpc.COUNTERS, {}, TIMEOUT_S)["slots"]
        return slots[switch]["lost"] is not None

    def _command(self, *words: str, is_call: bool = True) -> None:
        """Run a command of ``lanesum``, as an operator does."""
        where = ("--controller", self.controllers) if is_call else ()
        done = subprocess.run(lanesum_command(*words, *where), capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"

    def _wait_for(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while not condition():
            assert time.monotonic() < deadline, f"{what} did not come within {TIMEOUT_S:g} s"
            for child in self._workers:
                assert child.process.poll() is None, f"{child.name} has ended"
            time.sleep(POLL_S)

    def _wait_for_rounds(self) -> None:
        """Wait until each job has completed two rounds that began after now."""
        now = time.monotonic()

        def standing() -> set[str]:
            counts = dict.fromkeys(self.jobs, 0)
            for note in self._notes():
                counts[note.job] += note.what == ROUND and note.at_s > now
            return {job for job, count in counts.items() if count < 3}  # the first one may have begun before

        self._wait_for(lambda: not standing(), "a sum of each job")

    def _notes(self) -> list[Note]:
        """Return all complete lines of the logs, by time."""
        lines = [line for path in self._folder.glob("*.rounds") for line in path.read_text().splitlines(keepends=True)]
        words = [line.split(maxsplit=2) for line in lines if line.endswith("\n")]
        return sorted((Note(float(at), job, what.strip()) for at, job, what in words), key=lambda note: note.at_s)

    def _measured(self, name: str, begin: float, before: int) -> Step:
        notes, now = self._notes(), time.monotonic()
        own = [note for note in notes if note.at_s >= begin]
        pauses = [0.0]
        for job in self.jobs:
            sums = [note.at_s for note in notes if note.job == job and note.what == ROUND]
            earlier = [at for at in sums if at < begin][-1:]
            times = [*earlier, *(at for at in sums if at >= begin)]
            pauses += [later - sooner for sooner, later in itertools.pairwise(times)]
        counts = {kind: sum(note.what == kind for note in own) for kind in (SESSION, ROUND, WRONG)}
        return Step(name, now - begin, max(pauses), counts[SESSION], counts[ROUND], counts[WRONG])

    def end(self) -> dict[str, Any]:
        """End the workers; return the report."""
        for child in self._workers:
            send_signal(child, signal.SIGTERM)
        for child in self._workers:
            child.process.wait(TIMEOUT_S)
        listed = {job["name"] for job in rpc.call(self.controllers, rpc.JOBS, {}, TIMEOUT_S)["jobs"]}
        notes = self._notes()
        return {
            "jobs": len(self.jobs),
            "lost_jobs": sorted(set(self.jobs) - listed),
            "database": "SQLite" if self._server is None else "PostgreSQL",
            "controllers": len(self._addresses),
            "rounds": sum(note.what == ROUND for note in notes),
            "wrong": sum(note.what == WRONG for note in notes),
            "steps": [asdict(step) for step in self.steps],
        }


def _batches(jobs: Sequence[str]) -> list[Sequence[str]]:
    return [jobs[at : at + JOBS_OF_PROCESS] for at in range(0, len(jobs), JOBS_OF_PROCESS)]


def _topology(jobs: int) -> str:
    """Return two spines, two racks with a worker of each job, and two racks with a server, as YAML."""

    def build(block: int) -> TopologyBuilder:
        builder = TopologyBuilder("day", addresses=f"10.{block}.0.0/16")
        for switch in (*SPINES, *RACKS):
            builder.switch(switch)
        for rack, spine in itertools.product(RACKS, SPINES):
            builder.link(rack, spine)
        for number in range(1, jobs + 1):
            builder.worker(f"a{number}", at=RACKS[0])
            builder.worker(f"b{number}", at=RACKS[1])
        for number in (1, 2):
            builder.server(f"server{number}", at=RACKS[1 + number])
            builder.controller(f"controller{number}", at=RACKS[1 + number])
        return builder

    block = free_block(lambda block: build(block).topology().server_backend(loopback=True))
    return build(block).topology().to_yaml()


@contextmanager
def opened(folder: Path, jobs: int) -> Iterator[Day]:
    """Open a site in an empty folder."""
    with ExitStack() as stack:
        server = None
        if not postgresql_server.MISSING:
            server = stack.enter_context(postgresql_server.running())
        supervisor = stack.enter_context(Supervisor(folder / "logs"))
        yield Day(folder, supervisor, jobs, server)
