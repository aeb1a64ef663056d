# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a DDP communication hook in one line.

::

    state = lanesum.torch.attach(model)

The hook sums every gradient bucket of DistributedDataParallel through the job's aggregation point instead of the
process group. It returns the mean, as DDP expects of a hook. ``all_reduce`` sums one tensor. The import registers the
backend ``lanesum`` of ``torch.distributed``.
"""

from lanesum.torch import process_group
from lanesum.torch.checkpoint import ForeignResidualsError
from lanesum.torch.collectives import all_reduce
from lanesum.torch.ddp_hook import attach, hook
from lanesum.torch.error_feedback import ErrorFeedbackState
from lanesum.torch.parameters import ForeignCheckpointError
from lanesum.torch.state import State
from lanesum.torch.stats import HookStats

__all__ = [
    "ErrorFeedbackState",
    "ForeignCheckpointError",
    "ForeignResidualsError",
    "HookStats",
    "State",
    "all_reduce",
    "attach",
    "hook",
]

process_group.register()
