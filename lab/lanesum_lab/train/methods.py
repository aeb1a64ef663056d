# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ways to average the gradients of a training: the codecs of lanesum, and peers over PyTorch's process group.

This module has no ``from __future__ import annotations``, for the reason given in ``lanesum.torch.state``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

import lanesum.torch
from lanesum import codecs
from lanesum.codecs.base import Codec
from lanesum.errors import ConfigurationError
from lanesum_lab.train.jobs import Task
from lanesum_lab.train.loop import Curve, Hook, TrainingSettings, train
from lanesum_lab.train.two_shot import TwoShot

#: Plain DDP: float32, no compression.
GLOO = "gloo"
#: No communication: every worker uses its own gradient. Lower bound for the time of a step.
ALONE = "alone"
POWER_SGD_RANK = 4
TOP_K_DENSITY = 0.1
DGC_DENSITY = 0.01


@dataclass(frozen=True, slots=True)
class Peer:
    """A way without lanesum.

    Attributes:
        hook: makes a new communication hook; None for plain DDP.
    """

    what: str
    hook: Callable[[], Hook | None]
    one_bucket: bool = False


def keep_hook(state: None, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Return the worker's own gradient."""
    future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def two_shot_hook(state: TwoShot, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Average the bucket by a two-shot all-reduce."""
    return state.submit(bucket.buffer())


def _power_sgd() -> Hook:
    # PyTorch's minimum: the first two steps are not compressed.
    state = powerSGD_hook.PowerSGDState(
        None, matrix_approximation_rank=POWER_SGD_RANK, start_powerSGD_iter=2, use_error_feedback=True, warm_start=True
    )
    return state, powerSGD_hook.powerSGD_hook


PEERS: dict[str, Peer] = {
    ALONE: Peer("no communication", lambda: (None, keep_hook)),
    GLOO: Peer("DDP, float32", lambda: None),
    "gloo-fp16": Peer("PyTorch's float16 hook", lambda: (None, default_hooks.fp16_compress_hook)),
    # Over gloo the hook's collectives for several buckets start in another order on every rank, and gloo aborts.
    "gloo-powersgd": Peer(f"PyTorch's PowerSGD hook, rank {POWER_SGD_RANK}", _power_sgd, one_bucket=True),
    "two-shot-8": Peer("two-shot all-reduce with 8 bits, over gloo", lambda: (TwoShot(8), two_shot_hook)),
    "two-shot-4": Peer("two-shot all-reduce with 4 bits, over gloo", lambda: (TwoShot(4), two_shot_hook)),
}


def check_method(name: str, workers: int) -> None:
    """Raise ConfigurationError if there is no peer and no codec ``name`` for ``workers`` workers."""
    if name not in PEERS and codecs.parse(name)[0] not in codecs.names():
        known = ", ".join([*PEERS, *codecs.names()])
        raise ConfigurationError(f"There is no way {name!r} to average gradients.", f"Known ones: {known}.")
    if name not in PEERS:
        make_codec(name, workers=workers, steps=1)


def make_codec(name: str, *, workers: int, steps: int, momentum: float = 0.9) -> Codec:
    """Return a codec for a training of ``steps`` steps, with the benchmarks' parameters besides those in ``name``."""
    options: dict[str, Any] = {}
    name, given = codecs.parse(name)
    if name == "topk":
        options = {"density": TOP_K_DENSITY}
    elif name == "dgc":
        options = {"density": DGC_DENSITY, "momentum": momentum, "nesterov": True, "warm_up": max(1, steps // 16)}
    return codecs.get({"name": name, **options, **given}, workers=workers)


def applies_momentum(name: str) -> bool:
    """Return True if the optimizer must have no momentum, because the codec applies it."""
    return name.split()[:1] == ["dgc"]


def lanesum_hook(state: lanesum.torch.State) -> Hook:
    """Return the hook of a state."""
    return state, lanesum.torch.hook


def train_by(
    by: str,
    task: Task,
    settings: TrainingSettings,
    join: Callable[[], lanesum.torch.State],
    *,
    title: str,
) -> tuple[Curve, lanesum.torch.HookStats | None]:
    """Train by a method; return the results, and the counters of a codec, for which ``join`` joins the job."""
    if by in PEERS:
        hook, one_bucket = PEERS[by].hook(), PEERS[by].one_bucket
        return train(task, settings, title=title, hook=hook, one_bucket=one_bucket), None
    with join() as state:
        hook = lanesum_hook(state)
        curve = train(task, settings, title=title, hook=hook, counted=True)
        state.leave()
        return curve, state.stats
