# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Registry of training jobs on data that every machine has: digits, and the text of Python's standard library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import nn

from lanesum.errors import ConfigurationError
from lanesum_lab.train import source_text, task

Batch = tuple[torch.Tensor, torch.Tensor]


class Task(Protocol):
    """Data of a job, and its model.

    Attributes:
        identity: digest of the data; equal on all ranks of a training.
        test: inputs and targets that no batch contains.
    """

    identity: str
    test: Batch

    def model(self) -> nn.Module:
        """Return a new model, which maps inputs to logits; initial weights are from PyTorch's global generator."""

    def batch(self, step: int, rank: int, workers: int, size: int, seed: int) -> Batch:
        """Return a rank's inputs and targets of a step; a function of the arguments alone.

        Raises ConfigurationError if the data does not make a batch.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """A task with settings that suit it.

    Attributes:
        what: the job in words.
        load: loads the data. ``limit`` keeps a part of it for a quick run: images, or bytes of text.
        batch: samples per worker and step.
        lr: maximum learning rate of a one-cycle schedule, for SGD with Nesterov momentum 0.9.
        test_every: steps from one test to the next.
    """

    name: str
    what: str
    load: Callable[[int | None], Task]
    steps: int
    batch: int
    lr: float
    test_every: int


JOBS = {
    job.name: job
    for job in (
        TrainingJob(
            name="digits",
            what="convolutional network of 16,290 parameters on scikit-learn's digits",
            load=task.DigitsTask,
            steps=110,
            batch=32,
            lr=0.03,
            test_every=11,
        ),
        TrainingJob(
            name="bytes",
            what="transformer of 867,072 parameters on the bytes of Python's standard library",
            load=source_text.ByteTask,
            steps=400,
            batch=8,
            lr=0.02,
            test_every=20,
        ),
        TrainingJob(
            name="words",
            what="model of 10,784,544 parameters on the words of Python's standard library, dense gradients",
            load=source_text.WordTask,
            steps=400,
            batch=64,
            lr=1.0,
            test_every=20,
        ),
        TrainingJob(
            name="words-sparse",
            what="model of 10,626,064 parameters on hashed word sequences, with row-sparse gradients",
            load=source_text.SequenceTask,
            steps=400,
            batch=64,
            lr=1.0,
            test_every=20,
        ),
    )
}


def find(name: str) -> TrainingJob:
    """Return the job ``name``. Raises ConfigurationError if there is none."""
    if name not in JOBS:
        raise ConfigurationError(f"There is no training job {name!r}.", f"Known jobs: {', '.join(JOBS)}.")
    return JOBS[name]
