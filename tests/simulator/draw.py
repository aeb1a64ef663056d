# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Random scenarios from a seed: small, so that many of them run, and of every kind."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from lanesum.protocol.lanes import LaneOp, certified_data_words
from tests.simulator.layout import MAX_WORKERS
from tests.simulator.scenario import (
    AT_UPPER,
    ONE_SWITCH,
    RACKS,
    SERVER,
    SERVER_ALONE,
    SERVERS,
    UPPER,
    JobPlan,
    Kill,
    Line,
    MemoryFlip,
    Mismatch,
    Rates,
    Resize,
    RoundPlan,
    Scenario,
    Stray,
    WorkerPlan,
    rack_switch,
)
from tests.simulator.strays import KINDS, KINDS_WITHOUT_SWITCHES

_OPS = (LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.TABLE8, LaneOp.ADD8X4, LaneOp.OR, LaneOp.MAX)
# Operations added later; some of them need packets of four or eight words.
_LATER_OPS = tuple(op for op in LaneOp if op not in _OPS)
# Contributions of a scenario without faults; many workers get few chunks.
_CONTRIBUTIONS = {SERVER_ALONE: 14, ONE_SWITCH: 11, RACKS: 10}
# Cheap networks more often: a switch costs frame headers, racks cost two switches.
_NETWORKS = (*[SERVER_ALONE] * 9, *[ONE_SWITCH] * 6, *[RACKS] * 5)


@dataclass(frozen=True)
class _Shape:
    """Parameters of the jobs of a line; one element of each tuple is chosen."""

    workers: tuple[int, ...]
    slots: tuple[int, ...]
    incarnations: tuple[int, ...]
    contributions: float  # times the usual number
    crowds: bool = False  # sometimes any number of workers


_PLAIN = _Shape((1, 2, 2, 2, 2, 3, 3, 3, 4, 5), (1, 1, 2, 2, 3, 4, 5), (1, 1, 2, 2, 3), 1.0, crowds=True)
# Windows so wide that later packets arrive before the retransmission of lost ones.
_WIDE = _Shape((2,), tuple(range(10, 17)), (1, 2), 2.0)
# Entries that are reused while old packets are still in flight.
_TURNING = _Shape((1, 2, 2, 3), (1, 1, 1, 2), (1,), 1.4)
# A quorum continues without a worker for more decisions than the server keeps, and the server is killed.
_BEHIND = _Shape((2, 2, 3), (1, 1, 2), (1,), 2.0)
# Windows shrink because full queues mark packets, while slots become free in another order at every worker: a deadlock
# would take many turns.
_CROWDED = _Shape((2, 2, 2, 3), (2, 3, 4, 4, 5), (1,), 4.0)
_SHAPES = (*[_PLAIN] * 15, *[_TURNING] * 3, *[_BEHIND] * 2, *[_CROWDED] * 3, _WIDE)
_EPOCHS = (0, 0, (1 << 32) - 1, (1 << 32) - 2, (1 << 31) - 1, (1 << 31) - 2)


def draw_scenario(seed: int, *, certified: bool = False) -> Scenario:
    """Return the scenario of a seed; ``certified``: with check words and flipped bits."""
    drawing = _Drawing(random.Random(seed))
    scenario = drawing.scenario()
    scenario = drawing.with_check_words(scenario) if certified else scenario
    return drawing.with_gathered_rounds(scenario)


