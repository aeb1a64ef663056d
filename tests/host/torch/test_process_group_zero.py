# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""ZeRO-1 (``ZeroRedundancyOptimizer``) over the backend: the job averages gradients, gloo broadcasts parameters."""

from __future__ import annotations

import collections
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from lanesum.torch import State
from tests.host.torch.controllers import controlled, environment
from tests.host.torch.ranks import Ranks

RANKS = 4
STEPS = 4


def train(rank: int, variables: dict[str, str]) -> tuple[list[torch.Tensor], collections.Counter[str], int]:
    """Train by gloo and by the backend; return all weights, calls of the backend's gloo, and its all-reduces."""
    weights, called = [], collections.Counter[str]()
    buckets = 0
    with environment(variables):
        for backend in ("gloo", "lanesum"):
            group: Any = dist.new_group(backend=backend)
            torch.manual_seed(1)
            net = nn.Sequential(nn.Linear(20, 30), nn.Tanh(), nn.Linear(30, 3))
            model = DistributedDataParallel(net, process_group=group)
            optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, process_group=group, lr=0.01)
            if backend == "lanesum":
                others = group._others
                group._others = _Counted(others, called)
            for step in range(STEPS):
                batch = torch.randn(8, 20, generator=torch.Generator().manual_seed(100 * rank + step))
                optimizer.zero_grad()
                model(batch).square().mean().backward()
                optimizer.step()
            weights.append(torch.cat([one.detach().view(-1) for one in model.parameters()]))
            shard = sum(one.numel() for one in optimizer.optim.param_groups[0]["params"])
            assert 0 < shard < weights[-1].numel(), "each rank has the optimizer of its own parameters"
        state = State.joined(group)
        assert state is not None
        buckets = state.stats.buckets
        group._others = others
        state.leave()
    return weights, called, buckets


class _Counted:
    def __init__(self, others: Any, called: collections.Counter[str]) -> None:
        self._others, self._called = others, called

    def __getattr__(self, name: str) -> Any:
        self._called[name] += 1
        return getattr(self._others, name)


def test_zero_optimizer_trains_as_with_gloo(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        outcomes = four_ranks.run(train, list(range(RANKS)), variables)
    for (by_gloo, weights), called, buckets in outcomes:
        torch.testing.assert_close(weights, by_gloo, rtol=1e-4, atol=1e-5)
        assert torch.equal(weights, outcomes[0][0][1]), "all ranks have the same weights"
        assert buckets >= STEPS and called["broadcast"] >= STEPS, called
        assert not {"allreduce", "allgather", "_allgather_base"} & called.keys(), called
