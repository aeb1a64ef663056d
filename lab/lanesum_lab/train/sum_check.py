# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Independent check of every sum that the network returns: rounds are recorded, and compared after the training."""

from __future__ import annotations

import contextlib
import datetime
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch.distributed as dist
from numpy.typing import NDArray

from lanesum._internal.closing import Closing
from lanesum.codecs.kernels.packing import lane_contribution
from lanesum.errors import LanesumError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import WORD_BYTES
from lanesum.session import ObservedRound


class SumCheckError(LanesumError):
    """The workers could not compare a sum, because one of them did not take part in the comparison."""


def own_contribution(observed: ObservedRound) -> NDArray[np.uint32]:
    """Return this worker's share of the accumulator words; zeros where a quorum left the worker out."""
    own = lane_contribution(observed.round.op, observed.round.words, observed.codec.code_table)
    # Zero changes neither a sum nor a maximum of unsigned words nor an OR.
    return np.where(observed.aggregate.included, own, np.uint32(0))


_COMBINE: dict[LaneOp, Callable[..., NDArray[np.uint32]]] = {LaneOp.MAX: np.maximum, LaneOp.OR: np.bitwise_or}
_TIMEOUT_S = 120.0  # of the other ranks, at a comparison
_LIMIT_BYTES = 256 << 20
_CONTRIBUTIONS, _RESULTS = "contributions", "results"
_LOGS = "Read the logs of the workers."


class RecordedSumCheck(Closing):
    """Observer of a session that records every round; ``compare`` computes all aggregates a second time.

    No packet is sent during the training, so the check takes nothing from links whose time is measured.

    The ranks share a temporary folder of the first one, so they must run on one machine. The files are compared, and
    emptied, whenever a rank has recorded ``limit_bytes``. Make it in the main thread of all ranks, after
    ``init_process_group``. Raises SumCheckError where a rank does not see the folder.

    Where a quorum left workers out, the expected sum is that of the contributors named in the result. So every word of
    every round is compared.

    Args:
        limit_bytes: size of a rank's record at which it is compared.

    Attributes:
        checked: number of accumulator words compared by this rank.
        wrong: number of words that differed.
        seconds: time spent within the training.
    """

    def __init__(self, limit_bytes: int = _LIMIT_BYTES) -> None:
        self.checked = 0
        self.wrong = 0
        self.seconds = 0.0
        self._limit_bytes, self._bytes = limit_bytes, 0
        self._rank = dist.get_rank()
        # Another group than the default one: the communication thread may compare while DDP uses that.
        self._group = dist.new_group(backend="gloo", timeout=datetime.timedelta(seconds=_TIMEOUT_S))
        self._files: list[BinaryIO] = []
        named = [tempfile.mkdtemp(prefix="lanesum-sums-") if self._rank == 0 else ""]
        dist.broadcast_object_list(named, group=self._group)
        self._folder = Path(named[0])
        seen: list[bool] = [False] * dist.get_world_size()
        dist.all_gather_object(seen, self._folder.is_dir(), group=self._group)
        if not all(seen):
            self.close()
            raise SumCheckError(
                f"Ranks {[rank for rank, here in enumerate(seen) if not here]} do not see the folder {self._folder}.",
                "Run all ranks on one machine.",
            )
        self._contributions, self._results = (
            self._path(kind, self._rank).open("w+b") for kind in (_CONTRIBUTIONS, _RESULTS)
        )
        self._files = [self._contributions, self._results]

    def __call__(self, observed: ObservedRound) -> None:
        """Record one round. Raises SumCheckError if a comparison is due and another rank does not take part."""
        start = time.perf_counter()
        own = own_contribution(observed)
        self._contributions.write(np.array([observed.round.op, own.size], np.uint32).tobytes() + own.tobytes())
        self._results.write(observed.words.tobytes())
        self._bytes += 2 * own.nbytes
        if self._bytes >= self._limit_bytes:  # at the same round on all ranks
            self.compare()
        self.seconds += time.perf_counter() - start

    def compare(self) -> None:
        """Compare every recorded result with the contributions of all ranks. Call on all ranks.

        Raises SumCheckError if another rank does not take part, or has recorded other rounds.
        """
        self._contributions.flush()
        self._meet()  # the files of all ranks are complete
        self._results.seek(0)
        with contextlib.ExitStack() as stack:
            files = [
                stack.enter_context(self._path(_CONTRIBUTIONS, rank).open("rb"))
                for rank in range(dist.get_world_size())
            ]
            while (expected := _next_sum(files)) is not None:
                words = _words(self._results, expected.size)
                self.checked += words.size
                self.wrong += int(np.count_nonzero(words != expected))
        self._meet()  # all ranks have read them
        for file in self._files:
            file.seek(0)
            file.truncate()
        self._bytes = 0

    def _path(self, kind: str, rank: int) -> Path:
        return self._folder / f"{kind}-{rank}"

    def _meet(self) -> None:
        try:
            dist.barrier(group=self._group)
        except RuntimeError as error:
            raise SumCheckError(f"The check of sums failed: {error}", _LOGS) from error

    def close(self) -> None:
        """Remove the record; call when all ranks have compared."""
        for file in self._files:
            file.close()
        if self._rank == 0:
            shutil.rmtree(self._folder, ignore_errors=True)


def _next_sum(files: Sequence[BinaryIO]) -> NDArray[np.uint32] | None:
    """Return the sum, maximum or OR of the next round of all files; None at their end."""
    heads = [file.read(2 * WORD_BYTES) for file in files]
    if len(set(heads)) > 1:
        raise SumCheckError("The ranks have recorded different rounds.", _LOGS)
    if not heads[0]:
        return None
    op, size = np.frombuffer(heads[0], np.uint32).tolist()
    expected = _words(files[0], size)
    for file in files[1:]:
        expected = _COMBINE.get(LaneOp(op), np.add)(expected, _words(file, size))  # uint32 wraps as the switch does
    return expected


def _words(file: BinaryIO, size: int) -> NDArray[np.uint32]:
    words = np.frombuffer(file.read(size * WORD_BYTES), np.uint32)
    if words.size != size:
        raise SumCheckError(f"The record of a round ends after {words.size} of {size} words.", _LOGS)
    return words