class _Drawing:
    """Draws all values from one generator in one order."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._network = rng.choice(_NETWORKS)
        self._shape = rng.choice(_SHAPES)
        self._homes = tuple(self._draw_homes())
        self._switches = self._draw_switches()

    def scenario(self) -> Scenario:
        rng, shape = self._rng, self._shape
        lines = 1 if shape in (_TURNING, _BEHIND, _CROWDED) else rng.choice((1, 1, 1, 2, 2, 3))
        pool = self._network != SERVER_ALONE and rng.random() < 0.2
        if pool:
            lines = max(2, lines)
        # Edge cases of numbering: equal tags in every line, no reserved tag or job.
        tags = [rng.choice((0, 1, rng.getrandbits(32))), rng.getrandbits(32), 0xFFFFFFFF]
        usual = _CONTRIBUTIONS[self._network]
        contributions = shape.contributions * max(4, usual // lines)
        kills = self._kills()
        planned = tuple(self._line(line, tags, contributions, pool) for line in range(lines))
        kinds = KINDS_WITHOUT_SWITCHES if self._network == SERVER_ALONE else KINDS
        scenario = Scenario(
            network=self._network,
            lines=planned,
            homes=self._homes,
            accumulator_words=rng.choice((2, 2, 4)),
            trunk_s=rng.choice((2e-5, 2e-5, 1e-4, 1e-3)),
            kills=kills,
            resizes=self._resizes(planned),
            strays=tuple(self._stray(lines, kinds) for _ in range(rng.choice((0, 0, 1, 3, 6)))),
            rates=self._rates(),
        )
        scenario = self._with_servers(scenario) if rng.random() < 0.3 else scenario
        scenario = self._with_later_operations(scenario) if rng.random() < 0.3 else scenario
        scenario = self._with_rounds_in_flight(scenario) if rng.random() < 0.5 else scenario
        return self._with_scattered_rounds(scenario) if rng.random() < 0.4 else scenario

    def with_check_words(self, scenario: Scenario) -> Scenario:
        """Certify all rounds, and let bits flip. The packets are as many, with more words."""
        rng = self._rng
        workers = max(len(job.workers) for line in scenario.lines for job in line.jobs)
        # OR and MAX carry all words twice, and one word of each worker.
        words = next(size for size in (8, 16, 24) if size >= workers + 2)
        lines = tuple(
            replace(line, jobs=tuple(self._certified(job, scenario.accumulator_words, words) for job in line.jobs))
            for line in scenario.lines
        )
        nodes = (*self._switches, *SERVERS[: scenario.servers])
        flips = tuple(
            MemoryFlip(round(10 ** rng.uniform(-4, -1), 6), rng.choice(nodes), rng.getrandbits(32))
            for _ in range(rng.choice((0, 1, 2, 4, 8)))
        )
        rates = replace(scenario.rates, flip=rng.choice((0.0, 0.02, 0.05, 0.1)))
        return replace(scenario, lines=lines, accumulator_words=words, flips=flips, rates=rates)

    def _certified(self, job: JobPlan, before: int, words: int) -> JobPlan:
        """Return the job with check words, and operations that have them."""
        ops = [op for op in LaneOp if not op.shape.lookup and op.shape.fills(words)]
        ops = [op for op in ops if certified_data_words(op, words, len(job.workers))]
        rounds = []
        for one in job.rounds:
            op = one.op if one.op in ops and self._rng.random() < 0.5 else self._rng.choice(ops)
            chunks = -(-one.words // one.op.shape.uplink_words(before))
            size = op.shape.uplink_words(certified_data_words(op, words, len(job.workers)))
            fewer = op.shape.uplink_words_per_group * self._rng.choice((0, 0, 1))
            # With a quorum, a flipped header may name the wrong contributors to a worker that gets no words to check.
            scattered = one.scattered and not job.quorum
            rounds.append(RoundPlan(op, max(chunks and 1, chunks * size - fewer), scattered))
        mismatch = job.mismatch
        if mismatch is not None:
            one = rounds[mismatch.number]
            op = self._rng.choice(ops)
            # One more group of words, which may need one more packet.
            mismatch = replace(mismatch, op=op, words=one.words + op.shape.uplink_words_per_group)
        return replace(job, rounds=tuple(rounds), mismatch=mismatch, certified=True)

    def _with_later_operations(self, scenario: Scenario) -> Scenario:
        """Use later operations: as many packets with more words. Drawn late, as the servers are."""
        words = max(scenario.accumulator_words, self._rng.choice((2, 4, 8)))
        lines = tuple(
            replace(line, jobs=tuple(self._with_rounds(job, scenario.accumulator_words, words) for job in line.jobs))
            for line in scenario.lines
        )
        return replace(scenario, lines=lines, accumulator_words=words)

    def _with_rounds(self, job: JobPlan, before: int, words: int) -> JobPlan:
        """Use other operations in some rounds, except rounds with a mismatch."""
        rng, rounds = self._rng, []
        for one in job.rounds:
            chunks = -(-one.words // one.op.shape.uplink_words(before))
            op = rng.choice([op for op in _LATER_OPS if op.shape.fills(words)]) if rng.random() < 0.7 else one.op
            group = op.shape.uplink_words_per_group
            fewer = group * rng.choice((0, 0, 1))
            rounds.append(RoundPlan(op, max(chunks and group, chunks * op.shape.uplink_words(words) - fewer)))
        return job if job.mismatch else replace(job, rounds=tuple(rounds))

    def _with_servers(self, scenario: Scenario) -> Scenario:
        """Use several servers. Drawn late, so that older seeds keep their other values."""
        rng = self._rng
        servers = rng.choice((2, 2, 3))
        kills = tuple(
            replace(kill, node=rng.choice(SERVERS[:servers])) if kill.node == SERVER else kill
            for kill in scenario.kills
        )
        return replace(scenario, servers=servers, kills=kills)

    def _with_rounds_in_flight(self, scenario: Scenario) -> Scenario:
        """Use workers with several rounds in flight, a different number at each worker."""
        rng = self._rng

        def keen(job: JobPlan) -> JobPlan:
            deep = rng.choice((2, 3))
            return replace(
                job,
                workers=tuple(replace(one, in_flight=rng.choice((1, deep, deep))) for one in job.workers),
            )

        lines = tuple(replace(line, jobs=tuple(keen(job) for job in line.jobs)) for line in scenario.lines)
        return replace(scenario, lines=lines)

    def _with_scattered_rounds(self, scenario: Scenario) -> Scenario:
        """Scatter some rounds of jobs without a mismatch: about as many chunks, and at least one for each worker."""

        def scattered(one: RoundPlan, workers: int) -> RoundPlan:
            group = one.op.shape.uplink_words_per_group
            return RoundPlan(one.op, -(-one.words // (workers * group)) * group, scattered=True)

        def some(job: JobPlan) -> JobPlan:
            rounds = [
                scattered(one, len(job.workers)) if self._rng.random() < 0.6 and not job.mismatch else one
                for one in job.rounds
            ]
            return replace(job, rounds=tuple(rounds))

        lines = tuple(replace(line, jobs=tuple(some(job) for job in line.jobs)) for line in scenario.lines)
        return replace(scenario, lines=lines)

    def with_gathered_rounds(self, scenario: Scenario) -> Scenario:
        """Gather in some rounds of some jobs without a quorum or a mismatch. Drawn last; about as many chunks."""
        rng = self._rng
        if rng.random() >= 0.3:
            return scenario

        def gathered(one: RoundPlan, job: JobPlan) -> RoundPlan:
            workers, words = len(job.workers), scenario.accumulator_words
            ops = [LaneOp.ADD32, LaneOp.OR, LaneOp.MAX, LaneOp.ADD8X4]
            if job.certified:
                ops = [op for op in ops if certified_data_words(op, words, workers)]
            op = rng.choice(ops)
            size = certified_data_words(op, words, workers) if job.certified else words
            chunks = -(-one.words // one.op.shape.uplink_words(words)) * (workers if one.scattered else 1)
            turns = -(-chunks // workers)
            return RoundPlan(op, max(turns and 1, turns * size - rng.choice((0, 0, 1))), gathered=True)

        def some(job: JobPlan) -> JobPlan:
            if job.quorum or job.mismatch:
                return job
            return replace(job, rounds=tuple(gathered(x, job) if rng.random() < 0.6 else x for x in job.rounds))

        lines = tuple(replace(line, jobs=tuple(some(job) for job in line.jobs)) for line in scenario.lines)
        return replace(scenario, lines=lines)

    def _draw_homes(self) -> list[int]:
        if self._network != RACKS:
            return [0] * MAX_WORKERS
        rng = self._rng
        racks = rng.choice((2, 2, 2, 3, 4))
        homes: list[int] = [host % racks for host in range(MAX_WORKERS)]
        if rng.random() < 0.3:
            rng.shuffle(homes)
        if rng.random() < 0.15:
            homes[rng.randrange(4)] = AT_UPPER
        return homes

    def _draw_switches(self) -> tuple[str, ...]:
        if self._network == RACKS:
            return (*(rack_switch(home) for home in sorted(set(self._homes[:2]) - {AT_UPPER})), UPPER)
        return (rack_switch(0),) if self._network == ONE_SWITCH else ()

    def _line(self, line: int, tags: list[int], contributions: float, pool: bool) -> Line:
        rng, shape = self._rng, self._shape
        incarnations = rng.choice(shape.incarnations)
        share = max(2, contributions / incarnations)
        jobs: list[JobPlan] = []
        first_epoch = rng.choice(_EPOCHS)
        workers, slots = self._workers(), rng.choice(shape.slots)
        for number in range(incarnations):
            if rng.random() < 0.3:
                workers, slots = self._workers(), rng.choice((slots, rng.choice(shape.slots)))
            # Sometimes the slots pass to another job; otherwise the same job returns with a new tag.
            job, tag = line, tags[(line + number) % len(tags)]
            if number > 0 and rng.random() < 0.25:
                job, tag = 10 + 10 * line + number, rng.choice((tag, jobs[-1].tag))
            chunks = max(1, int(share / workers), slots + 2 if shape is _WIDE else 1)
            jobs.append(
                self._job(
                    job=job,
                    tag=tag,
                    slots=slots,
                    rounds=self._rounds(chunks),
                    workers=workers,
                    # Mostly equal plans: then only the tag distinguishes the chunks of the successor.
                    first_epoch=first_epoch if rng.random() < 0.8 else rng.getrandbits(32),
                )
            )
        start_s = round(rng.choice((0.0, 0.0, rng.random() * 0.01)), 6)
        return Line(tuple(jobs), start_s, rng.choice((0, 1, 10, 100, 1000)) if pool else None)

    def _job(
        self, *, job: int, tag: int, slots: int, rounds: tuple[RoundPlan, ...], workers: int, first_epoch: int
    ) -> JobPlan:
        rng = self._rng
        quorum = rng.randrange(1, workers + 1) if workers > 1 and rng.random() < 0.3 else 0
        plans = [self._worker(worker) for worker in range(workers)]
        if self._shape is _BEHIND:
            quorum = rng.randrange(1, workers)
            plans[-1] = replace(plans[-1], start_s=round(rng.uniform(0.05, 0.3), 6))
        elif quorum:
            for worker in rng.sample(range(workers), workers - quorum):
                if rng.random() < 0.3:
                    dies_s = round(rng.choice((0.0, 10 ** rng.uniform(-4, -1))), 6)
                    plans[worker] = replace(plans[worker], dies_s=dies_s)
        left_out = tuple(name for name in self._switches if rng.random() < 0.06)
        return JobPlan(
            job=job,
            tag=tag,
            slots=slots,
            window=64 if self._shape is _CROWDED else rng.choice((1, 2, slots, slots, 64)),
            rounds=rounds,
            workers=tuple(plans),
            first_epoch=first_epoch,
            quorum=quorum,
            kept_results=rng.choice((1, 4, 8, 64)),
            slots_on_switch=rng.randrange(slots + 1) if self._switches and rng.random() < 0.12 else None,
            left_out=left_out,
            upper_ascends=self._network == RACKS and rng.random() < 0.1,
            congestion="aimd" if self._shape is _CROWDED else rng.choice(("aimd", "fixed")),
            mismatch=self._mismatch(workers, rounds) if not quorum and workers > 1 and rng.random() < 0.03 else None,
            abort_s=round(10 ** rng.uniform(-3.5, -0.5), 6) if rng.random() < 0.2 else None,
            linger_s=rng.choice((0.0, 0.0, 0.01)),
        )

    def _mismatch(self, workers: int, rounds: tuple[RoundPlan, ...]) -> Mismatch:
        rng = self._rng
        number = rng.randrange(len(rounds))
        one = rounds[number]
        if rng.random() < 0.5:
            other = rng.choice([op for op in _OPS if op is not one.op])
            return Mismatch(rng.randrange(workers), number, other, one.words)
        return Mismatch(rng.randrange(workers), number, one.op, one.words + rng.choice((1, 2, 5)))

    def _workers(self) -> int:
        if self._shape.crowds and self._rng.random() < 0.06:
            return self._rng.randrange(1, MAX_WORKERS + 1)
        return self._rng.choice(self._shape.workers)

    def _rounds(self, chunks: int) -> tuple[RoundPlan, ...]:
        """Return rounds with about ``chunks`` chunks together, including empty ones and partial packets."""
        rng = self._rng
        rounds: list[RoundPlan] = []
        while chunks > 0 and len(rounds) < 5:
            size = min(chunks, rng.choice((1, 1, 2, 3, 5, chunks)))
            chunks -= size
            op = rng.choice(_OPS)
            # The smallest packets have two accumulator words.
            per_packet = op.shape.uplink_words(2)
            rounds.append(RoundPlan(op, max(1, size * per_packet - rng.choice((0, 0, 1)))))
            if rng.random() < 0.05:
                rounds.append(RoundPlan(op, 0))
        return tuple(rounds)

    def _worker(self, host: int) -> WorkerPlan:
        rng = self._rng
        start_s = rng.choice((0.0, 0.0, 0.0, rng.random() * 1e-3, rng.random() * 0.15))
        latency_s = rng.choice((1e-4, 1e-4, 5e-5, 3e-4, rng.random() * 5e-3))
        pace_s = rng.choice((1e-5, 1e-5, 1e-4, 2e-3))
        pauses: tuple[tuple[float, float], ...] = ()
        if rng.random() < 0.08:
            pauses = ((round(rng.random() * 0.02, 6), round(rng.random() * 0.2, 6)),)
        return WorkerPlan(host, round(start_s, 6), round(latency_s, 6), pace_s, pauses)

    def _kills(self) -> tuple[Kill, ...]:
        rng = self._rng
        if self._shape is _BEHIND:
            at_s = round(rng.uniform(0.01, 0.3), 6)
            return (Kill(at_s, SERVER, 0.0, 0.0, rng.choice((0.0, 0.01))),)
        if rng.random() >= 0.3:
            return ()
        return tuple(self._kill() for _ in range(rng.choice((1, 1, 1, 2, 3))))

    def _kill(self) -> Kill:
        rng = self._rng
        node = rng.choice((*self._switches, *self._switches, SERVER))
        down_s = rng.choice((0.0, round(10 ** rng.uniform(-4, -0.5), 6)))
        routes_s = rng.choice((0.0, round(10 ** rng.uniform(-4, -1), 6)))
        jobs_s = rng.choice((0.0, round(10 ** rng.uniform(-4, -0.5), 6)))
        return Kill(round(10 ** rng.uniform(-4, -1), 6), node, down_s, 0.0 if node == SERVER else routes_s, jobs_s)

    def _resizes(self, lines: tuple[Line, ...]) -> tuple[Resize, ...]:
        rng = self._rng
        if not self._switches or rng.random() >= 0.12:
            return ()
        made = []
        for _ in range(rng.choice((1, 2, 3))):
            line = rng.randrange(len(lines))
            slots = rng.randrange(lines[line].slots + 1)
            at_s = round(10 ** rng.uniform(-4, -1), 6)
            made.append(Resize(at_s, rng.choice(self._switches), line, slots, rng.random() < 0.5))
        return tuple(made)

    def _stray(self, lines: int, kinds: tuple[str, ...]) -> Stray:
        rng = self._rng
        at_s = round(10 ** rng.uniform(-4, -1), 7)
        return Stray(at_s, rng.choice(kinds), rng.randrange(lines), rng.choice((0, 0, 1, 2)), rng.randrange(1000))

    def _rates(self) -> Rates:
        rng = self._rng
        corrupt = 0.0 if self._network == SERVER_ALONE else rng.choice((0.0, 0.0, 0.03))
        if self._shape is _TURNING:
            longest_delay_s = rng.choice((1e-3, 4e-3, 1e-2))
            return Rates(rng.choice((0.0, 0.02)), 0.4, 0.1, corrupt, 0.0, longest_delay_s)
        if self._shape is _CROWDED:
            mark = 0.0 if self._network == SERVER_ALONE else 0.2
            lose, duplicate, delay = rng.choice(((0.0, 0.1, 0.3), (0.1, 0.0, 0.6), (0.3, 0.0, 0.6)))
            return Rates(lose, duplicate, delay, corrupt, mark, rng.choice((2e-3, 5e-3)))
        # A packet over several links can meet the faults of each of them.
        worst = 0.3 if self._network == SERVER_ALONE else 0.15
        return Rates(
            lose=rng.choice((0.0, 0.02, 0.1, worst, 0.3)),
            duplicate=rng.choice((0.0, 0.1, 0.2)),
            delay=rng.choice((0.0, 0.1, 0.3)),
            corrupt=corrupt,
            mark=0.0 if self._network == SERVER_ALONE else rng.choice((0.0, 0.0, 0.1)),
            longest_delay_s=rng.choice((1e-3, 1e-2, 0.1, 0.4)),
        )
