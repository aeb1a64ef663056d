# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A small task that the training examples share: model, data, and a report at the end."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor
from torch.utils.data import TensorDataset

import lanesum.torch


def arguments(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options of every training example."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--controller", default=None, help="host:port of the controller (LANESUM_CONTROLLER)")
    parser.add_argument("--steps", type=int, default=30, help="number of optimizer steps")
    return parser


def make_net() -> torch.nn.Module:
    """Return a model with the same weights on all ranks."""
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))


def make_data(rank: int) -> TensorDataset:
    """Return samples of a function: other samples on each rank, of the same function."""
    generator = torch.Generator().manual_seed(rank + 1)
    inputs = torch.randn(256, 20, generator=generator)
    return TensorDataset(inputs, inputs[:, :1] * inputs[:, 1:2])


def replicas_agree(module: torch.nn.Module) -> bool:
    """Return True if the weights of all ranks are the same, bit for bit."""
    # Parameters of FSDP2 are sharded.
    full = [one.full_tensor() if isinstance(one, DTensor) else one for one in module.parameters()]
    weights = torch.cat([one.detach().float().reshape(-1).cpu() for one in full])
    others = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
    dist.all_gather(others, weights)
    return all(torch.equal(one, weights) for one in others)


def save(path: Path, values: object) -> None:
    """Write a file that is complete or absent, even if this process is killed."""
    torch.save(values, path.with_suffix(".new"))
    os.replace(path.with_suffix(".new"), path)


def report(state: lanesum.torch.State, module: torch.nn.Module) -> None:
    """Print the figures of lanesum, and whether the replicas agree, on rank 0."""
    agree = replicas_agree(module)
    if dist.get_rank() == 0:
        figures = state.stats.as_dict()
        print(f"{figures['buckets']} buckets averaged, {figures['ratio']:.1f} times fewer bytes than float32")
        print(f"replicas agree: {agree}", flush=True)


def finish(state: lanesum.torch.State) -> None:
    """Leave the job together with all other workers, and end this process."""
    state.leave()
    dist.destroy_process_group()
    # Threads of gloo can abort a process whose interpreter ends (https://github.com/pytorch/pytorch/issues/190489).
    sys.stdout.flush()
    os._exit(0)
