# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Scaled and skipped steps by a framework's own loop and ``GradScaler``, by gloo and then by lanesum.

The sum of all means that steps have taken is that of gloo minus the mean residual. So each rank prints the largest
difference of the weights that residuals do not explain, and the largest residual.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

import lanesum.torch

STEPS = 8


class Batches(nn.Module):
    """Model with a linear loss: its gradients are the batch, whatever its weights are."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(800))

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return (self.weights * batch.reshape(-1)).sum()


def batches() -> list[torch.Tensor]:
    """Return the batches of this rank. Every other one has no finite gradient at one rank."""
    rank = int(os.environ["RANK"])
    drawn = torch.randn(STEPS, 800, generator=torch.Generator().manual_seed(rank))
    drawn[1::2, 0] *= float("inf") if rank else 1.0
    return list(drawn)


def scaler() -> torch.amp.GradScaler:
    """Return a scaler that changes its scale in every step."""
    return torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=1)


def attach(wrapper: nn.Module) -> lanesum.torch.State:
    return lanesum.torch.attach(wrapper, controller=sys.argv[2], codec="thc", error_feedback=True, step_aside=False)


def by_lightning(model: Batches, averaged: bool) -> dict[str, torch.Tensor]:
    import lightning
    from lightning.pytorch.plugins import MixedPrecision

    class Attach(lightning.Callback):
        state: lanesum.torch.State | None = None
        memory: dict[str, torch.Tensor] = {}

        def on_train_start(self, trainer: Any, module: Any) -> None:
            self.state = attach(trainer.strategy.model) if averaged else None

        def on_train_end(self, trainer: Any, module: Any) -> None:
            if self.state is not None:
                self.memory = self.state.state_dict()["memory"]
                self.state.leave()

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def training_step(self, batch: torch.Tensor, _: int) -> torch.Tensor:
            return self.model(batch)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=1.0)

        def train_dataloader(self) -> Any:
            return torch.utils.data.DataLoader(batches(), batch_size=1)

    callback = Attach()
    quiet = {"enable_checkpointing": False, "enable_progress_bar": False, "logger": False}
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=1,
        callbacks=[callback],
        plugins=[MixedPrecision("16-mixed", "cpu", scaler())],
        use_distributed_sampler=False,
        **quiet,
    )
    trainer.fit(Module())
    return callback.memory


def by_accelerate(model: Batches, averaged: bool) -> dict[str, torch.Tensor]:
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    accelerator.scaler = scaler()  # Accelerate makes one itself only for a GPU
    wrapper, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=1.0))
    state = attach(wrapper) if averaged else None
    for batch in batches():
        optimizer.zero_grad()
        accelerator.backward(wrapper(batch))
        optimizer.step()
    if state is None:
        return {}
    memory: dict[str, torch.Tensor] = state.state_dict()["memory"]
    state.leave()
    return memory


def main() -> None:
    train = {"lightning": by_lightning, "accelerate": by_accelerate}[sys.argv[1]]
    expected, model = Batches(), Batches()
    train(expected, False)
    (mean,) = train(model, True).values()
    dist.all_reduce(mean)
    mean /= 2
    unexplained = (model.weights.detach() - expected.weights.detach() - mean).abs().max().item()
    print(f"unexplained {unexplained:.6f}, residual {mean.abs().max().item():.6f}", flush=True)
    dist.destroy_process_group()
    os._exit(0)  # threads of gloo can abort a process whose interpreter ends


if __name__ == "__main__":
    main()
