# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Train a small PyTorch model whose gradients are averaged by lanesum.

Run it by ``lanesum launch --nproc 2 examples/train_ddp.py``, or under torchrun as in examples/README.md.
"""

from __future__ import annotations

import argparse
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import lanesum.torch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--controller", help="host:port of the controller (default: LANESUM_CONTROLLER)")
    parser.add_argument("--job", help="name of the job (default: LANESUM_JOB, else one for these ranks)")
    parser.add_argument("--codec", help="name of the codec (default: that of the job)")
    parser.add_argument("--steps", type=int, default=100, help="number of optimizer steps")
    options = parser.parse_args()

    # DDP needs a process group for the first weights. Gradients do not go through it.
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    model = DistributedDataParallel(net)

    # The line of lanesum. Rank n becomes worker n of the job.
    state = lanesum.torch.attach(model, controller=options.controller, job=options.job, codec=options.codec)

    # Each rank has data of its own, for the same function.
    generator = torch.Generator().manual_seed(rank + 1)
    inputs = torch.randn(256, 20, generator=generator)
    targets = inputs[:, :1] * inputs[:, 1:2]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(options.steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()  # raises lanesum's own exception if a worker is missing
        optimizer.step()
        losses.append(loss.item())
    stats = state.stats
    if rank == 0:
        print(f"loss {losses[0]:.3f} in the first step, {losses[-1]:.3f} in the last one")
        print(f"{stats.buckets} buckets averaged, {stats.transport.bytes_sent} bytes sent")

    # The replicas have the same weights, bit for bit.
    checksum = torch.stack([one.detach().double().sum() for one in net.parameters()]).sum()
    checksums = [torch.zeros_like(checksum) for _ in range(dist.get_world_size())]
    dist.all_gather(checksums, checksum)
    if rank == 0:
        print(f"replicas agree: {all(torch.equal(one, checksum) for one in checksums)}")

    # All workers leave together, so that none leaves while another one still lacks a result.
    state.leave()
    dist.destroy_process_group()
    # Threads of gloo can abort a process whose interpreter ends (https://github.com/pytorch/pytorch/issues/190489).
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
