# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""FSDP2 (``fully_shard``): lanesum averages the shards of replicas, or reduce-scatters the gradients.

With replicas, every rank shards the model over the ranks of one dimension of a mesh. The ranks with the same shard, one
in each replica, are the workers of one job. Without replicas, the ranks that share the model are the workers: each gets
the mean of its shards alone. The process group gathers the parameters, or with ``gather`` the job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule
from torch.distributed.fsdp._fully_shard._fsdp_api import ReduceScatter
from torch.distributed.fsdp._fully_shard._fsdp_collectives import DefaultAllGather, DefaultReduceScatter
from torch.distributed.tensor import DTensor

from lanesum.codecs.base import Part
from lanesum.errors import ConfigurationError
from lanesum.torch import int8
from lanesum.torch.collectives import state_of
from lanesum.torch.parameters import parameter_names
from lanesum.torch.process_group import AllReduceWork
from lanesum.torch.state import State

_MIN_PYTORCH = "2.13"
_HOW = (
    'Build a mesh with two dimensions, shard with fully_shard(..., mesh=mesh["shard"]), and pass '
    'replicas=mesh["replicate"].'
)


Gather = bool | Literal["int8"]


def attach_fsdp(
    model: torch.nn.Module, replicas: DeviceMesh | None, *, gather: Gather = False, **options: Any
) -> State:
    """Average the gradients of an FSDP2 ``model``; see :func:`lanesum.torch.attach`."""
    if gather not in (False, True, "int8") or (gather and replicas is not None):
        whose = "" if replicas is None else " for a model with replicas"
        raise ConfigurationError(
            f"gather is {gather!r}{whose}.",
            'Pass True for exact parameters, "int8" for parameters in 8 bits, or leave it out. The replicas of a model '
            "gather by their process group.",
        )
    modules = {name: module for name, module in model.named_modules() if isinstance(module, FSDPModule)}
    if not modules:
        raise ConfigurationError(
            f"replicas is for models of FSDP2, and fully_shard has not sharded this {type(model).__name__}.",
            "Shard the model first, or leave replicas out.",
        )
    if torch.__version__ < _MIN_PYTORCH:
        what = f"FSDP2 needs PyTorch {_MIN_PYTORCH} or newer, not {torch.__version__}."
        raise ConfigurationError(what, "Update PyTorch.")
    if replicas is None:
        return _attach_shards(model, modules, options, gather)
    if replicas.ndim != 1:
        raise ConfigurationError(f"replicas has {replicas.ndim} dimensions, not 1.", _HOW)
    shards = _shards(model, modules)
    group = replicas.get_group()
    state = state_of(group, **options)
    for one in shards:  # as DDP does: all replicas begin with the same weights
        dist.broadcast(one.to_local().detach(), group=group, group_src=0)
    names = parameter_names(model)
    for name, module in modules.items():
        for own in module._get_fsdp_state()._fsdp_param_groups:  # what is used of it has no public counterpart
            module.set_all_reduce_hook(_hook(state, own, f"{name or 'root'}.gradients", names))
    return state


def _shards(model: torch.nn.Module, modules: dict[str, FSDPModule]) -> list[DTensor]:
    """Return the sharded parameters. Raises ConfigurationError if FSDP2 averages replicas itself."""
    for module in modules.values():
        module.reshard()  # a forward pass may have left the parameters of all shards in place of the own ones
    shards: list[DTensor] = [one for one in model.parameters() if isinstance(one, DTensor)]
    if any(one.device_mesh.ndim != 1 for one in shards):
        raise ConfigurationError(
            "The model is sharded over a mesh with replicas, so FSDP2 averages the replicas itself.",
            f'{_HOW} Or let the backend average: init_device_mesh(..., backend_override={{"replicate": "lanesum"}}).',
        )
    return shards


