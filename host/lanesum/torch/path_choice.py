# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Choice between lanesum and the all-reduce of a process group, by the measured time of training steps."""

from __future__ import annotations

import logging
import os
import statistics
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

from lanesum import environment
from lanesum.codecs.base import Codec
from lanesum.errors import ConfigurationError
from lanesum.transport import JobTicket

logger = logging.getLogger(__name__)

#: Steps before a measurement, by lanesum: DDP arranges its buckets anew, and sparse codecs learn what they send.
WARM_UP_STEPS = 3
#: Pairs of steps that the way of the choice wins more than the other one, at the end of a measurement.
LEAD_PAIRS = 4
#: The same for another choice than the last one: noise alone must not alternate the ways.
CHANGE_LEAD_PAIRS = 6
#: Pairs of a measurement, at most; an odd number. Then most pairs make the first choice, and a later one stays.
MAX_PAIRS = 21
#: Steps from the first measurement to the second one, and from each later one to the next.
FIRST_PERIOD_STEPS = 100
PERIOD_STEPS = 1000


def may_step_aside(ticket: JobTicket, codec: Codec, group: dist.ProcessGroup, step_aside: bool | None) -> bool:
    """Return True if ``group`` may average the steps of a job.

    It may not with a quorum, nor instead of codecs that change gradients by earlier ones, nor if it is lanesum itself.

    Args:
        ticket: place of this rank in the job.
        codec: codec of the job.
        group: process group of the workers.
        step_aside: choice of the caller; None for that of LANESUM_STEP_ASIDE.

    Raises ConfigurationError for an unknown value of LANESUM_STEP_ASIDE.
    """
    if step_aside is None:
        text = os.environ.get(environment.STEP_ASIDE, "on")
        if text not in ("on", "off"):
            raise ConfigurationError(f"Invalid {environment.STEP_ASIDE}={text!r}: expected on or off.")
        step_aside = text == "on"
    traits = codec.traits
    uses_past = not traits.nearly_exact and (traits.keeps_error_feedback or traits.stateful)
    complete = ticket.quorum in (0, ticket.workers)
    return step_aside and complete and not uses_past and "lanesum" not in dist.get_backend_config(group)


class PathChoice:
    """Decides for every step which of two ways averages its buckets: lanesum or ``group``.

    The time of a step runs from its first bucket to the first one of the next step. So it contains what the way costs
    the rest of the training. A measurement compares pairs of consecutive steps, one by each way, so that load of the
    hosts changes both times. The ranks add up the times of a pair, and all make the same choice. A tie counts for the
    group.

    Args:
        group: process group of the workers of the job, of a backend other than lanesum.
        clock: seconds.

    Attributes:
        group_steps: number of steps that the group averaged.
    """

    def __init__(self, group: dist.ProcessGroup, clock: Callable[[], float] = time.perf_counter) -> None:
        self.group_steps = 0
        self._group = group
        self._clock = clock
        self._started = 0.0
        self._left = WARM_UP_STEPS  # steps before the next measurement
        self._measures = False
        self._pair: list[float] = []  # times of this rank, first that of lanesum
        self._pairs: list[list[float]] = []  # means over the ranks
        self._lead = 0  # pairs that the group has won minus pairs that lanesum has
        self._by_group = False
        self._chosen: bool | None = None

    @property
    def summary(self) -> str:
        """The choice in words; empty before the first one."""
        if self._chosen is None:
            return ""
        return f"{dist.get_backend(self._group) if self._chosen else 'lanesum'} is faster here"

    def is_of_group(self, bucket: dist.GradBucket) -> bool:
        """Return True if the group averages this bucket; to be called for each one, in their order."""
        if bucket.index() == 0:
            self._begin_step(bucket.buffer().device)
        return self._by_group

    def all_reduce(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Average a bucket by the group."""
        return allreduce_hook(self._group, bucket)

    def _begin_step(self, device: torch.device) -> None:
        if self._measures:
            self._pair.append(self._clock() - self._started)
            if len(self._pair) == 2:
                self._compare(device)
        if not self._measures:
            self._measures = self._left == 0
            self._left -= 1
        self._by_group = len(self._pair) == 1 if self._measures else self._chosen is True
        self.group_steps += self._by_group
        # The comparison is part of no step.
        self._started = self._clock()

    def _compare(self, device: torch.device) -> None:
        """Add a pair of steps to the measurement, and choose if that decides it."""
        total = torch.tensor(self._pair, dtype=torch.float64, device=device)
        dist.all_reduce(total, group=self._group)
        by_lanesum, by_group = (total / dist.get_world_size(self._group)).tolist()
        self._pair = []
        self._pairs.append([by_lanesum, by_group])
        self._lead += 1 if by_group <= by_lanesum else -1
        needed = LEAD_PAIRS if self._chosen in (None, self._lead > 0) else CHANGE_LEAD_PAIRS
        if abs(self._lead) >= needed:
            self._choose(self._lead > 0)
        elif len(self._pairs) == MAX_PAIRS:
            self._choose(self._lead > 0 if self._chosen is None else self._chosen)

    def _choose(self, by_group: bool) -> None:
        before, self._chosen = self._chosen, by_group
        times = [1000 * statistics.median(way) for way in zip(*self._pairs, strict=True)]
        self._measures, self._pairs, self._lead = False, [], 0
        self._left = FIRST_PERIOD_STEPS if before is None else PERIOD_STEPS
        stepped_aside = by_group and dist.get_rank(self._group) == 0
        logger.log(
            logging.DEBUG if before is by_group else logging.WARNING if stepped_aside else logging.INFO,
            "%s: a step takes %.1f ms by lanesum, %.1f ms by %s. %s=off keeps to lanesum.",
            self.summary,
            *times,
            dist.get_backend(self._group),
            environment.STEP_ASIDE,
        )
