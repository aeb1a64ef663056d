# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""DDP communication hook.

This module has no ``from __future__ import annotations``. ``register_comm_hook`` compares the annotation *objects* of
the hook with ``dist.GradBucket`` and ``torch.futures.Future[torch.Tensor]``, and refuses strings (PyTorch 2.13,
``DistributedDataParallel._check_comm_hook``). The same check demands the name ``bucket`` for the second parameter.
"""

import torch
import torch.distributed as dist

from lanesum.torch.state import State


def hook(state: State, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Average one bucket over the workers of ``state``'s job.

    Args:
        state: the same object for every bucket and step of one model.
        bucket: dense, of any floating-point type, on the CPU or on a CUDA device.

    Returns:
        A future of the mean, at once. The codec works in float32; the mean has the data type of the bucket and is
        written to its buffer. For a float32 bucket on a GPU it may be another tensor, as DDP allows. The mean is
        bit-identical on all workers.

    Raises:
        ConfigurationError: the gradients are sparse or complex, or a loaded state belongs to another model.
        LanesumError: the error of an earlier bucket. A failure after the hook has returned is raised by ``backward()``
            with its own type.
    """
    return state.submit(bucket)
