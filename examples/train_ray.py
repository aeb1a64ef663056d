# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Train with Ray Train's TorchTrainer: lanesum is attached to the model that ``prepare_model`` returns.

The attach admits a job for the run. After the death of a worker, Ray starts all workers again from the last checkpoint,
and the job of the former ones is removed.
"""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import ray.train
import ray.train.torch
import torch
from task import arguments, make_data, make_net, report

import lanesum.torch

EVERY = 5


def train(config: dict[str, Any]) -> None:
    """Run on each worker of Ray, which has made the process group."""
    rank = ray.train.get_context().get_world_rank()
    net = make_net()
    model = ray.train.torch.prepare_model(net)
    state = lanesum.torch.attach(model, controller=config["controller"])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    start, checkpoint = 0, ray.train.get_checkpoint()
    if checkpoint is not None:
        with checkpoint.as_directory() as folder:
            saved = torch.load(Path(folder, f"{rank}.pt"), weights_only=True)
        start = saved["step"]
        net.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        # The error feedback of each worker is its own.
        state.load_state_dict(saved["lanesum"])
    if rank == 0:
        print(f"from step {start}", flush=True)

    inputs, targets = make_data(rank).tensors
    for step in range(start, config["steps"]):
        if step == config["crash_at"] and rank == 1 and checkpoint is None:
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        if (step + 1) % EVERY == 0:
            parts = {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "lanesum": state.state_dict()}
            with tempfile.TemporaryDirectory() as folder:
                torch.save({"step": step + 1, **parts}, Path(folder, f"{rank}.pt"))
                # Ray keeps the files of all ranks together, once all have reported.
                ray.train.report(state.stats.as_dict(), checkpoint=ray.train.Checkpoint.from_directory(folder))

    report(state, net)
    state.leave()
    ray.train.report(state.stats.as_dict())


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--checkpoints", type=Path, default=Path("out/ray"), help="folder of the checkpoints")
    parser.add_argument("--crash-at", type=int, default=-1, help="step above 10 before which rank 1 is killed once")
    options = parser.parse_args()
    ray.init(num_cpus=2, include_dashboard=False)
    trainer = ray.train.torch.TorchTrainer(
        train,
        train_loop_config=vars(options),
        scaling_config=ray.train.ScalingConfig(num_workers=2),
        run_config=ray.train.RunConfig(
            storage_path=str(options.checkpoints.resolve()),
            failure_config=ray.train.FailureConfig(max_failures=2),
        ),
    )
    trainer.fit()


if __name__ == "__main__":
    main()
