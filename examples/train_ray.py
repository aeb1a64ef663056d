# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Train with Ray Train's TorchTrainer: lanesum is attached to the model that ``prepare_model`` returns."""

from __future__ import annotations

import itertools
from typing import Any

import ray.train
import ray.train.torch
import torch
from task import arguments, make_data, make_net, report

import lanesum.torch


def train(config: dict[str, Any]) -> None:
    """Run on each worker of Ray, which has made the process group."""
    rank = ray.train.get_context().get_world_rank()
    model = ray.train.torch.prepare_model(make_net())
    state = lanesum.torch.attach(model, controller=config["controller"])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(make_data(rank), batch_size=64)
    for inputs, targets in itertools.islice(itertools.cycle(loader), config["steps"]):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    report(state, model)
    state.leave()
    ray.train.report(state.stats.as_dict())


def main() -> None:
    options = arguments(__doc__).parse_args()
    ray.init(num_cpus=2, include_dashboard=False)
    trainer = ray.train.torch.TorchTrainer(
        train,
        train_loop_config={"controller": options.controller, "steps": options.steps},
        scaling_config=ray.train.ScalingConfig(num_workers=2),
    )
    trainer.fit()


if __name__ == "__main__":
    main()
