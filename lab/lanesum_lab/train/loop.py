# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The training loop, the same one with and without lanesum."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import lanesum.torch
from lanesum.errors import ConfigurationError
from lanesum_lab.train.progress import TrainingProgress
from lanesum_lab.train.task import Digits, DigitsNet, accuracy


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings that are equal on all ranks and in both trainings.

    Attributes:
        epochs: passes over the training images.
        batch: images per worker and step.
        lr: maximum learning rate of a one-cycle schedule, for SGD with Nesterov momentum 0.9.
        seed: seed of the initial weights and of the order of the images.
    """

    epochs: int
    batch: int
    lr: float
    seed: int

    def steps_per_epoch(self, images: int, workers: int) -> int:
        """Return the number of whole batches in every worker's shard. Raises ConfigurationError if it is 0."""
        steps = images // workers // self.batch
        if steps < 1:
            raise ConfigurationError(
                f"{images} images over {workers} workers do not make one batch of {self.batch}.",
                "Take more images, or a smaller batch.",
            )
        return steps


@dataclass(slots=True)
class Curve:
    """Results of one training on one rank.

    Attributes:
        losses: loss of this rank's batch, one per step.
        accuracy: fraction of correct test images, one per epoch.
        step_s: seconds of every step.
        seconds: time of all steps and tests.
        weights_sha256: SHA-256 of all parameters at the end; it differs between ranks if the replicas differ.
        elements: number of elements of one gradient.
    """

    losses: list[float] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)
    step_s: list[float] = field(default_factory=list)
    seconds: float = 0.0
    weights_sha256: str = ""
    elements: int = 0


def train(data: Digits, settings: Settings, *, title: str, state: lanesum.torch.State | None = None) -> Curve:
    """Train a new model on all ranks of the default process group.

    With a ``state`` the gradients go through lanesum, otherwise through the process group (plain DDP). Initial weights,
    shards and order are identical in both cases. Raises the exceptions of the hook.
    """
    rank, workers = dist.get_rank(), dist.get_world_size()
    steps = settings.steps_per_epoch(len(data.train_labels), workers)
    torch.manual_seed(settings.seed)
    model = DistributedDataParallel(DigitsNet())
    if state is not None:
        model.register_comm_hook(state, lanesum.torch.hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=settings.lr, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.lr, total_steps=settings.epochs * steps, cycle_momentum=False
    )
    loss_of = nn.CrossEntropyLoss()
    curve = Curve(elements=sum(parameter.numel() for parameter in model.parameters()))
    start = time.perf_counter()
    with TrainingProgress(title, settings.epochs * steps, rank=rank, counted=state is not None) as progress:
        for epoch in range(settings.epochs):
            generator = torch.Generator().manual_seed(settings.seed * 1_000_003 + epoch)
            shard = torch.randperm(len(data.train_labels), generator=generator)[rank::workers]
            for chosen in shard[: steps * settings.batch].split(settings.batch):
                begin = time.perf_counter()
                optimizer.zero_grad()
                loss = loss_of(model(data.train_images[chosen]), data.train_labels[chosen])
                loss.backward()
                optimizer.step()
                schedule.step()
                curve.losses.append(loss.item())
                curve.step_s.append(time.perf_counter() - begin)
                progress.step(curve.losses[-1])
            # Every rank tests: 360 small images take less time than a broadcast of the result.
            curve.accuracy.append(accuracy(model.module, data.test_images, data.test_labels))
            progress.epoch(epoch + 1, settings.epochs, sum(curve.losses[-steps:]) / steps, curve.accuracy[-1])
    curve.seconds = time.perf_counter() - start
    weights = torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])
    curve.weights_sha256 = hashlib.sha256(weights.numpy().tobytes()).hexdigest()
    return curve
