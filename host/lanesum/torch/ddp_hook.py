# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The DDP communication hook.

No ``from __future__ import annotations`` here: ``register_comm_hook`` compares the annotation *objects* of the hook
with ``dist.GradBucket`` and ``torch.futures.Future[torch.Tensor]``, and refuses strings (PyTorch 2.13,
``DistributedDataParallel._check_comm_hook``). For the same check the second parameter is called ``bucket``.
"""

import torch
import torch.distributed as dist

from lanesum.torch.state import State


def hook(state: State, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Average one bucket over the workers of ``state``'s job.

    Args:
        state: the same object for every bucket and step of one model.
        bucket: any floating-point type, CPU or CUDA; not sparse.

    Returns:
        At once, a future of the bucket's buffer with the mean in it: the codec works in float32, the result has the
        buffer's type. Of a float32 bucket on a GPU it may be another tensor, as DDP allows. All workers get the same
        bits.

    Raises:
        ConfigurationError: the gradients are sparse or complex, or the checkpointed error feedback is another
            model's.
        LanesumError: an earlier bucket failed; the error of that bucket. What fails after the hook has returned is
            raised by ``backward()``, with its own type.
    """
    return state.submit(bucket)
