# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Save checkpoints, and resume from the last one with the same or another number of workers.

Run it under torchrun. Weights and optimizer are the same on all ranks, so rank 0 saves them. Error feedback belongs to
a rank, so each rank saves its own. A run with another number of workers passes the files of all ranks to
``load_state_dict``, which gives each rank the mean.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.distributed as dist
from task import arguments, finish, make_data, make_net, report, save
from torch.nn.parallel import DistributedDataParallel

import lanesum.torch

SAMPLES = 256


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--checkpoints", type=Path, default=Path("out/resume"), help="folder of the checkpoints")
    options = parser.parse_args()
    options.checkpoints.mkdir(parents=True, exist_ok=True)

    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    net = make_net()
    model = DistributedDataParallel(net)
    state = lanesum.torch.attach(model, controller=options.controller)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    start, path = 0, options.checkpoints / "training.pt"
    if path.exists():
        saved = torch.load(path, weights_only=True)
        start = saved["step"]
        net.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    files = sorted(options.checkpoints.glob(f"lanesum-{start}-*.pt"))
    if start:
        state.load_state_dict([torch.load(file, weights_only=True) for file in files])
    if rank == 0:
        print(f"{size} workers: from step {start}, error feedback of {len(files)}", flush=True)

    # All ranks together see the same samples in each step, however many ranks there are.
    inputs, targets = (tensor[rank::size] for tensor in make_data(0)[:SAMPLES])
    for _ in range(start, start + options.steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()

    step = start + options.steps
    save(options.checkpoints / f"lanesum-{step}-{rank}.pt", state.state_dict())
    dist.barrier()  # no rank's file is missing beside the weights
    if rank == 0:
        parts = {"step": step, "model": net.state_dict(), "optimizer": optimizer.state_dict()}
        save(path, parts)
    report(state, net)
    finish(state)


if __name__ == "__main__":
    main()
