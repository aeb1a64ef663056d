# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Train with PyTorch Lightning: a callback attaches lanesum to the DDP wrapper of the strategy.

The argument ``ddp_comm_hook`` of Lightning's DDPStrategy has no effect on CPU, and it cannot wait until the strategy
has a process group. A callback runs at the right time on every device.
"""

from __future__ import annotations

import lightning
import torch
from lightning.pytorch.loggers import CSVLogger
from task import arguments, make_data, make_net, report

import lanesum.torch


class Lanesum(lightning.Callback):
    """Average the gradients by lanesum, and log its figures."""

    def __init__(self, **options: object) -> None:
        self.options = options
        self.state: lanesum.torch.State | None = None

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self.state = lanesum.torch.attach(trainer.strategy.model, **self.options)

    def on_train_epoch_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if self.state is not None and trainer.logger is not None:
            trainer.logger.log_metrics(self.state.stats.as_dict(), trainer.global_step)

    def on_train_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if self.state is not None:
            report(self.state, module)
            self.state.leave()

    def on_exception(self, trainer: object, module: object, error: BaseException) -> None:
        if self.state is not None:
            self.state.close()


class Regression(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = make_net()

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], _: int) -> torch.Tensor:
        inputs, targets = batch
        return torch.nn.functional.mse_loss(self.net(inputs), targets)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.01)

    def train_dataloader(self) -> torch.utils.data.DataLoader:
        return torch.utils.data.DataLoader(make_data(self.global_rank), batch_size=64)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--out", default="out/lightning", help="folder for the figures of lanesum")
    options = parser.parse_args()
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_steps=options.steps,
        callbacks=[Lanesum(controller=options.controller)],
        logger=CSVLogger(options.out),
        enable_checkpointing=False,
        enable_progress_bar=False,
        # The data of each rank are its own.
        use_distributed_sampler=False,
    )
    trainer.fit(Regression())


if __name__ == "__main__":
    main()
