# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The topology of the suite: one switch, six worker ports, a stranger and the aggregation server.

::

    worker 0 --0 +--------+ 6-- stranger
    worker 1 --1 |        |
       ...       | switch |
    worker 5 --5 |        |
    worker 6 --0 +--------+ 7-- server          (worker n beyond 5 shares port n mod 6)

Every frame also goes to a ``ReferenceSwitch`` in the same state: whatever a test asserts besides, all frames that
leave must be the same, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from lanesum.protocol import Header, Kind, LaneOp, Packet
from lanesum.protocol.frames import UdpFrame, ipv4_int
from lanesum.protocol.spec import UDP_PORT, Flag
from lanesum_control.model import SWITCH_MAC, HostPort, Member, SwitchJob
from lanesum_switch.reference_switch import PortFrame, ReferenceSwitch

from .oracle import CODE_TABLE, WIDENING, Words, random_words
from .targets import Target

WORKER_PORTS = 6
SERVER = HostPort(7, ipv4_int("10.0.0.200"), bytes.fromhex("020000000200"))
STRANGER = HostPort(6, ipv4_int("10.0.0.100"), bytes.fromhex("020000000100"))
ALL_OPS = tuple(LaneOp)
_FIRST_UDP_PORT = 40000
SLOT_DECISIONS = (
    "claim", "claim_and_complete", "contribute", "contribute_and_complete", "replay", "report_pending", "drop_late",
    "drop_conflict",
)  # fmt: skip


def worker_host(worker: int) -> HostPort:
    """The host that worker ``worker`` of every job runs on."""
    address = ipv4_int("10.0.0.1") if worker < WORKER_PORTS else ipv4_int("10.0.1.1")
    return HostPort(worker % WORKER_PORTS, address + worker, bytes([2, 0, 0, 0, 1, worker]))


@dataclass(frozen=True)
class Place:
    """Where a chunk is summed."""

    epoch: int = 0
    chunk: int = 0
    slot: int = 0
    shadow: int = 0
    op: LaneOp = LaneOp.ADD32


FIRST = Place()


