# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs with members at several pipes of one chip: each pipe sums its workers, and one pipe combines the sums.

::

    workers 0 1 --+--------+            +--------+-- workers 2 3
                  | pipe 0 |<-- sums ---| pipe 1 |
    server -------+--------+            +--------+     pipes 2 and 3 likewise
"""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from lanesum.protocol import Kind, LaneOp, Packet
from lanesum.protocol.spec import Flag
from lanesum_control.planner.network import Network
from lanesum_control.planner.placement import place
from lanesum_control.switches.client import SwitchConnection
from lanesum_fabric.program.switch_job import NO_ROLE, HostPort, Role, SwitchJob
from lanesum_fabric.tofino.chips import PORTS_PER_PIPE, pipe_of
from lanesum_lab.targets import SwitchTarget
from lanesum_switch.frames import UdpFrame, ipv4_int
from lanesum_switch.p4runtime import P4RuntimeServer
from lanesum_switch.tna.switch import TofinoSwitch
from tests.reference.switch import PortFrame

from .chip_model import MODEL_PROFILES
from .control import SwitchUnderTest
from .jobs import FIRST, Job, Place, routed
from .oracle import Words, aggregate, random_words
from .star import SERVER, Star
from .target import DEVICE_ID
from .targets import RECORDS

PER_PIPE = 2
_UDP_PORT = 40000
_CHIPS = [name for name, record in RECORDS.items() if record.device is TofinoSwitch]
pytestmark = pytest.mark.offered("combining_pipes")


def worker_host(worker: int) -> HostPort:
    port = worker // PER_PIPE * PORTS_PER_PIPE + 1 + worker % PER_PIPE
    return HostPort(port, ipv4_int("10.2.0.1") + worker, bytes([2, 0, 0, 0, 4, worker]))


HOSTS = {f"w{worker}": worker_host(worker) for worker in range(4 * PER_PIPE)}
NETWORK = Network("s1", dict.fromkeys((*HOSTS, "server"), "s1"), {"s1": {**HOSTS, "server": SERVER}}, ("server",), ())


class PipesJob:
    """A job of the first workers; ``places``: (rack, bit) of each."""

    def __init__(self, number: int, workers: int, words: int, ops: Sequence[LaneOp], role: Role = NO_ROLE) -> None:
        names = list(HOSTS)[:workers]
        found = place(names, NETWORK, quorum=0, udp_port=_UDP_PORT, unavailable={}, chips={"s1"}, number=number)
        (at,) = found.assignments
        self.places, self.workers, self.words = found.places, workers, words
        self.switch_job = SwitchJob(
            number, 0x7A640000 + number, 0, 4, number, at.members, tuple(ops), role=at.role | role,
            combining_pipe=at.combining_pipe,
        )  # fmt: skip
        self._sender = Job(self.switch_job, words, SERVER)

    def racks(self, workers: Sequence[int]) -> int:
        """Return the bitmap of the racks of ``workers``."""
        return sum({1 << self.places[worker][0] for worker in workers})

    def contribution(self, worker: int, words: Words, place: Place = FIRST, **fields: int) -> PortFrame:
        """Return ingress port and frame of a worker's contribution."""
        rack, bit = self.places[worker]
        own = {"workers": 1 << bit, "fan_in_workers": worker, "racks": place.round_words}
        header = self._sender.header(place, **{**own, **fields})
        payload = Packet(header, words).pack()
        frame = self._sender.datagram(rack, payload, bit).pack(checksum=True)
        return worker_host(worker).port, frame

    def random_words(self, seed: int, op: LaneOp = LaneOp.ADD32) -> list[Words]:
        rng = np.random.default_rng(seed)
        return [random_words(rng, op, self.words, self.workers) for _ in range(self.workers)]


class Chip:
    """The switch under test, with hosts at ports of all pipes."""

    def __init__(self, star: Star) -> None:
        self.star = star
        for host in HOSTS.values():
            if host not in star.hosts:
                star.add_host(host)

    def admit(self, workers: int, role: Role = NO_ROLE) -> PipesJob:
        job = PipesJob(self.star.next_job(), workers, self.star.accumulator_words, self.star.target.ops, role)
        self.star.admit_job(job.switch_job)
        return job

    def contribute(
        self, job: PipesJob, workers: Sequence[int], words: Sequence[Words], place: Place = FIRST, **fields: int
    ) -> list[PortFrame]:
        """Send contributions of some workers; return the frames that leave because of the last one."""
        left: list[PortFrame] = []
        for worker in workers:
            left = self.star.exchange(*job.contribution(worker, words[worker], place, **fields))
        return left


