# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Agent process of one worker of a job (arguments SOCKET CONTROLLER JOB WORKER): rounds with known sums.

A task is a time for which all workers of the job run rounds.
"""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.combine import combine, expand
from lanesum.joining import join
from lanesum.protocol.lanes import LaneOp
from lanesum.transport import JobTicket, UdpTransport
from lanesum_lab.bench.agents import serve

# Consecutive rounds differ: a sum of an earlier round would be found.
_VARIANTS = 4


@dataclass(frozen=True, slots=True)
class RoundsTask:
    """Task: rounds of ``chunks`` packets for about ``seconds``, the same for all workers of a job."""

    op: LaneOp
    chunks: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RoundsDone:
    """Result of one worker.

    Attributes:
        times: end of every round, in seconds of the monotonic clock.
        words: accumulator words that were compared.
        wrong: words that differed from the sum.
        stats: counters of the transport meanwhile.
    """

    times: tuple[float, ...]
    words: int
    wrong: int
    stats: dict[str, int]

    @property
    def rate(self) -> float:
        """Rounds per second. The first round is not counted, because it waits for all workers to begin."""
        return (len(self.times) - 1) / (self.times[-1] - self.times[0])


class KnownRounds:
    """Random words of all workers of a job, and their sums; the last group is kept free.

    Args:
        op: an operation that needs no code table.
        chunks: packets of a round.
    """

    def __init__(self, op: LaneOp, ticket: JobTicket, chunks: int) -> None:
        size = chunks * op.shape.uplink_words(ticket.accumulator_words)
        self.words: list[NDArray[np.uint32]] = []
        self.sums: list[NDArray[np.uint32]] = []
        self.free = op.shape.accumulator_words_per_group  # words of the last group in a sum
        for variant in range(_VARIANTS):
            contributions = [self._random(op, size, variant, worker) for worker in range(ticket.workers)]
            self.words.append(contributions[ticket.worker])
            self.sums.append(
                functools.reduce(functools.partial(combine, op), (expand(op, one) for one in contributions))
            )

    @staticmethod
    def _random(op: LaneOp, size: int, *seed: int) -> NDArray[np.uint32]:
        words = np.random.default_rng(seed).integers(0, 1 << 32, size, np.uint32)
        words[-op.shape.uplink_words_per_group :] = 0
        return words


class RoundsWorker:
    """Carries out tasks with one transport."""

    def __init__(self, transport: UdpTransport) -> None:
        self._transport = transport
        self._known: dict[tuple[LaneOp, int], KnownRounds] = {}

    def work(self, task: RoundsTask) -> RoundsDone:
        """Run rounds until the free word of a sum tells all workers that the time of one of them is over."""
        key = task.op, task.chunks
        if key not in self._known:
            self._known[key] = KnownRounds(task.op, self._transport.ticket, task.chunks)
        known = self._known[key]
        before = self._transport.stats
        times: list[float] = []
        wrong, over = 0, False
        while not over:
            variant = len(times) % _VARIANTS
            words = known.words[variant]
            words[-1] = bool(times) and time.monotonic() - times[0] >= task.seconds
            sums = self._transport.exchange(task.op, words).result()
            times.append(time.monotonic())
            over = bool(sums[-known.free :].any())
            wrong += int(np.count_nonzero(sums[: -known.free] != known.sums[variant][: -known.free]))
        stats = (self._transport.stats - before).counts()
        return RoundsDone(tuple(times), len(times) * (known.sums[0].size - known.free), wrong, stats)


def main(arguments: list[str]) -> None:
    """Join the job, then work until the benchmark closes the connection."""
    path, controller, job, worker = arguments
    ticket = join(controller=controller, job=job, worker=int(worker), wait=True)
    transport = UdpTransport(ticket)
    try:
        serve(path, RoundsWorker(transport).work)
    finally:
        transport.close()
