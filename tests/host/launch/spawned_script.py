# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Training that starts its two ranks by ``torch.multiprocessing.spawn``, each by lanesum and by gloo.

Argument: a file for the process group's store, which does not exist.
"""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

import lanesum.torch
from lanesum_lab.train.group import end_process


def weights(rank: int, *, attached: bool) -> torch.Tensor:
    """Return the weights after four steps."""
    torch.manual_seed(3)
    model = DistributedDataParallel(torch.nn.Linear(30, 10))
    state = lanesum.torch.attach(model, codec="fixed", step_aside=False) if attached else None
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        optimizer.zero_grad()
        model(torch.full((1, 30), (1.0 + rank + step) / 8)).square().mean().backward()
        optimizer.step()
    if state is not None:
        assert (state.session.ticket.worker, state.session.ticket.workers) == (rank, 2)
        assert state.stats.buckets == 4
        print(f"codec threads {state.stats.codec_threads}\n", end="", flush=True)
        state.leave()
    found: torch.Tensor = model.module.weight.detach()
    return found


def train(rank: int, store: str) -> None:
    """Train as one rank."""
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    own, plain = weights(rank, attached=True), weights(rank, attached=False)
    torch.testing.assert_close(own, plain, rtol=1e-5, atol=1e-6)
    print(f"rank {rank} as by gloo\n", end="", flush=True)
    dist.destroy_process_group()
    end_process(0)


if __name__ == "__main__":
    mp.spawn(train, args=(sys.argv[1],), nprocs=2)