@pytest.fixture
def chip(star: Star) -> Chip:
    if star.target.name in MODEL_PROFILES:
        pytest.skip(f"{star.target.name} runs one pipe")
    return Chip(star)


def answer(frame: PortFrame) -> Packet:
    """Return the packet of an answer, after checking its receiver."""
    port, data = frame
    receiver = next(host for host in HOSTS.values() if host.port == port)
    datagram = UdpFrame.unpack(data)
    assert datagram is not None
    assert (datagram.destination_mac, datagram.destination_ip) == (receiver.mac, receiver.ip)
    return Packet.unpack(datagram.payload)


def check_results(job: PipesJob, left: list[PortFrame], receivers: Sequence[int], total: Words, flags: int = 0) -> None:
    """Check that exactly ``receivers`` got the sum of all workers."""
    assert [port for port, _ in left] == sorted(worker_host(worker).port for worker in receivers)
    for frame in left:
        packet = answer(frame)
        assert (packet.header.kind, packet.header.flags) == (Kind.RESULT, Flag.UPPER | flags)
        assert (packet.header.workers, packet.header.racks) == (0, job.racks(range(job.workers)))
        assert np.array_equal(packet.payload, total)


@pytest.mark.parametrize("workers", [3, 4, 8])
@pytest.mark.parametrize("op", [LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.MAX], ids=lambda op: op.name)
def test_members_of_several_pipes_get_one_sum(chip: Chip, workers: int, op: LaneOp) -> None:
    """With two, two and four pipes. Codes are widened once; each order of workers completes in another pipe."""
    job = chip.admit(workers)
    members = list(range(workers))
    for chunk in range(2):
        words, place = job.random_words(chunk, op), Place(0, chunk, op=op)
        order = random.Random(chunk).sample(members, workers)
        left = chip.contribute(job, order, words, place)
        check_results(job, left, members, aggregate(op, words))
        for worker in members:
            left = chip.contribute(job, [worker], words, place)
            check_results(job, left, [worker], aggregate(op, words), Flag.RETRANSMISSION)


def test_duplicates_name_missing_workers_and_missing_pipes(chip: Chip) -> None:
    job = chip.admit(8)
    words = job.random_words(3)
    rack = job.switch_job.pipe_sums[0].members
    hosts = [member.host for member in rack]
    inside = [worker for worker in range(8) if worker_host(worker) in hosts]
    other = [worker for worker in range(8) if worker not in inside]
    assert chip.contribute(job, inside[:1], words) == []
    left = chip.contribute(job, inside[:1], words)
    assert [port for port, _ in left] == [worker_host(worker).port for worker in inside]
    header = answer(left[0]).header
    assert (header.kind, header.flags) == (Kind.PENDING, Flag.RETRANSMISSION)
    assert (header.workers, header.fan_in_workers) == (1 << job.places[inside[0]][1], 2)
    assert chip.contribute(job, inside[1:], words) == []
    left = chip.contribute(job, inside[1:], words)
    assert len(left) == 8
    header = answer(left[0]).header
    assert (header.kind, header.flags) == (Kind.PENDING, Flag.RETRANSMISSION | Flag.UPPER)
    assert (header.racks, header.fan_in_racks) == (job.racks(inside), len(job.switch_job.members))
    check_results(job, chip.contribute(job, other, words), range(8), aggregate(LaneOp.ADD32, words))