def _attach_shards(
    model: torch.nn.Module, modules: dict[str, FSDPModule], options: dict[str, Any], gather: Gather
) -> State:
    """Reduce-scatter the gradients of a model without replicas, and gather its parameters."""
    meshes = {one.device_mesh for one in _shards(model, modules)}
    if len(meshes) != 1:
        raise ConfigurationError(
            f"The model is sharded over {len(meshes)} meshes, and a job has the ranks of one.",
            "Shard all modules over one mesh of one dimension.",
        )
    groups = {name: module._get_fsdp_state()._fsdp_param_groups for name, module in modules.items()}
    all_groups = [own for of_module in groups.values() for own in of_module]
    _check_default([own._reduce_scatter_comm for own in all_groups], DefaultReduceScatter, "reduce-scatter")
    if gather:
        _check_default([own._all_gather_comm for own in all_groups], DefaultAllGather, "all-gather")
    state = state_of(meshes.pop().get_group(), **options)
    try:
        _check_job(state, gather)
    except ConfigurationError:
        state._warn_unused.detach()
        state.leave()  # all ranks raise this
        raise
    for name, module in modules.items():
        if not groups[name]:
            continue
        module.set_custom_reduce_scatter(ShardedSum(state, f"{name or 'root'}.gradients"))
        if gather:
            module.set_custom_all_gather(GatheredShards(state, f"{name or 'root'}.parameters", gather == "int8"))
    return state


def _check_default(comms: Sequence[object], default: type, what: str) -> None:
    """Raise ConfigurationError if the model has a collective of its own."""
    for comm in comms:
        if type(comm) is not default:
            raise ConfigurationError(
                f"The model has the {what} {type(comm).__name__} already.",
                f"Attach once; or shard the model anew, without set_custom_{what.replace('-', '_')} and allocators of "
                "its own.",
            )


def _check_job(state: State, gather: Gather) -> None:
    """Raise ConfigurationError if the job cannot reduce-scatter the gradients, or gather the parameters."""
    if state.error_feedback is not None or state.codec.traits.keeps_error_feedback:
        raise ConfigurationError(
            f"Codec {state.codec.name} has error feedback here, as large as the whole model on every rank; full "
            "sharding keeps none.",
            "Use codec fixed, or thc without error and budget, in a job without a quorum.",
        )
    ticket = state.session.ticket
    if gather and ticket.quorum not in (0, ticket.workers):
        raise ConfigurationError(
            f"gather is {gather!r}, and a result of job {ticket.label} needs only {ticket.quorum} of {ticket.workers} "
            "workers.",
            "Leave gather out, or admit the job without a quorum.",
        )


class GatheredShards(DefaultAllGather):
    """All-gather of the parameters of one module: the exact bytes of all shards, or values in 8 bits.

    Args:
        state: membership in the job of the ranks that share the model.
        name: of the parameters, for errors.
        in_int8: send 8 bits for each value; parameters of several data types stay exact.
    """

    def __init__(self, state: State, name: str, in_int8: bool) -> None:
        self._state, self._name, self._in_int8 = state, name, in_int8

    def __call__(
        self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: dist.ProcessGroup, async_op: bool = False
    ) -> dist.Work | None:
        """Write the shards of all ranks to ``output_tensor``; by the process group once the state is closed.

        Raises the errors of the session.
        """
        if self._state.closed:
            return super().__call__(output_tensor, input_tensor, group, async_op)
        if self._in_int8 and input_tensor.is_floating_point():
            own, shards = int8.encode(input_tensor), self._state.session.ticket.workers
            everything = own.new_empty(shards * own.numel())
            future = self._state.all_gather(own, everything, name=f"{self._name} in int8")
            work: AllReduceWork = Int8Work(output_tensor, everything, future, shards)
        else:
            future = self._state.all_gather(input_tensor, output_tensor, name=self._name)
            work = AllReduceWork([output_tensor], [future])
        if async_op:
            return work
        work.wait()
        return None


