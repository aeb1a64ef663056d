# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Communication hooks of peers.

This module has no ``from __future__ import annotations``, for the reason given in ``lanesum.torch.state``.
"""

import torch
import torch.distributed as dist

from lanesum_lab.train.two_shot import TwoShot


def keep_hook(state: None, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Return the worker's own gradient."""
    future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def two_shot_hook(state: TwoShot, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Average the bucket by a two-shot all-reduce."""
    return state.submit(bucket.buffer())
