# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""An independent check of every sum that came back from the network."""

from __future__ import annotations

import datetime
import time

import numpy as np
import torch
import torch.distributed as dist

from lanesum.codecs.kernels.packing import lane_contribution
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.protocol.lanes import LaneOp
from lanesum.session import FinishedRound

_REDUCTIONS = {LaneOp.MAX: dist.ReduceOp.MAX, LaneOp.OR: dist.ReduceOp.BOR}


class SumCheckError(LanesumError):
    """The workers could not compare a sum, because one of them did not come to the comparison."""


class SumCheck:
    """A session's observer that computes every aggregate a second time and compares.

    After a round each worker works out its own contribution to the accumulator, and a process group of its own (gloo,
    64-bit integers) adds them up: neither packets nor switch nor server take part. The group is its own because the
    check runs in the communication thread while DDP may use the default one. It costs one gloo all-reduce of 8 bytes
    per accumulator word and round: for tests and demonstrations.

    Where a quorum left workers out, the sum of those that the result names is compared: a worker adds nothing where it
    is not named. So every word of every round is compared.

    Make it in the main thread of all ranks, after ``init_process_group``, and give it to the session::

        check = SumCheck(workers=dist.get_world_size())
        state = State.join(observer=check)

    Args:
        workers: workers of the job; they must be the ranks of the process group.
        timeout_s: wait at most so long for the other ranks' contributions.

    Attributes:
        checked: accumulator words compared by this rank.
        wrong: those that differed.
        seconds: time spent.
    """

    def __init__(self, *, workers: int, timeout_s: float = 60.0) -> None:
        if dist.get_world_size() != workers:
            raise ConfigurationError(
                f"The job has {workers} workers, the process group {dist.get_world_size()} ranks.",
                "Start as many ranks as the job has workers.",
            )
        self.checked = 0
        self.wrong = 0
        self.seconds = 0.0
        self._group = dist.new_group(backend="gloo", timeout=datetime.timedelta(seconds=timeout_s))

    def __call__(self, finished: FinishedRound) -> None:
        """Compare one round's words. Raises SumCheckError when another rank does not come within the time."""
        start = time.perf_counter()
        op = finished.round.op
        own = lane_contribution(op, finished.round.words, finished.codec.code_table).astype(np.int64)
        # Zero changes neither a sum nor a maximum of unsigned words nor an OR.
        expected = torch.from_numpy(np.where(finished.aggregate.included, own, 0))
        try:
            dist.all_reduce(expected, _REDUCTIONS.get(op, dist.ReduceOp.SUM), group=self._group)
        except RuntimeError as error:
            raise SumCheckError(f"The check of a sum failed: {error}", "Look at the other workers' logs.") from error
        # An accumulator word is 32 bits and wraps.
        words = expected.numpy().astype(np.uint32)
        self.checked += words.size
        self.wrong += int(np.count_nonzero(words != finished.words))
        self.seconds += time.perf_counter() - start
