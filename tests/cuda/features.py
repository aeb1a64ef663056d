# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A rank that trains with features of CUDA, by the process group and by ``fixed``: ``features.py DEVICE FEATURE ...``.

Run it by ``lanesum launch``. Rank 0 prints a JSON object with the final losses of both ways for each feature. All ranks
share one GPU: each claims another host to NCCL, which then uses sockets.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import lanesum.torch
from lanesum_lab.bench.reducer import nccl_of_shared_gpu
from lanesum_lab.bench.stepper import TRANSFORMER, ModelSize, make_model

SIZE = ModelSize(TRANSFORMER, width=128, layers=2, context=32, batch=4)
STEPS = 8


def train(device: str, feature: str, job: str | None) -> float:
    """Return the mean loss of the last two steps, over all ranks; ``job`` averages, or the process group."""
    net = make_model(SIZE).to(device)
    if feature == "graphed layer":
        sample = torch.randn(SIZE.batch, SIZE.context, SIZE.width, device=device, requires_grad=True)
        net.out = torch.cuda.make_graphed_callables(net.out, (sample,))
    if feature == "torch.compile":
        net = torch.compile(net)
    model = DistributedDataParallel(net)
    state = None
    if job is not None:
        state = lanesum.torch.attach(model, job=job, admit=True, codec="fixed", step_aside=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    scaler = torch.amp.GradScaler(device, enabled=feature == "GradScaler")
    precision = torch.float16 if device == "cuda" and feature == "GradScaler" else torch.bfloat16
    side = torch.cuda.Stream() if feature == "side stream" else None
    starts = torch.Generator().manual_seed(dist.get_rank() + 1)
    losses = []
    for _ in range(STEPS):
        tokens = torch.randint(256, (SIZE.batch, 1), generator=starts) + torch.arange(SIZE.context + 1)
        tokens %= 256
        tokens = (tokens.pin_memory() if device == "cuda" else tokens).to(device, non_blocking=True)
        if side is not None:
            side.wait_stream(torch.cuda.current_stream())
        with contextlib.nullcontext() if side is None else torch.cuda.stream(side):
            optimizer.zero_grad()
            with torch.autocast(device, precision):
                logits = model(tokens[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        losses.append(float(loss))
    weights = torch.cat([one.detach().float().flatten() for one in model.parameters()])
    others = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
    dist.all_gather(others, weights)
    assert all(torch.equal(one, weights) for one in others), f"replicas differ: {feature}, {job}"
    if state is not None:
        assert state.stats.buckets >= STEPS
        state.leave()
    mean = torch.tensor(sum(losses[-2:]) / 2, device=device)
    dist.all_reduce(mean)
    return float(mean) / dist.get_world_size()


def main(device: str, *features: str) -> None:
    if device == "cuda":
        os.environ |= nccl_of_shared_gpu(int(os.environ["RANK"]), "lo")
        torch.cuda.set_device(0)
    else:
        torch.set_num_threads(1)
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    found = {
        feature: [train(device, feature, job) for job in (None, feature.replace(" ", "-"))] for feature in features
    }
    if dist.get_rank() == 0:
        print(json.dumps(found), flush=True)
    dist.barrier()  # a rank that ends earlier would break NCCL's connections to the others
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # threads of gloo can abort a process whose interpreter ends


if __name__ == "__main__":
    main(*sys.argv[1:])