@dataclass(frozen=True)
class Job:
    """An admitted job: makes its workers' frames, and the frames that must come back."""

    switch_job: SwitchJob
    accumulator_words: int
    members: tuple[Member, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", self.switch_job.members)

    @property
    def everybody(self) -> int:
        """Bitmap of all workers."""
        return (1 << len(self.members)) - 1

    def header(self, place: Place, **fields: int) -> Header:
        values: dict[str, int] = {
            "job": self.switch_job.job, "tag": self.switch_job.tag, "epoch": place.epoch, "chunk": place.chunk,
            "slot": place.slot, "shadow": place.shadow, "op": place.op,
        }  # fmt: skip
        return Header(**{**values, **fields})

    def words(self, seed: int, op: LaneOp = LaneOp.ADD32) -> list[Words]:
        """Random contributions, one per worker."""
        rng = np.random.default_rng(seed)
        return [random_words(rng, op, self.accumulator_words, len(self.members)) for _ in self.members]

    def datagram(self, worker: int, payload: bytes) -> UdpFrame:
        """From a worker to the aggregation server, through the switch as first hop."""
        member = self.members[worker]
        host = member.host
        return UdpFrame(host.mac, SWITCH_MAC, host.ip, SERVER.ip, member.udp_port, UDP_PORT, payload)

    def contribution(self, worker: int, words: Words, place: Place = FIRST, **fields: int) -> PortFrame:
        header = self.header(place, **{"workers": 1 << worker, "fan_in_workers": len(self.members), **fields})
        payload = Packet(header, words).pack()
        return self.members[worker].host.port, self.datagram(worker, payload).pack()

    def _answer(self, worker: int, place: Place, words: Words, **fields: int) -> PortFrame:
        member = self.members[worker]
        header = self.header(place, fan_in_workers=len(self.members), **fields)
        payload = Packet(header, words).pack()
        host = member.host
        frame = UdpFrame(SWITCH_MAC, host.mac, SERVER.ip, host.ip, UDP_PORT, member.udp_port, payload)
        return host.port, frame.pack()

    def result(self, words: Words, place: Place = FIRST) -> list[PortFrame]:
        """What completion must send: one copy to each worker and to nobody else."""
        return sorted(
            self._answer(worker, place, words, kind=Kind.RESULT, workers=self.everybody)
            for worker in range(len(self.members))
        )

    def replay(self, worker: int, words: Words, place: Place = FIRST) -> list[PortFrame]:
        """What a duplicate of a complete chunk must send: the same result, to the sender alone."""
        return [
            self._answer(worker, place, words, kind=Kind.RESULT, workers=self.everybody, flags=Flag.RESEND),
        ]

    def pending(self, worker: int, contributors: Iterable[int], place: Place = FIRST) -> list[PortFrame]:
        """What a duplicate of an incomplete chunk must send: who has contributed, to the sender alone."""
        bitmap = sum(1 << contributor for contributor in contributors)
        nothing = np.zeros(0, np.uint32)
        return [
            self._answer(worker, place, nothing, kind=Kind.PENDING, workers=bitmap, flags=Flag.RESEND),
        ]


def routed(frame: bytes, to: HostPort) -> list[PortFrame]:
    """``frame`` after one hop to ``to``; only for frames without IPv4 options and with a valid checksum."""
    datagram = UdpFrame.unpack(frame)
    assert datagram is not None
    hop = UdpFrame(
        SWITCH_MAC, to.mac, datagram.source_ip, datagram.destination_ip, datagram.source_port,
        datagram.destination_port, datagram.payload, datagram.ttl - 1,
    )  # fmt: skip
    return [(to.port, hop.pack())]


class Star:
    """The switch under test with its twin. Use ``scope`` for each test: jobs, faults and counts end with it."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.accumulator_words = target.accumulator_words
        self.twin = ReferenceSwitch(target.accumulator_words)
        self._jobs: list[SwitchJob] = []
        self._faults: set[tuple[int, bool]] = set()
        self._next_job = 1
        self._next_tag = 0x7A610000
        for host in (*map(worker_host, range(WORKER_PORTS)), SERVER, STRANGER):
            target.control.add_host(host)
            self.twin.add_host(host)

    def scope(self) -> Iterator[Star]:
        self._before = self.target.decisions()
        self._twin_before = self.twin.decisions()
        try:
            yield self
        finally:
            self.clean_up()

    def clean_up(self) -> None:
        """No jobs, no faults; the registers stay as they are, since nobody may need them cleared."""
        for job in list(self._jobs):
            self._remove(job)
        for port, ingress in list(self._faults):
            self.set_fault(port, ingress=ingress, share=0.0)

    def admit(
        self,
        workers: int | Sequence[int],
        *,
        slot_base: int = 0,
        slot_count: int = 4,
        ops: tuple[LaneOp, ...] = ALL_OPS,
        code_table: bytes | None = CODE_TABLE,
        job: int | None = None,
        tag: int | None = None,
        udp_port: int | None = None,
    ) -> Job:
        """A job of ``workers`` (how many, or on which hosts), by default with a number and tag never used before.

        Without ``udp_port`` every worker sends from a port of its own.
        """
        if job is None:
            job, self._next_job = self._next_job, self._next_job + 1
        if tag is None:
            tag, self._next_tag = self._next_tag, self._next_tag + 1
        hosts = range(workers) if isinstance(workers, int) else workers
        members = tuple(
            Member(worker, (worker_host(host),), _FIRST_UDP_PORT + worker if udp_port is None else udp_port)
            for worker, host in enumerate(hosts)
        )
        groups = {other.group for other in self._jobs}
        group = next(number for number in range(1, len(groups) + 2) if number not in groups)
        table = code_table if LaneOp.TABLE8 in ops else None
        switch_job = SwitchJob(job, tag, slot_base, slot_count, group, members, ops, table)
        self.target.control.admit(switch_job)
        self.twin.admit(switch_job)
        self._jobs.append(switch_job)
        return Job(switch_job, self.accumulator_words)

    def remove(self, job: Job) -> None:
        self._remove(job.switch_job)

    def _remove(self, job: SwitchJob) -> None:
        self._jobs.remove(job)
        self.target.control.remove(job)
        self.twin.remove(job)

    def set_fault(self, port: int, *, ingress: bool, share: float) -> None:
        self.target.control.set_fault(port, ingress=ingress, share=share)
        self.twin.set_fault(port, ingress=ingress, share=share)
        (self._faults.add if share > 0 else self._faults.discard)((port, ingress))

    def exchange(self, port: int, frame: bytes) -> list[PortFrame]:
        """One frame into the switch; what leaves, sorted, after comparing it with the twin's."""
        out = sorted(self.target.exchange(port, frame))
        expected = sorted(self.twin.process(port, frame))
        assert out == expected, f"{self.target.name} differs from the reference on port {port}: {frame.hex()}"
        return out

    def contribute(self, job: Job, worker: int, words: Words, place: Place = FIRST, **fields: int) -> list[PortFrame]:
        """A worker's contribution into its own port."""
        return self.exchange(*job.contribution(worker, words, place, **fields))

    def decisions(self) -> dict[str, int]:
        """Packets by decision since the test began, zeros left out; the same as the twin's."""
        counts = _difference(self.target.decisions(), self._before)
        assert counts == _difference(self.twin.decisions(), self._twin_before)
        return counts

    def slot_decisions(self) -> dict[str, int]:
        """Those of the slots alone: a packet that is not among them touched no register."""
        return {name: count for name, count in self.decisions().items() if name in SLOT_DECISIONS}


def _difference(now: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    counts = {name: count - before.get(name, 0) for name, count in now.items()}
    return {name: count for name, count in counts.items() if count}


__all__ = ["ALL_OPS", "FIRST", "SERVER", "STRANGER", "WIDENING", "Job", "Place", "Star", "routed", "worker_host"]
