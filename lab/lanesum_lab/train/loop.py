# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The training loop: the same one for every job, with and without lanesum."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from lanesum.errors import ConfigurationError
from lanesum_lab.train.jobs import Batch, Task
from lanesum_lab.train.progress import TrainingProgress

#: State and function that ``DistributedDataParallel.register_comm_hook`` takes.
Hook = tuple[Any, Callable[..., Any]]

# More than any model of the registry has.
ONE_BUCKET_MIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """Settings that are equal on all ranks and in all trainings that are compared.

    Attributes:
        lr: maximum learning rate of a one-cycle schedule, for SGD.
        seed: seed of the initial weights and of the order of the data.
        test_every: steps from one test to the next; the last step is followed by a test, too.
        momentum: Nesterov momentum of the optimizer; 0 for hooks that apply it themselves.
    """

    steps: int
    batch: int
    lr: float
    seed: int
    test_every: int
    momentum: float = 0.9

    def __post_init__(self) -> None:
        if min(self.steps, self.batch, self.test_every) < 1 or self.lr <= 0:
            raise ConfigurationError(
                f"steps={self.steps}, batch={self.batch}, test_every={self.test_every} and lr={self.lr:g} "
                "must be positive."
            )


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Result of a test of the model.

    Attributes:
        step: number of completed steps.
        loss: mean cross entropy.
        accuracy: share of the targets that are the most likely class.
        train_s: seconds of all steps until then, without tests.
    """

    step: int
    loss: float
    accuracy: float
    train_s: float


@dataclass(slots=True)
class Curve:
    """Results of one training on one rank.

    Attributes:
        losses: loss of this rank's batch, one per step.
        step_s: seconds of every step.
        phases: seconds of all steps together, by phase: ``forward`` (data and forward pass), ``backward`` (with the
            communication that is not hidden behind it) and ``optimizer``.
        seconds: time of all steps and tests of this process.
        weights_sha256: SHA-256 of all parameters at the end; it differs between ranks if the replicas differ.
    """

    losses: list[float] = field(default_factory=list)
    tests: list[Evaluation] = field(default_factory=list)
    step_s: list[float] = field(default_factory=list)
    phases: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("forward", "backward", "optimizer"), 0.0))
    seconds: float = 0.0
    weights_sha256: str = ""
    elements: int = 0

    @property
    def accuracy(self) -> list[float]:
        """Share of correct test samples, one per test."""
        return [one.accuracy for one in self.tests]


def train(
    task: Task,
    settings: TrainingSettings,
    *,
    title: str,
    hook: Hook | None = None,
    one_bucket: bool = False,
    counted: bool = False,
) -> Curve:
    """Train a new model on all ranks of the default process group.

    Args:
        settings: settings; initial weights and batches depend on them alone.
        hook: communication hook; None for plain DDP.
        one_bucket: keep all gradients in one bucket instead of DDP's of 25 MiB.
        counted: count the steps for the runner of a fault plan.

    Raises ConfigurationError if the ranks have different data, and the exceptions of the hook.
    """
    rank, workers = dist.get_rank(), dist.get_world_size()
    _compare_data(task, rank, workers)
    torch.manual_seed(settings.seed)
    # The seed gives all ranks the same weights: sending them would take as long as several steps.
    model = DistributedDataParallel(
        task.model(),
        bucket_cap_mb=ONE_BUCKET_MIB if one_bucket else None,
        init_sync=False,
        gradient_as_bucket_view=True,
    )
    if hook is not None:
        model.register_comm_hook(*hook)
    momentum = settings.momentum
    optimizer = torch.optim.SGD(
        model.parameters(), lr=settings.lr, momentum=momentum, nesterov=momentum > 0, fused=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.lr, total_steps=settings.steps, cycle_momentum=False
    )
    loss_of = nn.CrossEntropyLoss()
    curve = Curve(elements=sum(parameter.numel() for parameter in model.parameters()))
    start = time.perf_counter()
    with TrainingProgress(title, settings.steps, rank=rank, counted=counted) as progress:
        for step in range(settings.steps):
            times = [time.perf_counter()]
            inputs, targets = task.batch(step, rank, workers, settings.batch, settings.seed)
            optimizer.zero_grad()
            logits = model(inputs)
            loss = loss_of(logits.flatten(0, -2), targets.flatten())
            times.append(time.perf_counter())
            loss.backward()
            times.append(time.perf_counter())
            optimizer.step()
            schedule.step()
            times.append(time.perf_counter())
            curve.losses.append(loss.item())
            curve.step_s.append(times[-1] - times[0])
            for name, begin, end in zip(curve.phases, times[:-1], times[1:], strict=True):
                curve.phases[name] += end - begin
            progress.step(curve.losses[-1])
            if (step + 1) % settings.test_every == 0 or step + 1 == settings.steps:
                # Every rank tests, which takes less time than to share the result.
                curve.tests.append(Evaluation(step + 1, *evaluate(model.module, task.test), sum(curve.step_s)))
                progress.tested(step + 1, settings.steps, _last(curve), curve.tests[-1].loss, curve.tests[-1].accuracy)
    curve.seconds = time.perf_counter() - start
    weights = torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])
    curve.weights_sha256 = hashlib.sha256(weights.numpy().tobytes()).hexdigest()
    return curve


def _compare_data(task: Task, rank: int, workers: int) -> None:
    identities = [""] * workers
    dist.all_gather_object(identities, task.identity)
    if task.identity != identities[0]:
        raise ConfigurationError(
            f"Rank {rank} has other training data than rank 0.",
            "Use the same version of Python and of scikit-learn on all machines.",
        )


def evaluate(model: nn.Module, test: Batch) -> tuple[float, float]:
    """Return mean cross entropy and accuracy."""
    inputs, targets = test
    with torch.no_grad():
        logits = model(inputs).flatten(0, -2)
        hits: float = (logits.argmax(dim=-1) == targets.flatten()).float().mean().item()
        return nn.functional.cross_entropy(logits, targets.flatten()).item(), hits


def _last(curve: Curve) -> float:
    """Return the mean loss since the test before the last one."""
    before = curve.tests[-2].step if len(curve.tests) > 1 else 0
    return sum(curve.losses[before:]) / len(curve.losses[before:])