def test_conflict_between_pipes_reaches_all_workers(chip: Chip) -> None:
    job = chip.admit(4)
    words = job.random_words(4)
    first, second = ([worker for worker in range(4) if worker // PER_PIPE == pipe] for pipe in range(2))
    chip.contribute(job, first, words)
    left = chip.contribute(job, second, words, Place(round_words=9))
    kinds = [answer(frame).header.kind for frame in left]
    # The combining pipe finds the conflict: in the other pipe's sum, or in a worker's own contribution.
    assert kinds == [Kind.CONFLICT] * 4


def test_forged_partial_sum_is_dropped(chip: Chip) -> None:
    """A worker's own port and address, or those of another worker; a sum would be accepted in the combining pipe."""
    job = chip.admit(4)
    words = job.random_words(5)
    for worker in range(4):
        port, frame = job.contribution(worker, words[worker], flags=Flag.UPPER)
        assert chip.star.exchange(port, frame) == []
        assert chip.star.exchange(worker_host(worker ^ 2).port, frame) == []
    assert chip.star.slot_decisions() == {}
    check_results(job, chip.contribute(job, range(4), words), range(4), aggregate(LaneOp.ADD32, words))


def test_packets_past_the_switch_reach_the_server(chip: Chip) -> None:
    """Of every pipe, with and without a sum in flight; and those to slots beyond the job's range."""
    job = chip.admit(4)
    words = job.random_words(6)
    for worker in range(4):
        frame = job.contribution(worker, words[worker], flags=Flag.BYPASS)
        assert chip.star.exchange(*frame) == routed(frame[1], SERVER)
        frame = job.contribution(worker, words[worker], Place(slot=4))
        assert chip.star.exchange(*frame) == routed(frame[1], SERVER)
    check_results(job, chip.contribute(job, range(4), words), range(4), aggregate(LaneOp.ADD32, words))


def test_jobs_sharing_slots_claim_entries_in_both_pipes(chip: Chip) -> None:
    """The second job claims complete entries of the first, in the pipe of its workers and in the combining one."""
    jobs = [chip.admit(4, Role.SHARED) for _ in range(2)]
    for chunk in range(2):
        for job in jobs:
            words, place = job.random_words(chunk), Place(0, chunk)
            left = chip.contribute(job, range(4), words, place)
            check_results(job, left, range(4), aggregate(LaneOp.ADD32, words))


def test_removed_job_leaves_nothing_in_the_pipes(chip: Chip) -> None:
    job = chip.admit(8)
    words = job.random_words(7)
    chip.contribute(job, [0, 2, 3], words)
    chip.star.remove_job(job.switch_job)
    for worker in range(8):
        frame = job.contribution(worker, words[worker])
        assert chip.star.exchange(*frame) == routed(frame[1], SERVER)
    if isinstance(chip.star.target.control, SwitchUnderTest):
        jobs = ("membership.member", "receiver.receiver")
        tables = [table for table in chip.star.target.control.tables if table.endswith(jobs)]
        assert len(tables) == 2
        assert [chip.star.target.control.entries(table) for table in tables] == [[], []]


class Recirculation:
    """A chip whose recirculated packets are held by the test, which loses, repeats or reorders them."""

    def __init__(self, record: SwitchTarget, switch: TofinoSwitch, control: SwitchUnderTest) -> None:
        self.switch, self.control = switch, control
        assert control.capabilities.combining_pipes
        pipeline = record.pipeline(None)
        assert pipeline.chip is not None
        self._ports = pipeline.chip.recirculation_ports
        self.accumulator_words = pipeline.accumulator_words
        self.waiting: list[PortFrame] = []
        for host in (*HOSTS.values(), SERVER):
            control.add_host(host)

    @contextlib.contextmanager
    def admit(self, number: int, workers: int) -> Iterator[PipesJob]:
        """Admit a job of the first workers; in the end remove it, with its packets that wait."""
        job = PipesJob(number, workers, self.accumulator_words, [LaneOp.ADD32])
        self.control.admit(job.switch_job)
        try:
            yield job
        finally:
            self.control.remove(job.switch_job)
            self.waiting.clear()

    def enter(self, port: int, frame: bytes) -> list[PortFrame]:
        """Run one pass; recirculated packets wait."""
        left = [(out.port, out.frame) for out in self.switch.process(port, frame)]
        self.waiting += [out for out in left if out[0] in self._ports]
        return [out for out in left if out[0] not in self._ports]


@contextlib.contextmanager
def _recirculation(name: str) -> Iterator[Recirculation]:
    record = RECORDS[name]
    switch = TofinoSwitch(recirculation_ports=())
    with tempfile.TemporaryDirectory(prefix="lanesum-") as folder:
        address = f"unix:{folder}/p4runtime"
        with P4RuntimeServer(switch, address, DEVICE_ID), SwitchConnection(address, device_id=DEVICE_ID) as connection:
            control = SwitchUnderTest.with_pipeline(connection, record.pipeline(None))
            yield Recirculation(record, switch, control)


@pytest.fixture(scope="module")
def recirculation() -> Iterator[Recirculation]:
    """Recirculation of the first profile, which has one pass."""
    with _recirculation(_CHIPS[0]) as found:
        yield found


def test_lost_partial_sum_is_sent_again(recirculation: Recirculation) -> None:
    """A retransmission of any worker of its pipe repeats it."""
    with recirculation.admit(90, 4) as job:
        words = job.random_words(8)
        combining = job.switch_job.combining_pipe
        inside = [worker for worker in range(4) if worker // PER_PIPE != combining]
        for worker in range(4):
            assert recirculation.enter(*job.contribution(worker, words[worker])) == []
        ((port, _),) = recirculation.waiting
        assert pipe_of(port) == combining
        recirculation.waiting.clear()
        assert recirculation.enter(*job.contribution(inside[1], words[inside[1]])) == []
        left = sorted(recirculation.enter(*recirculation.waiting.pop()))
        check_results(job, left, range(4), aggregate(LaneOp.ADD32, words), Flag.RETRANSMISSION)


def _exact_results(job: PipesJob, left: Sequence[PortFrame], words: dict[int, list[Words]]) -> int:
    """Check that each result among ``left`` is the sum of all workers; return the number of results."""
    results = [packet for packet in map(answer, left) if packet.header.kind == Kind.RESULT]
    for packet in results:
        assert packet.header.racks == job.racks(range(job.workers))
        assert np.array_equal(packet.payload, aggregate(LaneOp.ADD32, words[packet.header.chunk]))
    return len(results)


@pytest.mark.parametrize("seed", range(3))
def test_random_recirculation_gives_exact_sums_only(recirculation: Recirculation, seed: int) -> None:
    """Partial sums are lost, repeated and reordered, while workers retransmit and go on to other chunks."""
    rng = random.Random(seed)
    found = 0
    with recirculation.admit(91 + seed, rng.choice((4, 8))) as job:
        words = {chunk: job.random_words(chunk) for chunk in range(12)}
        for step in range(400):
            left: list[PortFrame] = []
            if recirculation.waiting and rng.random() < 0.5:
                number = rng.randrange(len(recirculation.waiting))
                kept = rng.random()
                frame = recirculation.waiting[number] if kept < 0.2 else recirculation.waiting.pop(number)
                if kept < 0.9:
                    left = recirculation.enter(*frame)
            else:
                chunk, worker = max(0, step // 40 + rng.choice((0, 0, 0, 1, -1))), rng.randrange(job.workers)
                place = Place(0, chunk, chunk % 2, chunk // 2 % 2)
                left = recirculation.enter(*job.contribution(worker, words[chunk][worker], place))
            found += _exact_results(job, left, words)
    assert found


def test_lost_and_reordered_passes_give_exact_sums_only() -> None:
    """With several passes, contributions and partial sums of several chunks are in different passes at a time."""
    rng = random.Random(0)
    found = 0
    with _recirculation("tofino2-w256") as recirculation, recirculation.admit(95, 4) as job:
        words = {chunk: job.random_words(chunk) for chunk in range(8)}
        for step in range(800):
            left: list[PortFrame] = []
            if recirculation.waiting and rng.random() < 0.9:
                number = rng.randrange(len(recirculation.waiting)) if rng.random() < 0.05 else 0
                frame = recirculation.waiting.pop(number)
                if rng.random() < 0.99:
                    left = recirculation.enter(*frame)
            else:
                chunk, worker = max(0, step // 100 + rng.choice((0, 0, 0, -1))), rng.randrange(job.workers)
                place = Place(0, chunk, chunk % 2, chunk // 2 % 2)
                left = recirculation.enter(*job.contribution(worker, words[chunk][worker], place))
            found += _exact_results(job, left, words)
    assert found
