# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Workers of one job in virtual time, with a server, a switch-like aggregation point and a faulty network."""

from __future__ import annotations

import dataclasses
import functools
import heapq
import itertools
import random
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.combine import combine, expand
from lanesum.protocol import Flag, Header, Kind, LaneOp, Packet
from lanesum.protocol.spec import HEADER_BYTES, SCATTERED
from lanesum.server import Aggregator, ServerJob
from lanesum.server.jobs import DEFAULT_KEPT_RESULTS
from lanesum.transport import JobTicket, TransportStats
from lanesum.transport.errors import TransportError
from lanesum.transport.native_engine import AnyRoundSequence, AnyRoundState, make_round_sequence

Words = NDArray[np.uint32]
Plan = list[tuple[LaneOp, Words]]

PATH_S = 1e-4
# Far beyond the time of any run: a run that reaches it would never end.
NEVER_S = 600.0


def ticket(worker: int = 0, workers: int = 2, **fields: Any) -> JobTicket:
    values: dict[str, Any] = {"job": 7, "tag": 0xC0FFEE, "slots": 4, "accumulator_words": 2, **fields}
    return JobTicket(worker=worker, workers=workers, local=("10.0.0.1", 1000 + worker), **values)


def answer(to: JobTicket, kind: Kind = Kind.RESULT, *, payload: list[int] | None = None, **fields: Any) -> bytes:
    """Return a datagram of an aggregation point; a result has zeros unless ``payload`` is given."""
    if payload is None:
        payload = [0] * to.accumulator_words if kind == Kind.RESULT else []
    values: dict[str, Any] = {"job": to.job, "tag": to.tag, "op": LaneOp.ADD32, **fields}
    return Packet(Header(kind=kind, **values), np.array(payload, np.uint32)).pack()


def read(datagrams: list[memoryview]) -> list[Header]:
    return [Header.unpack(datagram) for datagram in datagrams]


def expected(op: LaneOp, contributions: list[Words], table: bytes | None = None) -> Words:
    """Return the result of a round over these workers."""
    total = expand(op, contributions[0], table)
    for words in contributions[1:]:
        total = combine(op, total, expand(op, words, table))
    return total


@dataclass
class Worker:
    """One worker's rounds, run as ``UdpTransport`` runs them."""

    ticket: JobTicket
    plan: Plan
    rounds: AnyRoundSequence
    starts_at: float = 0.0
    round: AnyRoundState | None = None
    results: list[Words] = field(default_factory=list)
    contributors: list[NDArray[np.uint32]] = field(default_factory=list)
    error: TransportError | None = None
    gone: bool = False  # its process has ended

    @property
    def done(self) -> bool:
        return self.error is not None or len(self.results) == len(self.plan)

    @property
    def stats(self) -> TransportStats:
        return self.rounds.stats


# Returns True if a datagram is lost. Arguments: worker, True for one that it sends, header.
Lost = Callable[[int, bool, Header], bool]
# Returns a datagram behind all checksums of its way, perhaps with a wrong bit. Arguments: True for one that a worker
# sends, datagram.
Flip = Callable[[bool, bytes], bytes]


