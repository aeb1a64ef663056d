# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Train under an elastic torchrun: after the death of a worker, all workers restart from their checkpoints.

Run it with ``--max-restarts`` and ``--rdzv-backend=c10d``. The first attach admits a job, which ends with the training.
Each restart is a new incarnation of the lanesum job, so that packets of the crashed one never mix with its own. Set
TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1, because otherwise gloo may find the addresses of the crashed ranks in the store of
the rendezvous.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist
from task import arguments, finish, make_data, make_net, report, save
from torch.nn.parallel import DistributedDataParallel

import lanesum.torch

EVERY = 5


def newest_common_step(folder: Path, rank: int) -> int:
    """Return the newest step of which all ranks have a checkpoint; 0 without one."""
    own = [int(path.name.split("-")[0]) for path in folder.glob(f"*-{rank}.pt")]
    newest = torch.tensor(max(own, default=0))
    dist.all_reduce(newest, dist.ReduceOp.MIN)
    return int(newest)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--checkpoints", type=Path, default=Path("out/elastic"), help="folder of the checkpoints")
    parser.add_argument(
        "--crash-at", type=int, default=-1, help="step before which rank 1 is killed, to show a restart"
    )
    options = parser.parse_args()
    options.checkpoints.mkdir(parents=True, exist_ok=True)
    restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    net = make_net()
    model = DistributedDataParallel(net)
    state = lanesum.torch.attach(model, controller=options.controller)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    start = newest_common_step(options.checkpoints, rank)
    if start:
        saved = torch.load(options.checkpoints / f"{start}-{rank}.pt", weights_only=True)
        net.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        # The error feedback of each worker is its own.
        state.load_state_dict(saved["lanesum"])
    if rank == 0:
        print(f"restart {restarts}: from step {start}", flush=True)

    inputs, targets = make_data(rank).tensors
    for step in range(start, options.steps):
        if step == options.crash_at and rank == 1 and restarts == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        if (step + 1) % EVERY == 0:
            parts = {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "lanesum": state.state_dict()}
            save(options.checkpoints / f"{step + 1}-{rank}.pt", parts)

    report(state, net)
    finish(state)


if __name__ == "__main__":
    main()
