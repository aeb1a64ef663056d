# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Random scenarios from a seed: small, so that many of them run, and of every kind."""

from __future__ import annotations

import random

from lanesum.protocol.lanes import LaneOp
from lanesum.simulator.points import MAX_WORKERS
from lanesum.simulator.scenario import AGGREGATOR, SWITCH, JobPlan, Line, Rates, RoundPlan, Scenario, Stray, WorkerPlan
from lanesum.simulator.strays import KINDS

_OPS = tuple(LaneOp)
_WORKERS = (1, 2, 2, 2, 2, 3, 3, 3, 4, 5)
_SLOTS = (1, 1, 2, 2, 3, 4, 5)
# Contributions without faults that a scenario is about; many workers get few chunks.
_CONTRIBUTIONS = 14
# Every so many scenarios a job has a window that is wide enough for packets to count as overtaken.
_WIDE = 16
_EPOCHS = (0, 0, (1 << 32) - 1, (1 << 32) - 2, (1 << 31) - 1, (1 << 31) - 2)


def draw_scenario(seed: int) -> Scenario:
    """The scenario of a seed."""
    rng = random.Random(seed)
    point = SWITCH if rng.random() < 0.15 else AGGREGATOR
    lines = rng.choice((1, 1, 1, 2, 2, 3))
    # Traps of numbering: the same tags in every line, no tag or job that is special.
    tags = [rng.choice((0, 1, rng.getrandbits(32))), rng.getrandbits(32), 0xFFFFFFFF]
    planned = tuple(_line(rng, line, tags, max(4, _CONTRIBUTIONS // lines)) for line in range(lines))
    strays = tuple(_stray(rng, lines) for _ in range(rng.choice((0, 0, 0, 1, 3))))
    return Scenario(
        point=point,
        lines=planned,
        accumulator_words=rng.choice((2, 2, 4)),
        strays=strays,
        rates=_rates(rng),
    )


def _line(rng: random.Random, line: int, tags: list[int], contributions: int) -> Line:
    incarnations = rng.choice((1, 1, 2, 2, 3))
    share = max(2, contributions // incarnations)
    jobs: list[JobPlan] = []
    first_epoch = rng.choice(_EPOCHS)
    wide = rng.randrange(_WIDE) == 0
    workers = _workers(rng, wide)
    slots = rng.randrange(10, 17) if wide else rng.choice(_SLOTS)
    for number in range(incarnations):
        if rng.random() < 0.3:
            workers, slots = _workers(rng, wide), rng.choice((slots, rng.choice(_SLOTS)))
        chunks = max(1, (2 if wide else 1) * share // workers)
        # The slots pass to another job now and then; otherwise the same one comes back under a new tag.
        job, tag = line, tags[(line + number) % len(tags)]
        if number > 0 and rng.random() < 0.25:
            job, tag = 10 + 10 * line + number, rng.choice((tag, jobs[-1].tag))
        jobs.append(
            JobPlan(
                job=job,
                tag=tag,
                slots=slots,
                window=rng.choice((1, 2, slots, slots, 64)),
                rounds=_rounds(rng, max(chunks, slots + 2 if wide else 1)),
                workers=tuple(_worker(rng) for _ in range(workers)),
                first_epoch=first_epoch,
                abort_s=round(10 ** rng.uniform(-3.5, -0.5), 6) if rng.random() < 0.25 else None,
                linger_s=rng.choice((0.0, 0.0, 0.01)),
            )
        )
    return Line(tuple(jobs), round(rng.choice((0.0, 0.0, rng.random() * 0.01)), 6))


def _workers(rng: random.Random, wide: bool) -> int:
    if wide:
        return 2
    return rng.randrange(1, MAX_WORKERS + 1) if rng.random() < 0.1 else rng.choice(_WORKERS)


def _rounds(rng: random.Random, chunks: int) -> tuple[RoundPlan, ...]:
    """Rounds with about ``chunks`` chunks together, empty ones and incomplete packets among them."""
    rounds: list[RoundPlan] = []
    while chunks > 0 and len(rounds) < 5:
        size = min(chunks, rng.choice((1, 1, 2, 3, 5, chunks)))
        chunks -= size
        op = rng.choice(_OPS)
        # The smallest packets: two accumulator words, one uplink word where it widens.
        per_packet = 1 if op in (LaneOp.EXPAND8, LaneOp.TABLE8) else 2
        rounds.append(RoundPlan(op, max(1, size * per_packet - rng.choice((0, 0, 1)))))
        if rng.random() < 0.05:
            rounds.append(RoundPlan(op, 0))
    return tuple(rounds)


def _worker(rng: random.Random) -> WorkerPlan:
    start_s = rng.choice((0.0, 0.0, 0.0, rng.random() * 1e-3, rng.random() * 0.15))
    latency_s = rng.choice((1e-4, 1e-4, 5e-5, 3e-4, rng.random() * 5e-3))
    pace_s = rng.choice((1e-5, 1e-5, 1e-4, 2e-3))
    pauses: tuple[tuple[float, float], ...] = ()
    if rng.random() < 0.08:
        pauses = ((round(rng.random() * 0.02, 6), round(rng.random() * 0.2, 6)),)
    return WorkerPlan(round(start_s, 6), round(latency_s, 6), pace_s, pauses)


def _stray(rng: random.Random, lines: int) -> Stray:
    at_s = round(10 ** rng.uniform(-4, -1), 7)
    return Stray(at_s, rng.choice(KINDS), rng.randrange(lines), rng.choice((0, 0, 1, 2)), rng.randrange(1000))


def _rates(rng: random.Random) -> Rates:
    return Rates(
        lose=rng.choice((0.0, 0.02, 0.1, 0.3)),
        duplicate=rng.choice((0.0, 0.1, 0.2)),
        delay=rng.choice((0.0, 0.1, 0.3)),
        conflict=rng.choice((0.0, 0.0, 0.02)),
        longest_delay_s=rng.choice((1e-3, 1e-2, 0.1, 0.4)),
    )
