# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A switch under test with its twin, a reference switch in the same state.

In every test both must send the same frames, byte for byte, and count the same decisions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from lanesum_fabric.program.switch_job import HostPort, Station, SwitchJob
from tests.reference.switch import PortFrame, ReferenceSwitch

from .target import Clock, Target

SLOT_DECISIONS = (
    "claim", "claim_and_complete", "contribute", "contribute_and_complete", "replay", "ascend_again", "report_pending",
    "report_conflict", "collide", "pass_late", "drop_late",
)  # fmt: skip
# Decisions of tables that every routed packet meets.
_ROUTINE = ("genuine", "unknown_source", "forwarded")


class Twins:
    """Use ``scope`` for each test: it ends with all jobs, faults and marks removed. Registers keep their state."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.accumulator_words = target.accumulator_words
        self._start_twin()
        self.hosts: list[HostPort] = []
        self.jobs: list[SwitchJob] = []
        self._faults: set[tuple[int, bool]] = set()
        self._congested: set[int] = set()
        self._station = Station()
        self._lossy: dict[tuple[int, bool], float] = {}  # by (port, ingress); emulated without fault tables
        self._rng = random.Random(0)
        self._before = target.decisions()
        self._twin_before = self.twin.decisions()

    def _start_twin(self) -> None:
        clock = Clock() if self.target.stopped else self.target.clock
        self.twin = ReferenceSwitch(
            self.accumulator_words,
            clock=clock and clock.microseconds,
            queue_depth=self.target.queue_depth,
            ops=self.target.ops,
            entries=self.target.slot_table(),
            with_icmp=self.target.control.capabilities.icmp,
            shortens=self.target.control.capabilities.shortens,
        )

    def restart(self) -> None:
        """Push the program again, and write hosts and jobs into its empty tables. Counts restart at 0."""
        jobs, hosts = list(self.jobs), self.hosts
        self.clean_up()
        self.target = self.target.push_again()
        self._start_twin()
        self.hosts, self.jobs = [], []
        for host in hosts:
            self.add_host(host)
        for job in jobs:
            self.admit_job(job)
        self._before, self._twin_before = self.target.decisions(), self.twin.decisions()

    def scope(self) -> Iterator[None]:
        self._before = self.target.decisions()
        self._twin_before = self.twin.decisions()
        try:
            yield
        finally:
            self.clean_up()

    def clean_up(self) -> None:
        """Remove all jobs, faults, marks and the own address; leave the registers as they are."""
        for job in list(self.jobs):
            self.remove_job(job)
        for port, ingress in list(self._faults):
            self.set_fault(port, ingress=ingress, share=0.0)
        for port in list(self._congested):
            self.set_congestion(port, None)
        if self._station != Station():
            self.set_station(Station())

    def set_station(self, station: Station) -> None:
        self._station = station
        self.target.control.set_station(station)
        self.twin.set_station(station)

    def add_host(self, host: HostPort) -> None:
        self.hosts.append(host)
        self.target.control.add_host(host)
        self.twin.add_host(host)

    def admit_job(self, job: SwitchJob) -> None:
        self.target.control.admit(job)
        self.twin.admit(job)
        self.jobs.append(job)

    def modify_job(self, old: SwitchJob, new: SwitchJob) -> None:
        self.target.control.modify(old, new)
        self.twin.modify(old, new)
        self.jobs[self.jobs.index(old)] = new

    def remove_job(self, job: SwitchJob) -> None:
        self.jobs.remove(job)
        self.target.control.remove(job)
        self.twin.remove(job)

    def set_fault(self, port: int, *, ingress: bool, share: float) -> None:
        if self.target.control.has_faults:
            self.target.control.set_fault(port, ingress=ingress, share=share)
        else:
            self._lossy[port, ingress] = share
        self.twin.set_fault(port, ingress=ingress, share=share)
        (self._faults.add if share > 0 else self._faults.discard)((port, ingress))

    def set_congestion(self, port: int, depth: int | None) -> None:
        self.target.control.set_congestion(port, depth)
        self.twin.set_congestion(port, depth)
        (self._congested.discard if depth is None else self._congested.add)(port)

    def exchange(self, port: int, frame: bytes) -> list[PortFrame]:
        """Send one frame into switch and twin, compare the frames that leave, and return them sorted."""
        out = sorted(self.deliver(port, frame))
        expected = sorted(self.twin.process(port, frame))
        assert out == expected, f"{self.target.name} differs from the reference on port {port}: {frame.hex()}"
        return out

    def deliver(self, port: int, frame: bytes) -> list[PortFrame]:
        """Send one frame into the switch; return the frames that leave. Faults are emulated without fault tables."""
        if self._lost(port, ingress=True):
            return []
        return [out for out in self.target.exchange(port, frame) if not self._lost(out[0], ingress=False)]

    def _lost(self, port: int, *, ingress: bool) -> bool:
        return self._rng.random() < self._lossy.get((port, ingress), 0.0)

    def all_decisions(self) -> dict[str, int]:
        """Return packets by decision since the test began, without zeros, after comparing them with the twin's."""
        counts = _difference(self.target.decisions(), self._before)
        counts.pop("take_over", None)  # Tofino counts the packet a second time, after its recirculation
        expected = _difference(self.twin.decisions(), self._twin_before)
        assert counts == expected, f"decisions {counts}, of the reference {expected}"
        return counts

    def decisions(self) -> dict[str, int]:
        """Return the same without the decisions that every routed packet meets."""
        return {name: count for name, count in self.all_decisions().items() if name not in _ROUTINE}

    def slot_decisions(self) -> dict[str, int]:
        """Return the decisions of table slot. A packet without one touched no register."""
        return {name: count for name, count in self.decisions().items() if name in SLOT_DECISIONS}


def _difference(now: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    counts = {name: count - before.get(name, 0) for name, count in now.items()}
    return {name: count for name, count in counts.items() if count}
