# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""torchft's own test suite of process groups, over lanesum."""

from __future__ import annotations

from datetime import timedelta

import pytest

pytest.importorskip("torchft", reason="needs torchft: pip install 'lanesum[torchft]'")
pytest.importorskip("parameterized", reason="needs parameterized, with which torchft's suite is written")

import torch
import torch.distributed as dist
from torchft import process_group_test as suite

from lanesum.torchft import ProcessGroup


class LanesumSuite(suite.MultiPgBaseTest):
    """Collectives of three ranks, and the loss of one in the middle of each."""

    WORLD_SIZE = 3
    __test__ = True

    @classmethod
    def _create_pg(cls, backend: str) -> ProcessGroup:
        return ProcessGroup(timeout=timedelta(seconds=10))

    @suite.parameterized.expand(suite._ALL_COLLECTIVES)
    def test_collective_of_three_ranks_is_right(self, collective: str) -> None:
        self._run_parallel(collective)

    @suite.parameterized.expand([one for one in suite._ALL_COLLECTIVES if not one.startswith("reduce_scatter")])
    def test_collective_without_one_rank_fails(self, collective: str) -> None:
        self._run_with_resiliency(collective)


@pytest.mark.parametrize("tensor", [torch.tensor([2.0]), torch.tensor([2])])
def test_every_collective_of_one_rank_keeps_shapes(tensor: torch.Tensor) -> None:
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    group = ProcessGroup()
    group.configure(f"127.0.0.1:{store.port}/alone", "0", 0, 1)
    assert group.size() == 1
    works = suite._test_pg(group, tensor)
    assert len(works) == 10  # allreduce comes twice
    group.shutdown()
