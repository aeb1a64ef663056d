# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Workers and a server of each implementation as processes, to measure transport and server."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from lanesum._internal.native import VARIABLE, availability
from lanesum.codecs import get
from lanesum.launch.supervisor import Child
from lanesum.protocol.spec import UDP_PORT
from lanesum.server.jobs import ServerJob
from lanesum_control.servers.remote_server import RemoteServer
from lanesum_lab.bench import process
from lanesum_lab.bench.agents import Agents
from lanesum_lab.bench.links import HUB
from lanesum_lab.bench.pinger import ALL_REDUCE, ALONE, ROUND, Echoes, Flow, Flowed, PingerSetup, Pings
from lanesum_lab.bench.places import Place, make_tickets, worker_nodes
from lanesum_lab.processor_time import processor_s
from lanesum_lab.run.supervisor import RunSupervisor
from lanesum_lab.targets.embedded import lanesum_command

ECHO_PORT = UDP_PORT + 9
_START_S = 120.0


class PingerSettings(Protocol):
    """Settings of a benchmark that these processes need."""

    @property
    def workers(self) -> int: ...

    @property
    def window(self) -> int: ...

    @property
    def accumulator_words(self) -> int: ...


def implementations(left_out: dict[str, str]) -> dict[str, str]:
    """Return the implementations that this machine permits, with their values of ``LANESUM_NATIVE``."""
    native = availability()
    if native.core is None:
        left_out["native"] = native.reason
        return {"Python": "off"}
    return {"Python": "off", "native": "required"}


class Pingers:
    """Workers and a server of one implementation at a location."""

    def __init__(
        self, name: str, number: int, place: Place, supervisor: RunSupervisor, folder: Path, native: str
    ) -> None:
        self.name = name
        self._number = number
        self._place = place
        self._agents = Agents(supervisor, folder)
        self._supervisor = supervisor
        self._environment = {VARIABLE: native, "OMP_NUM_THREADS": "1"}
        self._control = f"unix:{folder / f'{name}-server.sock'}"
        self._server: Child | None = None
        self.workers = [""]

    def start(self, settings: PingerSettings) -> None:
        """Start all processes. Raises ProcessFailedError, BenchError."""
        nodes = worker_nodes(settings.workers)
        port = UDP_PORT + self._number
        server = lanesum_command("server", "--listen", f"{self._place.address(HUB)}:{port}", "--control", self._control)
        self._server = self._supervisor.start(
            f"{self.name}-server", self._place.command(HUB, server), environment=self._environment
        )
        self.workers = [f"{self.name}-{node}" for node in nodes]
        for agent, node in zip(self.workers, nodes, strict=True):
            pinger = process.command("pinger", self._agents.path(agent))
            self._supervisor.start(agent, self._place.command(node, pinger), environment=self._environment)
        self._agents.connect(self.workers)
        self._supervisor.wait_ready(self._server, _START_S)
        addresses = [self._place.address(node) for node in nodes]
        setups: list[dict[str, Any]] = [{} for _ in nodes]
        jobs: list[tuple[str, Sequence[int]]] = [(ALL_REDUCE, range(len(nodes))), (ROUND, range(len(nodes)))]
        jobs += [(ALONE, [worker]) for worker in range(len(nodes))]
        for number, (job, members) in enumerate(jobs):
            tickets = make_tickets(
                100 * self._number + number,
                get("fixed", workers=len(members)),
                [addresses[worker] for worker in members],
                [(self._place.address(HUB), port)],
                accumulator_words=settings.accumulator_words,
                slots=settings.window,
            )
            RemoteServer(self._control).admit(ServerJob.from_tickets(tickets))
            for worker, ticket in zip(members, tickets, strict=True):
                setups[worker][job] = ticket
        self._agents.ask(
            {agent: PingerSetup(one, settings.window) for agent, one in zip(self.workers, setups, strict=True)}
        )

    def pings(self, task: Pings) -> list[float]:
        """Run a task at all workers; return the first worker's seconds."""
        answers: dict[str, list[float]] = self._agents.ask(dict.fromkeys(self.workers, task))
        return answers[self.workers[0]]

    def echoes(self, task: Echoes, *, together: bool) -> list[float]:
        """Return the first worker's seconds; ``together``: all others send echoes at the same time."""
        agents = self.workers if together else self.workers[:1]
        answers: dict[str, list[float]] = self._agents.ask(dict.fromkeys(agents, task))
        return answers[self.workers[0]]

    def flow(self, job: str, chunks: int, seconds: float) -> tuple[list[Flowed], float]:
        """Run long rounds for about ``seconds``, at the first worker in ``ALONE``, at all of them in ``ROUND``.

        Returns the counters of each worker, and the processor time of the server in seconds.
        """
        agents = self.workers[:1] if job == ALONE else self.workers
        trial: dict[str, Flowed] = self._agents.ask(dict.fromkeys(agents, Flow(job, chunks, 1)))
        rounds = max(1, round(seconds / max(one.seconds for one in trial.values())))
        before = self._server_cpu()
        answers: dict[str, Flowed] = self._agents.ask(dict.fromkeys(agents, Flow(job, chunks, rounds)))
        return list(answers.values()), self._server_cpu() - before

    def _server_cpu(self) -> float:
        assert self._server is not None
        return processor_s(self._server.process.pid)

    def close(self) -> None:
        """End the processes; idempotent."""
        self._agents.close()


@contextlib.contextmanager
def pingers(
    place: Place, settings: PingerSettings, names: dict[str, str], *, echo: bool = False
) -> Iterator[list[Pingers]]:
    """Start one set for each of the ``implementations``; with ``echo``, also an echo process at the hub."""
    with contextlib.ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="lanesum-")))
        supervisor = cleanup.enter_context(RunSupervisor(folder / "logs"))
        if echo:
            answerer = process.command("datagrams", place.address(HUB), str(ECHO_PORT))
            supervisor.start("echo", place.command(HUB, answerer))
        kinds = []
        for number, (name, native) in enumerate(names.items()):
            kind = Pingers(name, number, place, supervisor, folder, native)
            cleanup.callback(kind.close)
            kind.start(settings)
            kinds.append(kind)
        yield kinds
