# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Process groups of several ranks in the threads of one process, and their quorums."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

LOCALHOST = "127.0.0.1"
_prefixes = itertools.count()


class Ranks:
    """Process groups that are configured together.

    Args:
        groups: one for each rank, not configured.
    """

    def __init__(self, groups: Sequence[Any]) -> None:
        self.groups = list(groups)
        self.store = dist.TCPStore(LOCALHOST, 0, is_master=True, wait_for_workers=False)
        self._threads = ThreadPoolExecutor(len(self.groups))

    def begin(self, members: Sequence[int]) -> None:
        """Configure a quorum of some of the groups."""
        prefix = self.prefix()
        self.run(lambda rank, number: self.groups[number].configure(prefix, str(number), rank, len(members)), members)

    def prefix(self) -> str:
        """Return a new prefix of the store, as torchft passes it."""
        return f"{LOCALHOST}:{self.store.port}/quorum/{next(_prefixes)}"

    def submit(self, work: Callable[..., Any], members: Sequence[int]) -> list[Future[Any]]:
        """Begin ``work(rank, number)`` for each member, in a thread each."""
        return [self._threads.submit(work, rank, number) for rank, number in enumerate(members)]

    def run(self, work: Callable[..., Any], members: Sequence[int]) -> list[Any]:
        """Return the results of ``work(rank, number)`` for each member."""
        return [one.result(timeout=60) for one in self.submit(work, members)]

    def sums(self, members: Sequence[int], op: Any = dist.ReduceOp.SUM, size: int = 3000) -> list[float]:
        """Return the sum of 2^number over the members, as each of them has it."""

        def add(_: int, number: int) -> float:
            tensor = torch.full((size,), float(2**number))
            self.groups[number].allreduce([tensor], op).wait()
            (value,) = set(tensor.tolist())
            return value

        return self.run(add, members)

    def close(self) -> None:
        """Leave all quorums."""
        for group in self.groups:
            group.shutdown()
        self._threads.shutdown()


def seconds(number: float) -> timedelta:
    """Return a time-out."""
    return timedelta(seconds=number)
