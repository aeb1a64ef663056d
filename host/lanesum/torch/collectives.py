# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All-reduce of a tensor over a process group, and the job of each group."""

from __future__ import annotations

import os
from typing import Any, cast

import torch
import torch.distributed as dist

from lanesum import environment
from lanesum.codecs.base import Codec
from lanesum.codecs.registry import CodecSpec
from lanesum.errors import ConfigurationError
from lanesum.joining import DEFAULT_WAIT_S, controller_address
from lanesum.torch.admission import admitted_job
from lanesum.torch.state import State

#: Codec of all-reduces without a name for error feedback: the error of each is below that of float32.
EXACT = "fixed"


def all_reduce(
    tensor: torch.Tensor,
    group: dist.ProcessGroup | None = None,
    op: dist.ReduceOp.RedOpType = dist.ReduceOp.SUM,
    codec: CodecSpec | Codec | None = None,
) -> torch.Tensor:
    """Return the sum or mean of ``tensor`` over the ranks of ``group``; it has the same bits on all of them.

    All ranks of the group must call it, with tensors of the same shape. The first call joins the group's job, as
    :func:`lanesum.torch.attach` does. If that was called before, the call uses its job.

    Args:
        tensor: floating-point, on the host or on a CUDA device, dense or sparse (COO). It is not changed.
        group: all ranks by default. A sub-group has a job of its own, which the controller admits.
        op: SUM or AVG.
        codec: name or object, for dense tensors; ``fixed`` by default. Rows of a sparse tensor are always summed as by
            ``fixed``, without the rows that are zero on all workers.

    Returns:
        A tensor of the same shape, data type and device, computed in float32. For a sparse tensor, a coalesced one.

    Raises:
        ConfigurationError: no process group, another operation, or a tensor that is not floating-point.
        LanesumError: the exceptions of :meth:`State.join` and :meth:`lanesum.session.Session.all_reduce`.
    """
    if op not in (dist.ReduceOp.SUM, dist.ReduceOp.AVG):
        raise ConfigurationError(
            f"lanesum.torch.all_reduce computes SUM and AVG, not {op}.", "Use torch.distributed.all_reduce."
        )
    if not dist.is_initialized():
        raise ConfigurationError(
            "lanesum.torch.all_reduce needs a process group.",
            "Call torch.distributed.init_process_group first, or use lanesum.session.Session.",
        )
    if tensor.is_sparse and codec not in (None, EXACT):
        raise ConfigurationError(
            f"Rows of sparse tensors are summed exactly, not by codec {codec!r}.", "Name no codec, or call to_dense()."
        )
    state = state_of(cast(dist.ProcessGroup, group or dist.group.WORLD), codec=EXACT)
    own = tensor.detach() if tensor.is_sparse else tensor.detach().clone()
    return state.all_reduce(own, codec=codec or EXACT, average=op == dist.ReduceOp.AVG).wait()


def state_of(group: dist.ProcessGroup, **options: Any) -> State:
    """Return the membership in the job of ``group``, joined on the first call, which all ranks of it must make.

    ``options`` are arguments of :meth:`State.join`, for that call. Raises its exceptions.
    """
    state = State.joined(group)
    return State.join(**{**options, "job": job_of(group, **options), "group": group}) if state is None else state


def job_of(
    group: dist.ProcessGroup,
    *,
    controller: str | None = None,
    job: str | None = None,
    codec: CodecSpec | Codec | None = None,
    wait_s: float = DEFAULT_WAIT_S,
    **_: Any,
) -> str | None:
    """Return the name of the job of ``group``, and admit that of a sub-group; ``job`` is the name for all ranks.

    It takes all arguments of :meth:`State.join`.

    Raises:
        ConfigurationError: a sub-group needs a controller.
        ControllerError: the controller does not admit the job; on all ranks of the group.
        NotReadyError: a rank of the group has not called it in time.
    """
    if group.size() == dist.get_world_size():
        return job
    if controller_address(controller) is None:
        raise ConfigurationError(
            "A sub-group needs a controller that admits a job for it.", f"Set {environment.CONTROLLER}."
        )
    named = job or os.environ.get(environment.JOB)
    name = f"{named}.{'-'.join(map(str, dist.get_process_group_ranks(group)))}" if named else None
    return admitted_job(controller, name, codec, admit=True, group=group, wait_s=wait_s)
