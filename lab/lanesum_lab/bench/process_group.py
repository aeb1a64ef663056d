# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A process group of this process alone, for PyTorch's own hooks to run in."""

from __future__ import annotations

import atexit


def join_alone() -> None:
    """Make it the default group, where there is none, until the process ends.

    It is not given back before: the futures of PyTorch's PowerSGD hook hold the group, and where a thread of gloo lets
    go of the last of them after ``destroy_process_group``, the thread is to wait for its own end ("Resource deadlock
    avoided"), which aborts the process. Groups for one comparison each did so once in hundreds.
    """
    import torch.distributed as dist

    if not dist.is_initialized():
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        atexit.register(_leave)


def _leave() -> None:
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()
