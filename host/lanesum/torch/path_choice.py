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
#: Steps that each of both ways takes in a measurement, in turns.
MEASURED_STEPS = 3
#: Steps from one measurement to the next.
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
    the rest of the training. The ranks add up their medians, and all make the same choice. On a tie that is the group.

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
        self._step = -WARM_UP_STEPS - 1  # within the period; measurements begin at 0
        self._started: float | None = None
        self._times: dict[bool, list[float]] = {False: [], True: []}
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
        now, before = self._clock(), self._started
        self._started = now
        if 0 <= self._step < 2 * MEASURED_STEPS and before is not None:
            self._times[self._by_group].append(now - before)
        self._step += 1
        if self._step == 2 * MEASURED_STEPS:
            self._choose(device)
        if self._step == PERIOD_STEPS:
            self._step = 0
        measures = 0 <= self._step < 2 * MEASURED_STEPS
        self._by_group = self._step % 2 == 1 if measures else self._chosen is True
        self.group_steps += self._by_group

    def _choose(self, device: torch.device) -> None:
        own = [statistics.median(self._times[by_group]) for by_group in (False, True)]
        total = torch.tensor(own, dtype=torch.float64, device=device)
        dist.all_reduce(total, group=self._group)
        by_lanesum, by_group = (total / dist.get_world_size(self._group)).tolist()
        before, self._chosen = self._chosen, by_group <= by_lanesum
        self._times = {False: [], True: []}
        stepped_aside = self._chosen and dist.get_rank(self._group) == 0
        logger.log(
            logging.DEBUG if before is self._chosen else logging.WARNING if stepped_aside else logging.INFO,
            "%s: a step takes %.1f ms by lanesum, %.1f ms by %s. %s=off keeps to lanesum.",
            self.summary,
            1000 * by_lanesum,
            1000 * by_group,
            dist.get_backend(self._group),
            environment.STEP_ASIDE,
        )
