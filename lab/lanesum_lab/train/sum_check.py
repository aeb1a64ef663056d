# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Independent check of every sum that the network returns."""

from __future__ import annotations

import datetime
import time

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray

from lanesum.codecs.kernels.packing import lane_contribution
from lanesum.errors import LanesumError
from lanesum.protocol.lanes import LaneOp
from lanesum.session import ObservedRound
from lanesum_lab.train.group import check_ranks

_REDUCE_OPS = {LaneOp.MAX: dist.ReduceOp.MAX, LaneOp.OR: dist.ReduceOp.BOR}


class SumCheckError(LanesumError):
    """The workers could not compare a sum, because one of them did not take part in the comparison."""


def own_contribution(observed: ObservedRound) -> NDArray[np.uint32]:
    """Return this worker's share of the accumulator words; zeros where a quorum left the worker out."""
    own = lane_contribution(observed.round.op, observed.round.words, observed.codec.code_table)
    # Zero changes neither a sum nor a maximum of unsigned words nor an OR.
    return np.where(observed.aggregate.included, own, np.uint32(0))


class SumCheck:
    """Observer of a session that computes every aggregate a second time and compares.

    After a round, each worker computes its own contribution to the accumulator. A process group (gloo, 64-bit integers)
    adds the contributions up. Neither packets nor switch nor server take part. The process group is a separate one,
    because the check runs in the communication thread while DDP may use the default group. It costs one gloo all-reduce
    of 8 bytes for each accumulator word of a round, so it is for tests and demonstrations.

    Where a quorum left workers out, the expected sum is that of the contributors named in the result. So every word of
    every round is compared.

    Make it in the main thread of all ranks, after ``init_process_group``, and pass it to the session::

        check = SumCheck(workers=dist.get_world_size())
        state = State.join(observer=check)

    Args:
        workers: number of workers of the job; they must be the ranks of the process group.
        timeout_s: maximum waiting time for the contributions of the other ranks, in seconds.

    Attributes:
        checked: number of accumulator words compared by this rank.
        wrong: number of words that differed.
        seconds: time spent.
    """

    def __init__(self, *, workers: int, timeout_s: float = 60.0) -> None:
        check_ranks(workers)
        self.checked = 0
        self.wrong = 0
        self.seconds = 0.0
        self._group = dist.new_group(backend="gloo", timeout=datetime.timedelta(seconds=timeout_s))

    def __call__(self, observed: ObservedRound) -> None:
        """Compare the words of one round. Raise SumCheckError if another rank does not take part in time."""
        start = time.perf_counter()
        expected = torch.from_numpy(own_contribution(observed).astype(np.int64))
        try:
            dist.all_reduce(expected, _REDUCE_OPS.get(observed.round.op, dist.ReduceOp.SUM), group=self._group)
        except RuntimeError as error:
            raise SumCheckError(f"The check of a sum failed: {error}", "Read the logs of the other workers.") from error
        # An accumulator word is 32 bits and wraps.
        words = expected.numpy().astype(np.uint32)
        self.checked += words.size
        self.wrong += int(np.count_nonzero(words != observed.words))
        self.seconds += time.perf_counter() - start