class VirtualJob:
    """Runs ``plans[w]`` at worker ``w`` until all have ended.

    Args:
        plans: rounds of every worker.
        seed, loss, duplicates, jitter_s: of the network; shares of datagrams, and the longest extra delay.
        lost: decides about further losses.
        flip: changes datagrams.
        switch: contributions without BYPASS go to an aggregation point of their own, which stands for a switch.
        unknown: workers whose contributions the switch does not consume, but routes to the server.
        starts: times at which workers begin, by number.
        pause_s: the longest time between two rounds of a worker.
        packet_s: time of a packet on a worker's link, in each direction.
        history: results that the server keeps.
        scattered: rounds, by number, whose sums go to the owners of their chunks; a switch sends them to all.
        gathered: rounds, by number, in which all workers get the words of all; they pass by the switch.
        fields: of the tickets.
    """

    def __init__(
        self,
        plans: list[Plan],
        *,
        seed: int = 0,
        loss: float = 0.0,
        duplicates: float = 0.0,
        jitter_s: float = 0.0,
        lost: Lost | None = None,
        flip: Flip | None = None,
        switch: bool = False,
        unknown: Collection[int] = (),
        starts: dict[int, float] | None = None,
        pause_s: float = 0.0,
        packet_s: float = 0.0,
        window: int = 64,
        history: int = DEFAULT_KEPT_RESULTS,
        scattered: Collection[int] = (),
        gathered: Collection[int] = (),
        **fields: Any,
    ) -> None:
        self.tickets = [ticket(worker, len(plans), **fields) for worker in range(len(plans))]
        self.workers = [
            Worker(one, plan, make_round_sequence(one, window=window), (starts or {}).get(one.worker, 0.0))
            for one, plan in zip(self.tickets, plans, strict=True)
        ]
        self.now = 0.0
        self._history = history
        self.scattered, self.gathered = scattered, gathered
        self._unknown = unknown
        self._random = random.Random(seed)
        self._shares = loss, duplicates, jitter_s
        self._pause_s = pause_s
        self._packet_s = packet_s
        self._link_free_at: dict[tuple[int, bool], float] = {}
        self._lost = lost or (lambda _worker, _sends, _header: False)
        self._flip = flip or (lambda _sends, datagram: datagram)
        self._numbers = itertools.count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self.server = self.new_point()
        self.switch = self.new_point() if switch else None
        for worker in self.workers:
            self.at(worker.starts_at, functools.partial(self._begin, worker))

    def new_point(self) -> Aggregator:
        point = Aggregator()
        point.admit(dataclasses.replace(ServerJob.from_tickets(self.tickets), kept_results=self._history))
        return point

    def restart(self) -> None:
        """Restart the points: they lose everything but the job."""
        self.server = self.new_point()
        self.switch = None if self.switch is None else self.new_point()

    def at(self, when: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (when, next(self._numbers), event))

    def run(self, until: float = NEVER_S) -> None:
        """Run until all workers have ended, or until a time."""
        while not all(worker.done for worker in self.workers) and self.now < until:
            self.now, _, event = heapq.heappop(self._events)
            assert self.now < NEVER_S, [worker.rounds.missing_workers() for worker in self.workers]
            event()

    def _begin(self, worker: Worker) -> None:
        number = len(worker.results)
        kind = {"scattered": number in self.scattered, "gathered": number in self.gathered}
        worker.round = worker.rounds.start(*worker.plan[number], **kind)
        self._send(worker)

    def _send(self, worker: Worker) -> None:
        self._send_all(worker, worker.rounds.due(self.now))
        left_s = worker.rounds.next_timeout(self.now)
        if left_s is not None and not worker.gone:
            self.at(self.now + left_s + 1e-6, lambda: self._wake(worker))

    def _send_all(self, worker: Worker, datagrams: list[memoryview]) -> None:
        for datagram in datagrams:
            self._travel(worker, bytes(datagram), True)

    def _wake(self, worker: Worker) -> None:
        if not worker.gone and worker.rounds.next_timeout(self.now) == 0:
            self._send(worker)

    def _travel(self, worker: Worker, datagram: bytes, sends: bool) -> None:
        loss, duplicates, jitter_s = self._shares
        if self._lost(worker.ticket.worker, sends, Header.unpack(datagram)):
            return
        datagram = self._flip(sends, datagram)
        arrive = self._at_point if sends else self._at_worker
        link = worker.ticket.worker, sends
        left = self._link_free_at[link] = max(self.now, self._link_free_at.get(link, 0.0)) + self._packet_s
        for _ in range(2 if self._random.random() < duplicates else 1):
            if self._random.random() < loss:
                continue
            when = left + PATH_S + self._random.random() * jitter_s
            self.at(when, functools.partial(arrive, worker, datagram))

    def _at_point(self, worker: Worker, datagram: bytes) -> None:
        bypass = Header.unpack(datagram).flags & Flag.BYPASS or worker.ticket.worker in self._unknown
        by_switch = self.switch is not None and not bypass
        point = self.switch if by_switch and self.switch is not None else self.server
        by_address = {one.ticket.local: one for one in self.workers}
        datagram = _without_owner(datagram) if by_switch else datagram
        for receiver, made in point.handle(worker.ticket.local, datagram):
            self._travel(by_address[receiver], self._from_switch(made) if by_switch else made, False)

    @staticmethod
    def _from_switch(made: bytes) -> bytes:
        """Return an answer as a switch makes it: without BYPASS."""
        packet = Packet.unpack(made)
        packet.header.flags &= ~Flag.BYPASS
        return packet.pack()

    def _at_worker(self, worker: Worker, datagram: bytes) -> None:
        if worker.gone or worker.error is not None or self.now < worker.starts_at:
            return
        try:
            worker.rounds.receive(datagram, self.now)
        except TransportError as error:
            worker.error = error
            self._send_all(worker, worker.rounds.final_datagrams())
            return
        round_ = worker.round
        if round_ is not None and round_.complete:
            worker.results.append(round_.result())
            worker.contributors.append(round_.contributors().copy())
            worker.rounds.finish(round_)
            worker.round = None
            if not worker.done:
                if self._pause_s:
                    begins_at = self.now + self._random.random() * self._pause_s
                    self.at(begins_at, functools.partial(self._begin, worker))
                else:
                    self._begin(worker)
        self._send(worker)


