# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""DDP communication hook, and its registration.

This module has no ``from __future__ import annotations``. ``register_comm_hook`` compares the annotation *objects* of
the hook with ``dist.GradBucket`` and ``torch.futures.Future[torch.Tensor]``, and refuses strings (PyTorch 2.13,
``DistributedDataParallel._check_comm_hook``). The same check demands the name ``bucket`` for the second parameter.
"""

import sys
import warnings
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.nn.parallel import DistributedDataParallel

from lanesum.errors import ConfigurationError
from lanesum.torch.checkpoint import CopiedState
from lanesum.torch.collectives import job_of
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


def attach(model: torch.nn.Module, *, replicas: DeviceMesh | None = None, **options: Any) -> State:
    """Let lanesum average the gradients of ``model``: join the job, wait for its other workers, register the hook.

    Call it on all ranks, right after the model was wrapped. Without a job in the environment or in ``options``, one is
    admitted for the ranks of the process group.

    Args:
        model: a DistributedDataParallel, which may be compiled, or a model that ``fully_shard`` (FSDP2) has sharded.
            A DistributedDataParallel over a sub-group has a job of its own.
        replicas: for FSDP2, the dimension of the mesh whose ranks have the same shard; each shard has a job of its own.
            Without replicas, the ranks that share the model are one job, which reduce-scatters the gradients.
        options: arguments of :meth:`State.join`, for example ``codec``. For FSDP2 without replicas also ``gather``:
            True gathers the parameters by lanesum, not by the process group; "int8" does so in 8 bits.

    Returns:
        The state. Call ``leave`` on it after the last step.

    Raises:
        ConfigurationError: the model is no DistributedDataParallel, has a hook already, mixed_precision, an optimizer
            that runs in backward, or no parameter that requires a gradient. Or it is sharded by FSDP1, over several
            meshes, or with a codec that has error feedback.
        LanesumError: the exceptions of :meth:`State.join`.
    """
    model = getattr(model, "_orig_mod", model)
    fsdp = sys.modules.get("torch.distributed.fsdp")
    if fsdp is not None and isinstance(model, fsdp.FullyShardedDataParallel):
        raise ConfigurationError(
            "attach does not support FullyShardedDataParallel (FSDP1): it has no hook for hybrid sharding.",
            "Use DistributedDataParallel, or fully_shard (FSDP2) with replicas.",
        )
    if replicas is not None or (fsdp is not None and any(isinstance(one, fsdp.FSDPModule) for one in model.modules())):
        from lanesum.torch.fsdp import attach_fsdp  # its imports take time

        return attach_fsdp(model, replicas, **options)
    wrapper = _checked(model)
    group = wrapper.process_group
    if not {"group", "worker", "local_group"} & options.keys() and group.size() < dist.get_world_size():
        options |= {"job": job_of(group, **options), "group": group}
    state = State.join(model=wrapper, **options)
    try:
        wrapper.register_comm_hook(state, hook)
    except RuntimeError as error:
        state._warn_unused.detach()
        state.close()
        raise _refused(str(error)) from error
    return state


def _checked(model: torch.nn.Module) -> DistributedDataParallel:
    if not isinstance(model, DistributedDataParallel):
        raise ConfigurationError(
            f"attach takes a DistributedDataParallel, not {type(model).__name__}.",
            "Wrap the model: torch.nn.parallel.DistributedDataParallel(model).",
        )
    # A copy of a model has the hooks of the model in this list, but not in its reducer.
    if others := [one for one, state in model._comm_hooks if not isinstance(state, CopiedState)]:
        other = others[0]
        raise _refused(f"it has {other.__module__}.{other.__qualname__}")
    if model.mixed_precision is not None:
        raise ConfigurationError(
            "The DistributedDataParallel has mixed_precision, which casts gradients by a hook of its own.",
            "Wrap the model without it, and compute the loss under torch.autocast; or train a model in bfloat16.",
        )
    if any(hasattr(parameter, "_in_backward_optimizers") for parameter in model.parameters()):
        raise ConfigurationError(
            "An optimizer of the model runs in backward, by a hook of DDP that excludes lanesum's.",
            "Leave _apply_optimizer_in_backward out, and call optimizer.step() after backward.",
        )
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ConfigurationError(
            "No parameter of the model requires a gradient, so there is nothing to average.",
            "Set requires_grad before the model is wrapped, or train it without lanesum.",
        )
    # Parameters may have gradients of an earlier wrapper.
    if model._has_rebuilt_buckets or (model._lazy_init_ran and any(one.grad is not None for one in model.parameters())):
        warnings.warn(
            "lanesum was attached after a backward pass: the process group averaged the earlier gradients. Call attach "
            "right after the model was wrapped.",
            stacklevel=3,
        )
    return model


def _refused(why: str) -> ConfigurationError:
    return ConfigurationError(
        f"The DistributedDataParallel does not accept the hook of lanesum: {why}.",
        "Attach once, before the first backward; wrap the model anew to attach again.",
    )
