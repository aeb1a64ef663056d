# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A plain DDP training that names the backend ``lanesum``; the gradients of its embedding are sparse."""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import lanesum.torch  # noqa: F401  registers the backend


def main() -> None:
    dist.init_process_group(sys.argv[1])
    torch.manual_seed(1)
    net = nn.Sequential(nn.EmbeddingBag(5000, 16, sparse=True, mode="sum"), nn.Linear(16, 2))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
    generator = torch.Generator().manual_seed(dist.get_rank())
    words = torch.randint(0, 5000, (64, 10), generator=generator)
    labels = words[:, 0] % 2
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(words), labels)
        loss.backward()
        assert net[0].weight.grad.is_sparse
        optimizer.step()
        losses.append(loss.item())
    weights = torch.cat([parameter.detach().view(-1) for parameter in net.parameters()])
    others = [torch.zeros_like(weights) for _ in range(dist.get_world_size())]
    dist.all_gather(others, weights)
    if dist.get_rank() == 0:
        print(f"loss {losses[0]:.6f} in the first step, {losses[-1]:.6f} in the last one")
        print(f"replicas agree: {all(torch.equal(other, weights) for other in others)}")
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # threads of gloo can abort a process whose interpreter ends


if __name__ == "__main__":
    main()
