# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The topology of the suite: one switch, six worker ports, a host outside all jobs, and the aggregation server.

::

    worker 0 --0 +--------+ 8-- non-member
    worker 1 --1 |        |
       ...       | switch |
    worker 5 --5 |        |
    worker 6 --0 +--------+ 7-- server          (worker n beyond 5 shares port n mod 6)

The controller lists the non-member, the server and workers 0 to 5 as hosts attached to this switch. It lists no other
address.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from lanesum.protocol import LaneOp
from lanesum_fabric.program.switch_job import DEFAULT_LEASE_TICKS, NO_ROLE, HostPort, Member, Role, SwitchJob
from lanesum_switch.frames import ipv4_int
from tests.reference.switch import PortFrame

from .jobs import FIRST, Job, Place, routed
from .oracle import CODE_TABLE, WIDENING, Words
from .target import Target
from .twins import SLOT_DECISIONS, Twins

WORKER_PORTS = 6
SERVER = HostPort(7, ipv4_int("10.0.0.200"), bytes.fromhex("020000000200"))
NON_MEMBER = HostPort(8, ipv4_int("10.0.0.100"), bytes.fromhex("020000000100"))
ALL_OPS = tuple(LaneOp)
_FIRST_UDP_PORT = 40000
# Shared jobs of the tests have slots below this.
_SHARED_SLOTS = 4


def worker_host(worker: int) -> HostPort:
    """Return the host of worker ``worker`` of every job."""
    address = ipv4_int("10.0.0.1") if worker < WORKER_PORTS else ipv4_int("10.0.1.1")
    return HostPort(worker % WORKER_PORTS, address + worker, bytes([2, 0, 0, 0, 1, worker]))


def rack(bit: int, *, port: int | None = None, udp_port: int = _FIRST_UDP_PORT) -> Member:
    """Return a rack of three workers behind another switch at ``port`` (default: the rack's bit)."""
    hosts = tuple(worker_host((bit if port is None else port) + WORKER_PORTS * row) for row in (1, 2, 3))
    return Member(bit, hosts, udp_port, aggregate=True)


class Star(Twins):
    """The switch under test with its hosts."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self._next_job = 1
        self._next_tag = 0x7A610000
        self._addresses = 0
        for host in (*map(worker_host, range(WORKER_PORTS)), SERVER, NON_MEMBER):
            self.add_host(host)
        self._complete_entries()

    def restart(self) -> None:
        super().restart()
        self._complete_entries()

    def _complete_entries(self) -> None:
        """Complete the entries of the first slots, if time stands still: shared jobs may claim complete entries.

        Unused ones look taken until a lease has passed.
        """
        if self.target.stopped:
            job = self.admit(1, slot_count=_SHARED_SLOTS)
            for slot, shadow in itertools.product(range(_SHARED_SLOTS), range(2)):
                self.contribute(job, 0, job.words(0)[0], Place(0, 0, slot, shadow))
            self.remove(job)

    def new_address(self) -> int:
        """Return a number for an address that no host has: hosts are never removed."""
        self._addresses += 1
        return self._addresses

    def next_job(self) -> int:
        """Return the number of a job that was never used."""
        number, self._next_job = self._next_job, self._next_job + 1
        return number

    def admit(
        self,
        workers: int | Sequence[int] | Sequence[Member],
        *,
        slot_base: int = 0,
        slot_count: int = 4,
        ops: tuple[LaneOp, ...] | None = None,
        code_table: bytes | None = CODE_TABLE,
        job: int | None = None,
        tag: int | None = None,
        udp_port: int | None = None,
        role: Role = NO_ROLE,
        threshold: int = 0,
        uplinks: tuple[int, ...] = (),
        lease: int = DEFAULT_LEASE_TICKS,
    ) -> Job:
        """Admit a job and return it.

        Args:
            workers: their number, their hosts by number, or the members themselves.
            job: number of the job; by default one that was never used. The same holds for ``tag``.
            udp_port: source port of all workers; by default each has its own.
        """
        if job is None:
            job = self.next_job()
        if tag is None:
            tag, self._next_tag = self._next_tag, self._next_tag + 1
        hosts = range(workers) if isinstance(workers, int) else workers
        members = tuple(
            host
            if isinstance(host, Member)
            else Member(worker, (worker_host(host),), _FIRST_UDP_PORT + worker if udp_port is None else udp_port)
            for worker, host in enumerate(hosts)
        )
        groups = {other.group for other in self.jobs}
        group = next(number for number in range(1, len(groups) + 2) if number not in groups)
        if ops is None:
            ops = self.target.ops
        table = code_table if any(op.shape.lookup for op in ops) else None
        switch_job = SwitchJob(
            job, tag, slot_base, slot_count, group, members, ops, table, role, threshold, uplinks, lease
        )  # fmt: skip
        self.admit_job(switch_job)
        return Job(switch_job, self.accumulator_words, SERVER)

    def modify(self, job: Job, new: SwitchJob) -> Job:
        self.modify_job(job.switch_job, new)
        return Job(new, self.accumulator_words, SERVER)

    def remove(self, job: Job) -> None:
        self.remove_job(job.switch_job)

    def contribute(
        self, job: Job, worker: int, words: Words, place: Place = FIRST, *, host: int = 0, **fields: int
    ) -> list[PortFrame]:
        """Send a member's contribution into its port; return the frames that leave."""
        return self.exchange(*job.contribution(worker, words, place, host=host, **fields))


__all__ = [
    "ALL_OPS",
    "FIRST",
    "NON_MEMBER",
    "SERVER",
    "SLOT_DECISIONS",
    "WIDENING",
    "Job",
    "Place",
    "Star",
    "rack",
    "routed",
    "worker_host",
]  # fmt: skip
