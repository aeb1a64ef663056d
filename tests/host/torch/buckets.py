# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Buckets of gradients, made without DDP."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import torch
import torch.distributed as dist

import lanesum.torch


@dataclass
class FakeBucket:
    """The part of ``dist.GradBucket`` that the hook uses."""

    tensor: torch.Tensor
    shown: list[torch.nn.Parameter] = field(default_factory=list)
    last: bool = True

    def buffer(self) -> torch.Tensor:
        return self.tensor

    def parameters(self) -> list[torch.nn.Parameter]:
        return self.shown

    def index(self) -> int:
        return 0

    def is_last(self) -> bool:
        return self.last


def parameters(*sizes: int) -> list[torch.nn.Parameter]:
    """Return parameters of these sizes."""
    return [torch.nn.Parameter(torch.zeros(size)) for size in sizes]


def average(state: lanesum.torch.State, bucket: FakeBucket) -> torch.Tensor:
    """Return the mean of one bucket."""
    return lanesum.torch.hook(state, cast(dist.GradBucket, bucket)).wait()


def take_step(parameters: list[torch.nn.Parameter]) -> None:
    """Make a step of an optimizer that changes nothing."""
    for one in parameters:
        one.grad = torch.zeros_like(one)
    torch.optim.SGD(parameters, lr=0.0).step()