def random_plans(seed: int, workers: int, sizes: list[int], ops: tuple[LaneOp, ...] = (LaneOp.ADD32,)) -> list[Plan]:
    """Return the same rounds for all workers, each with words of its own."""
    generator = np.random.default_rng(seed)
    return [
        [(ops[number % len(ops)], generator.integers(0, 2**32, size, np.uint32)) for number, size in enumerate(sizes)]
        for _ in range(workers)
    ]


def check_sums(job: VirtualJob) -> None:
    """Check that all workers have the same contributors, and the exact sum over them."""
    first = job.workers[0]
    places = [one.place for one in job.tickets]
    for number, (op, words) in enumerate(first.plan):
        contributions = [worker.plan[number][1] for worker in job.workers]
        per_chunk = op.shape.uplink_words(first.ticket.data_words(op))
        per_result = op.shape.accumulator_words(per_chunk)
        named = first.contributors[number]
        for worker in job.workers:
            np.testing.assert_array_equal(worker.contributors[number], named)
        if number in job.scattered:
            _check_shards(job, number)
            continue
        if number in job.gathered:
            for worker in job.workers:
                np.testing.assert_array_equal(worker.results[number], np.stack(contributions))
            continue
        for chunk in range(-(-words.size // per_chunk)):
            members = [one for one, (rack, bit) in enumerate(places) if named[chunk, rack] >> bit & 1]
            assert len(members) >= (first.ticket.quorum or len(job.workers))
            part = slice(chunk * per_chunk, (chunk + 1) * per_chunk)
            exact = expected(op, [contributions[one][part] for one in members], first.ticket.code_table)
            for worker in job.workers:
                np.testing.assert_array_equal(worker.results[number][chunk * per_result :][: exact.size], exact)


def _without_owner(datagram: bytes) -> bytes:
    """Return a contribution without the mark of a scattered round, so that the sum goes to all, as from a switch."""
    header = Header.unpack(datagram)
    header.racks &= ~SCATTERED
    return header.pack() + datagram[HEADER_BYTES:]


def _check_shards(job: VirtualJob, number: int) -> None:
    """Check that each worker has the exact sum of its shard, over the contributors of each of its chunks."""
    (op, words), ticket = job.workers[0].plan[number], job.tickets[0]
    shard = words.size // len(job.workers)
    per_chunk = op.shape.uplink_words(ticket.data_words(op))
    for own, worker in enumerate(job.workers):
        assert worker.results[number].size == op.shape.accumulator_words(shard)
        for turn, start in enumerate(range(0, shard, per_chunk)):
            named = worker.contributors[number][turn * len(job.workers) + own]
            members = [one for one, place in enumerate(job.tickets) if named[place.place[0]] >> place.place[1] & 1]
            assert len(members) >= (ticket.quorum or len(job.workers))
            part = slice(own * shard + start, own * shard + min(start + per_chunk, shard))
            exact = expected(op, [job.workers[one].plan[number][1][part] for one in members], ticket.code_table)
            begin = op.shape.accumulator_words(start)
            np.testing.assert_array_equal(worker.results[number][begin : begin + exact.size], exact)
