# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a DDP communication hook in two lines.

::

    state = lanesum.torch.State.join()
    model.register_comm_hook(state, lanesum.torch.hook)

Every gradient bucket of DistributedDataParallel is then summed through the job's aggregation point instead of the
process group, and averaged, as DDP expects of a hook.
"""

from lanesum.torch.ddp_hook import hook
from lanesum.torch.memory import ParameterMemory
from lanesum.torch.state import HookStats, State
from lanesum.torch.sum_check import SumCheck, SumCheckError

__all__ = ["HookStats", "ParameterMemory", "State", "SumCheck", "SumCheckError", "hook"]
