# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Random scenarios from a seed: small, so that many of them run, and of every kind."""

from __future__ import annotations

import random
from dataclasses import dataclass

from lanesum.protocol.lanes import LaneOp
from lanesum.simulator.points import MAX_WORKERS
from lanesum.simulator.scenario import AGGREGATOR, SWITCH, JobPlan, Line, Rates, RoundPlan, Scenario, Stray, WorkerPlan
from lanesum.simulator.strays import KINDS

_OPS = tuple(LaneOp)
# Contributions without faults that a scenario is about; many workers get few chunks.
_CONTRIBUTIONS = 14


@dataclass(frozen=True)
class _Shape:
    """What the jobs of a line are like; tuples are chosen from."""

    workers: tuple[int, ...]
    slots: tuple[int, ...]
    incarnations: tuple[int, ...]
    contributions: float  # times the usual number
    crowds: bool = False  # now and then any number of workers


_PLAIN = _Shape((1, 2, 2, 2, 2, 3, 3, 3, 4, 5), (1, 1, 2, 2, 3, 4, 5), (1, 1, 2, 2, 3), 1.0, crowds=True)
# Windows so wide that later packets overtake lost ones.
_WIDE = _Shape((2,), tuple(range(10, 17)), (1, 2), 2.0)
# Entries that come round again while old packets are still under way.
_TURNING = _Shape((1, 2, 2, 3), (1, 1, 1, 2), (1,), 1.4)
_SHAPES = (*[_PLAIN] * 15, *[_TURNING] * 3, _WIDE)
_EPOCHS = (0, 0, (1 << 32) - 1, (1 << 32) - 2, (1 << 31) - 1, (1 << 31) - 2)


def draw_scenario(seed: int) -> Scenario:
    """The scenario of a seed."""
    rng = random.Random(seed)
    point = SWITCH if rng.random() < 0.15 else AGGREGATOR
    shape = rng.choice(_SHAPES)
    lines = 1 if shape is _TURNING else rng.choice((1, 1, 1, 2, 2, 3))
    # Traps of numbering: the same tags in every line, no tag or job that is special.
    tags = [rng.choice((0, 1, rng.getrandbits(32))), rng.getrandbits(32), 0xFFFFFFFF]
    contributions = shape.contributions * max(4, _CONTRIBUTIONS // lines)
    planned = tuple(_line(rng, line, tags, shape, contributions) for line in range(lines))
    strays = tuple(_stray(rng, lines) for _ in range(rng.choice((0, 0, 1, 3, 6))))
    return Scenario(
        point=point,
        lines=planned,
        accumulator_words=rng.choice((2, 2, 4)),
        strays=strays,
        rates=_rates(rng, shape),
    )


def _line(rng: random.Random, line: int, tags: list[int], shape: _Shape, contributions: float) -> Line:
    incarnations = rng.choice(shape.incarnations)
    share = max(2, contributions / incarnations)
    jobs: list[JobPlan] = []
    first_epoch = rng.choice(_EPOCHS)
    workers, slots = _workers(rng, shape), rng.choice(shape.slots)
    for number in range(incarnations):
        if rng.random() < 0.3:
            workers, slots = _workers(rng, shape), rng.choice((slots, rng.choice(shape.slots)))
        # The slots pass to another job now and then; otherwise the same one comes back under a new tag.
        job, tag = line, tags[(line + number) % len(tags)]
        if number > 0 and rng.random() < 0.25:
            job, tag = 10 + 10 * line + number, rng.choice((tag, jobs[-1].tag))
        chunks = max(1, int(share / workers), slots + 2 if shape is _WIDE else 1)
        jobs.append(
            JobPlan(
                job=job,
                tag=tag,
                slots=slots,
                window=rng.choice((1, 2, slots, slots, 64)),
                rounds=_rounds(rng, chunks),
                workers=tuple(_worker(rng) for _ in range(workers)),
                # Mostly the same as before, so that only the tag tells the successor's chunks from its predecessor's.
                first_epoch=first_epoch if rng.random() < 0.8 else rng.getrandbits(32),
                abort_s=round(10 ** rng.uniform(-3.5, -0.5), 6) if rng.random() < 0.25 else None,
                linger_s=rng.choice((0.0, 0.0, 0.01)),
            )
        )
    return Line(tuple(jobs), round(rng.choice((0.0, 0.0, rng.random() * 0.01)), 6))


def _workers(rng: random.Random, shape: _Shape) -> int:
    if shape.crowds and rng.random() < 0.1:
        return rng.randrange(1, MAX_WORKERS + 1)
    return rng.choice(shape.workers)


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


def _rates(rng: random.Random, shape: _Shape) -> Rates:
    if shape is _TURNING:
        longest_delay_s = rng.choice((1e-3, 4e-3, 1e-2))
        return Rates(rng.choice((0.0, 0.02)), 0.4, 0.1, rng.choice((0.0, 0.02)), longest_delay_s)
    return Rates(
        lose=rng.choice((0.0, 0.02, 0.1, 0.3)),
        duplicate=rng.choice((0.0, 0.1, 0.2)),
        delay=rng.choice((0.0, 0.1, 0.3)),
        conflict=rng.choice((0.0, 0.0, 0.02)),
        longest_delay_s=rng.choice((1e-3, 1e-2, 0.1, 0.4)),
    )