class Int8Work(AllReduceWork):
    """Handle of an all-gather in 8 bits. ``encoded``: gets the bytes of all shards; ``output``: their values."""

    def __init__(
        self, output: torch.Tensor, encoded: torch.Tensor, future: torch.futures.Future[torch.Tensor], shards: int
    ) -> None:
        super().__init__([output], [future])
        self._encoded, self._shards = encoded, shards

    def _store(self, _: object = None) -> list[torch.Tensor]:
        both = (one.tensor_split(self._shards) for one in (self._encoded, self._tensors[0]))
        for encoded, values in zip(*both, strict=True):
            int8.decode(encoded, values)
        return self._tensors


class ShardedSum(ReduceScatter):
    """Reduce-scatter of the gradients of one module, in float32.

    Args:
        state: membership in the job of the ranks that share the model.
        name: of the gradients, for errors.
    """

    def __init__(self, state: State, name: str) -> None:
        self._state, self._name = state, name

    def allocate(self, size: Any, *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """Return a new tensor."""
        return torch.empty(size, dtype=dtype, device=device)

    def __call__(
        self,
        output_tensor: torch.Tensor,
        input_tensor: torch.Tensor,
        group: dist.ProcessGroup,
        op: Any,
        async_op: bool = False,
    ) -> None:
        """Write the sum or mean of this rank's shard to ``output_tensor``, and wait for it.

        Raises ConfigurationError for another operation than SUM and AVG, and the errors of the session.
        """
        if op not in (dist.ReduceOp.SUM, dist.ReduceOp.AVG):
            raise ConfigurationError(
                f"lanesum reduce-scatters {self._name} by SUM and AVG, not by {op}.",
                "With set_gradient_divide_factor, call set_force_sum_reduction_for_comms(True) as well.",
            )
        average = op == dist.ReduceOp.AVG
        future = self._state.all_reduce(input_tensor, average=average, name=self._name, output=output_tensor)
        try:
            summed = future.wait()
        except RuntimeError as error:
            raise self._state.error or error from None
        if summed is not output_tensor:
            output_tensor.copy_(summed)


def _hook(state: State, group: Any, name: str, names: dict[torch.Tensor, str]) -> Any:
    keys = [(one, names[one.sharded_param]) for one in group.fsdp_params]
    steps = state.steps
    if steps is not None:
        for one, key in keys:
            steps.watch(one.sharded_param, key, in_backward=False)
    parts: list[Part] = []
    held: dict[str, torch.Tensor] = {}  # sums of steps without an all-reduce, by parameter
    post_backward = group.post_backward

    def note_parts(*unused: Any) -> None:
        # The vector has the parameters with a gradient alone. Those may be others in every step.
        parts.clear()
        for one, key in keys:
            whole = getattr(one, "_unsharded_param", None)
            has_none = whole is None or (whole.grad is None and one.unsharded_accumulated_grad is None)
            if not has_none or (whole is not None and whole.requires_grad and group.reduce_scatter_unused_params):
                start = parts[-1].stop if parts else 0
                parts.append(Part(key, start, start + one.padded_sharded_param_size.numel()))
        post_backward(*unused)

    def all_reduce(gradients: torch.Tensor) -> None:
        # A divisor that the user has set is already that of all ranks. Else FSDP has divided by the number of shards.
        average, flat = group.gradient_divide_factor is None, gradients.view(-1)
        if not group.all_reduce_grads:  # FSDP accumulates the zeros that are left
            for part in parts:
                held[part.key] = held.pop(part.key, 0) + flat[part.start : part.stop]
            flat.zero_()
            return
        if unused := held.keys() - {part.key for part in parts}:
            raise ConfigurationError(
                f"Parameter {min(unused)} has a gradient of steps without an all-reduce, but none in this step.",
                "Use the same parameters in all backward passes of a step, or set_reduce_scatter_unused_params(True).",
            )
        for part in parts:
            if part.key in held:
                flat[part.start : part.stop] += held.pop(part.key)
            if steps is not None:  # FSDP accumulates the mean in the gradients after this
                steps.find_dropped(part.key)
        mean = state.all_reduce(flat, average=average, name=name, parts=tuple(parts)).wait()
        if mean is not flat:
            flat.copy_(mean)

    group.post_backward = note_parts
    return all_reduce
