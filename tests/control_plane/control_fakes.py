# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fake switches and server that record calls, restart empty, and refuse on request."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from lanesum.server import ServerJob
from lanesum.server.jobs import ServerStatus
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.errors import SwitchUnreachableError
from lanesum_control.planner.network import Network
from lanesum_control.servers.remote_server import ServerUnreachableError
from lanesum_fabric.errors import SwitchWriteError
from lanesum_fabric.program.capabilities import EVERYTHING
from lanesum_fabric.program.p4info import EntryRead
from lanesum_fabric.program.switch_job import HostPort, Role, SwitchJob
from lanesum_fabric.topology import load


class FakeSwitch:
    """A device and its connection. Checks in every write that no two jobs own a slot."""

    def __init__(self, slots: int = 100) -> None:
        self.slots = slots
        self.hosts: list[HostPort] = []
        self.jobs: dict[int, SwitchJob] = {}
        self.log: list[str] = []
        self.away = False
        self.full = False
        self.connected = False
        self.has_answered = True
        self.capabilities = EVERYTHING
        self.description = ("here", "a fake")
        self.unread: list[str] = []
        self.counted: dict[str, list[EntryRead]] = {}
        self.altered: frozenset[int] = frozenset()

    def check_ports(self, used: Collection[int]) -> None:
        return

    @property
    def device(self) -> FakeSwitch:
        return self

    def _write(self, what: str) -> None:
        if self.away or not self.connected:
            raise SwitchUnreachableError("The switch is away.")
        self.log.append(what)

    def add_host(self, host: HostPort) -> None:
        raise NotImplementedError

    def admit(self, job: SwitchJob) -> None:
        if self.full:
            raise SwitchWriteError("The table is full.")
        self._write(f"admit {job.job}")
        assert job.job not in self.jobs
        self.jobs[job.job] = job
        self._check()

    def remove(self, job: SwitchJob) -> None:
        self._write(f"remove {job.job}")
        assert self.jobs.pop(job.job) == job

    def modify(self, old: SwitchJob, new: SwitchJob) -> None:
        self._write(f"modify {new.job} to {new.slot_base}+{new.slot_count}")
        assert self.jobs[new.job] == old
        assert old.tag == new.tag
        self.jobs[new.job] = new
        self._check()

    def modify_all(self, changes: Iterable[tuple[SwitchJob, SwitchJob]]) -> None:
        for old, new in changes:
            self.modify(old, new)

    def _check(self) -> None:
        for one, other in itertools.combinations(self.jobs.values(), 2):
            apart = (
                one.slot_base + one.slot_count <= other.slot_base or other.slot_base + other.slot_count <= one.slot_base
            )
            both_shared = Role.SHARED in one.role and Role.SHARED in other.role
            assert apart or both_shared or not one.slot_count or not other.slot_count
        assert all(job.slot_base + job.slot_count <= self.slots for job in self.jobs.values())

    def decisions(self) -> dict[str, int]:
        return {"claim": 3}

    def connect(self, timeout_s: float) -> list[str]:
        if self.away:
            raise SwitchUnreachableError("The switch is away.")
        self.connected = True
        return []

    def check(self) -> None:
        if self.away or not self.connected:
            raise SwitchUnreachableError("The switch is away.")

    async def unchanged(self) -> bool:
        return self.connected and not self.away

    def reconcile(self, hosts: Sequence[HostPort], jobs: Sequence[SwitchJob], *, is_settled: bool = False) -> list[str]:
        self._write("reconcile")
        wanted = {job.job: job for job in jobs}
        repaired = [] if self.jobs == wanted else [f"{len(self.jobs)} jobs became {len(wanted)}"]
        self.hosts, self.jobs = list(hosts), wanted
        return repaired

    def agrees(self, hosts: Sequence[HostPort], jobs: Sequence[SwitchJob]) -> bool:
        self.check()
        return self.jobs == {job.job: job for job in jobs}

    def entries(self, table: str) -> list[EntryRead]:
        self.check()
        return self.counted.get(table, [])

    def news(self) -> list[str]:
        found, self.unread = self.unread, []
        return found

    def watch(self, changed: Callable[[], None]) -> None:
        self.changed = changed

    def restart(self) -> None:
        """Restart: the switch loses its program and entries."""
        self.hosts, self.jobs, self.connected = [], {}, False

    def close(self) -> None:
        self.connected = False


class FakeServer:
    """Satisfies ``ControlledServer``."""

    def __init__(self, *, durable: bool = True) -> None:
        self.jobs: dict[int, ServerJob] = {}
        self.durable = durable
        self.away = False
        self.instance = secrets.token_hex(4)

    def _answer(self) -> None:
        if self.away:
            raise ServerUnreachableError("The server is away.")

    def admit(self, job: ServerJob) -> None:
        self._answer()
        self.jobs[job.job] = job

    def remove(self, job: int) -> None:
        self._answer()
        self.jobs.pop(job, None)

    def status(self) -> ServerStatus:
        self._answer()
        return ServerStatus(
            self.instance, ("10.19.0.100", 19539), self.durable, dict(self.jobs), {"claim": 2}, {"not a member": 1}, 0
        )

    def restart(self) -> None:
        self.jobs = {}
        self.instance = secrets.token_hex(4)


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Site:
    """A controller with fakes; ``start`` makes another one, as after a restart."""

    def __init__(
        self,
        topology: str = "star4",
        *,
        slots: int = 100,
        controlled: Sequence[str] | None = None,
        servers: int = 1,
        on_workers: bool = False,
    ) -> None:
        network = load(topology).with_servers(servers, on_workers=on_workers)
        self.network = Network.of(network, loopback=False)
        names = network.switches() if controlled is None else controlled
        self.switches = {name: FakeSwitch(slots) for name in names}
        self.servers = [FakeServer() for _ in range(servers)]
        self.server = self.servers[0]
        self.clock = FakeClock()

    def start(self, **options: Any) -> Controller:
        return Controller(self.network, self.servers, self.switches, clock=self.clock, **options)

    def told(self) -> list[str]:
        """Return the writes at every switch since the last call."""
        written = [f"{name}: {what}" for name, switch in self.switches.items() for what in switch.log]
        for switch in self.switches.values():
            switch.log.clear()
        return written


def request(name: str = "a", workers: int = 4, **fields: Any) -> JobRequest:
    return JobRequest(name, tuple(f"w{i + 1}" for i in range(workers)), **{"slots": 40, **fields})


def what(controller: Controller, whom: str) -> list[str]:
    return [event.what for event in controller.events.since() if event.whom == whom]
