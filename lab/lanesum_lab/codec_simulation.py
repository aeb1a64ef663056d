# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All workers of a job in one process, with exact integer aggregation: for tests, error figures and
examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lanesum.aggregation.combine import combine
from lanesum.codecs.base import (
    Aggregate,
    Codec,
    CodecContext,
    CodecError,
    Members,
    Part,
    Result,
    Round,
    RoundGroup,
    RoundShape,
    Steps,
    Vector,
    Words,
)
from lanesum.codecs.kernels.packing import lane_contribution
from lanesum.protocol.lanes import LaneOp


@dataclass
class Simulation:
    """Record of one simulated all-reduce.

    Attributes:
        results: result of each worker; one result where only the first worker decodes.
        rounds: shape of each round, in order. The rounds of a group follow each other.
        aggregates: accumulator words of each round.
        round_trips: number of rounds, with a group counted once.
    """

    results: list[Result]
    rounds: list[RoundShape] = field(default_factory=list)
    aggregates: list[Words] = field(default_factory=list)
    round_trips: int = 0

    @property
    def values(self) -> Vector:
        """Decoded vector of the first worker; those of the others have the same bits."""
        return self.results[0].values

    @property
    def uplink_words(self) -> int:
        """Words that each worker has sent."""
        return sum(shape.words for shape in self.rounds)


def aggregate(op: LaneOp, contributions: Sequence[Words]) -> Words:
    """Combine accumulator contributions (uint32, equal lengths) as a switch does: 32-bit adds that wrap, OR
    or MAX."""
    total = contributions[0].copy()
    for words in contributions[1:]:
        total = combine(op, total, words)
    return total


def simulate(
    codec: Codec | Sequence[Codec],
    vectors: Sequence[Vector],
    *,
    seed: int = 0,
    round: int = 0,
    tensor: str = "",
    average: bool = True,
    keep_residual: bool = False,
    contributors: Sequence[int] | None = None,
    parts: Sequence[Part] = (),
    complete: bool = False,
    alone: bool = False,
    adaptive: bool | Sequence[bool] = False,
) -> Simulation:
    """Run one all-reduce of ``vectors`` (one per worker) in lock step.

    ``codec``: one for all workers, or one per worker where they keep state (error feedback).
    ``contributors``: indices of the workers that the quorum let in, all of them by default.
    ``complete``: the job has no quorum. ``alone``: only the first worker decodes, where that is all that is wanted; the
    others are given up, and remember nothing of it. ``adaptive``: see CodecContext; one for all workers, or one per
    worker. Raises CodecError if the workers' rounds do not fit together, and whatever the codec raises.
    """
    workers = len(vectors)
    codecs = [codec] * workers if isinstance(codec, Codec) else list(codec)
    counted = list(range(workers)) if contributors is None else list(contributors)
    steps = [
        one.all_reduce(
            vector,
            CodecContext(
                workers=workers,
                worker=worker,
                seed=seed,
                round=round,
                tensor=tensor,
                average=average,
                keep_residual=keep_residual,
                complete=complete,
                parts=tuple(parts),
                adaptive=adaptive if isinstance(adaptive, bool) else adaptive[worker],
            ),
        )
        for worker, (one, vector) in enumerate(zip(codecs, vectors, strict=True))
    ]
    simulation = Simulation(results=[])
    replies: list[Aggregate | tuple[Aggregate, ...]] | None = None
    tables = [one.code_table for one in codecs]
    while True:
        outcomes = []
        for worker, step in enumerate(steps):
            outcomes.append(_advance(step, replies[worker] if replies else None))
            if alone and isinstance(outcomes[0], Result):
                simulation.results = [outcomes[0]]
                return simulation
        results = [outcome for outcome in outcomes if isinstance(outcome, Result)]
        if len(results) == workers:
            simulation.results = results
            return simulation
        yielded = [outcome for outcome in outcomes if not isinstance(outcome, Result)]
        grouped = isinstance(yielded[0], RoundGroup)
        groups = [one.rounds for one in yielded]
        kinds = {(isinstance(one, RoundGroup), *map(_kind, group)) for one, group in zip(yielded, groups, strict=True)}
        if results or len(kinds) != 1:
            raise CodecError("The workers' rounds differ: they were given vectors or codecs that do not match.")
        totals = []
        for rounds in zip(*groups, strict=True):
            contributions = [
                lane_contribution(rounds[worker].op, rounds[worker].words, tables[worker]) for worker in counted
            ]
            for one in rounds:
                if one.overlap is not None:
                    one.overlap()
            totals.append(aggregate(rounds[0].op, contributions))
        simulation.aggregates += totals
        simulation.rounds += [RoundShape(one.op, one.words.size) for one in groups[0]]
        simulation.round_trips += 1
        replies = []
        for worker in range(workers):
            answers = tuple(
                Aggregate(total.copy(), len(counted), worker in counted, _members(counted, workers, total.size))
                for total in totals
            )
            replies.append(answers if grouped else answers[0])


def _members(counted: Sequence[int], workers: int, words: int) -> Members | None:
    if len(counted) == workers:
        return None
    return Members(np.isin(np.arange(workers), counted)[None, :], np.zeros(words, dtype=np.intp))


def _kind(round_: Round) -> tuple[LaneOp, int]:
    return round_.op, round_.words.size


def _advance(steps: Steps, reply: Aggregate | tuple[Aggregate, ...] | None) -> Round | RoundGroup | Result:
    try:
        return next(steps) if reply is None else steps.send(reply)
    except StopIteration as stop:
        result: Result = stop.value
        return result
