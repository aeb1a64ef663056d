# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Process group of this process alone, for PyTorch's own hooks."""

from __future__ import annotations

import atexit


def join_alone() -> None:
    """Make it the default group, if there is none, until the process ends.

    It is never destroyed: futures of PyTorch's PowerSGD hook hold the group. If a gloo thread drops the last reference
    after ``destroy_process_group``, it joins itself ("Resource deadlock avoided"), which aborts the process. This
    happened once in hundreds of runs.
    """
    import torch.distributed as dist

    if not dist.is_initialized():
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        atexit.register(_leave)


def _leave() -> None:
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()
