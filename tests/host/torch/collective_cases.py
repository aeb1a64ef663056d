# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Collectives of ``torch.distributed`` in every operation, data type and layout, for ranks that run them.

Values are small integers. Their sums are multiples of the number of ranks, so sums and means are exact in all types.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest
import torch
import torch.distributed as dist

from lanesum.errors import LanesumError
from lanesum.torch.process_group import LanesumProcessGroup
from lanesum.torch.state import State
from tests.host.torch.controllers import environment

RANKS = 4
OPERATIONS = ("SUM", "AVG", "MIN", "MAX", "PRODUCT", "BAND", "BOR", "BXOR")
TYPES = ("float32", "float16", "bfloat16", "float64", "complex64", "int64", "int32", "uint8", "bool")


def own(rank: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return six values of a rank; each has the remainder of its position."""
    values = torch.arange(6) * RANKS + rank * 2 % 3 + torch.tensor([0, 4, 0, 8, 0, 0])
    values = torch.tensor([4, 8, 0, 4, 12, 0]) if dtype is torch.uint8 else values + (rank == 1) + 3 * (rank == 2)
    return values.to(dtype)


def _with(rank: int, value: float) -> torch.Tensor:
    tensor = own(rank)
    if rank == 1:
        tensor[2] = value
    return tensor


def _inference(rank: int) -> torch.Tensor:
    with torch.inference_mode():
        return own(rank)


LAYOUTS: dict[str, Callable[[int], torch.Tensor]] = {
    "contiguous": own,
    "0-dim": lambda rank: own(rank)[1],
    "empty": lambda rank: own(rank)[:0].view(0, 3),
    "transposed": lambda rank: own(rank).view(2, 3).t(),
    "every second element": lambda rank: own(rank).repeat_interleave(2)[::2],
    "channels_last": lambda rank: own(rank).view(1, 3, 1, 2).to(memory_format=torch.channels_last),
    "a view of another tensor": lambda rank: torch.cat([own(rank), own(rank)])[3:9],
    "requires_grad": lambda rank: own(rank).requires_grad_(),
    "of inference mode": _inference,
    "expanded": lambda rank: own(rank)[:1].expand(3),
    "COO": lambda rank: own(rank).view(2, 3).to_sparse(),
    "COO, uncoalesced": lambda rank: torch.sparse_coo_tensor([[1, rank, 1]], own(rank)[:3], (5,)),
    "CSR": lambda rank: own(rank).view(2, 3).to_sparse_csr(),
    "NaN in one element": lambda rank: _with(rank, math.nan),
    "infinity in one element": lambda rank: _with(rank, -math.inf),
}

Group = dist.ProcessGroup
Collective = Callable[[torch.Tensor, int, Group], Any]


def _broadcast(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    dist.broadcast(tensor, 2, group=group)
    return tensor


def _reduce(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    dist.reduce(tensor, 3, group=group)
    return tensor if rank == 3 else None


def _all_reduce_async(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    tensors = [tensor, tensor.clone()]
    works = [dist.all_reduce(one, group=group, async_op=True) for one in tensors]
    for work in reversed(works):
        work.wait()
    return tensors


def _all_reduce_coalesced(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    tensors = [tensor, tensor[:2].clone()]
    later = [one.clone() for one in tensors]
    dist.all_reduce_coalesced(tensors, group=group)
    dist.all_reduce_coalesced(later, group=group, async_op=True).wait()
    return tensors, later


def _coalescing_manager(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    other = tensor.clone()
    with dist.distributed_c10d._coalescing_manager(group):
        dist.all_reduce(tensor, group=group)
        dist.all_reduce(other, group=group)
    return [tensor, other]


def _all_gather(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    gathered = [torch.zeros_like(tensor) for _ in range(RANKS)]
    dist.all_gather(gathered, tensor, group=group)
    return gathered


def _all_gather_coalesced(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    gathered = [[torch.zeros_like(tensor)] for _ in range(RANKS)]
    dist.all_gather_coalesced(gathered, [tensor], group=group)
    return gathered


def _all_gather_into_tensor(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    gathered = tensor.new_zeros(RANKS * 6)
    dist.all_gather_into_tensor(gathered, tensor, group=group)
    return gathered


def _gather(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    gathered = [torch.zeros_like(tensor) for _ in range(RANKS)] if rank == 1 else None
    dist.gather(tensor, gathered, dst=1, group=group)
    return gathered


def _scatter(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    scattered = [tensor + tensor.new_full((), part) for part in range(RANKS)] if rank == 1 else None
    dist.scatter(tensor, scattered, src=1, group=group)
    return tensor


def _reduce_scatter(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    reduced = torch.zeros_like(tensor)
    dist.reduce_scatter(reduced, [tensor] * RANKS, group=group)
    return reduced


def _reduce_scatter_tensor(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    reduced = torch.zeros_like(tensor)
    dist.reduce_scatter_tensor(reduced, tensor.repeat(RANKS), group=group)
    return reduced


def _reduce_scatter_coalesced(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    reduced = [torch.zeros_like(tensor), torch.zeros_like(tensor[:2])]
    with dist.distributed_c10d._coalescing_manager(group):
        for output in reduced:
            dist.reduce_scatter_tensor(output, tensor[: output.numel()].repeat(RANKS), group=group)
    return reduced


def _all_to_all(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    swapped = [torch.zeros_like(tensor) for _ in range(RANKS)]
    dist.all_to_all(swapped, [tensor] * RANKS, group=group)
    return swapped


def _all_to_all_single(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    swapped = tensor.new_zeros(RANKS * 6)
    dist.all_to_all_single(swapped, tensor.repeat(RANKS), group=group)
    return swapped


def _send_recv(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    if rank < 2:
        dist.send(tensor, rank + 2, group=group)
    else:
        dist.recv(tensor, rank - 2, group=group)
    return tensor


def _batch_isend_irecv(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    got = torch.zeros_like(tensor)
    peers = ((dist.isend, tensor, (rank + 1) % RANKS), (dist.irecv, got, (rank - 1) % RANKS))
    for work in dist.batch_isend_irecv([dist.P2POp(call, one, peer, group) for call, one, peer in peers]):
        work.wait()
    return got


def _functional(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    from torch.distributed import _functional_collectives as functional

    return functional.wait_tensor(functional.all_reduce(tensor, "sum", group))


def _autograd(tensor: torch.Tensor, rank: int, group: Group) -> Any:
    from torch.distributed.nn import functional  # type: ignore[attr-defined]

    return functional.all_reduce(tensor, group=group)


COLLECTIVES: dict[str, Collective] = {
    "`all_reduce`, two in flight": _all_reduce_async,
    "`all_reduce_coalesced`": _all_reduce_coalesced,
    "`all_reduce` in `_coalescing_manager`": _coalescing_manager,
    "`_functional_collectives.all_reduce`": _functional,
    "`nn.functional.all_reduce`": _autograd,
    "`reduce`": _reduce,
    "`broadcast`": _broadcast,
    "`all_gather`": _all_gather,
    "`all_gather_coalesced`": _all_gather_coalesced,
    "`all_gather_into_tensor`": _all_gather_into_tensor,
    "`gather`": _gather,
    "`scatter`": _scatter,
    "`reduce_scatter`": _reduce_scatter,
    "`reduce_scatter_tensor`": _reduce_scatter_tensor,
    "`reduce_scatter_tensor`, coalesced": _reduce_scatter_coalesced,
    "`all_to_all`": _all_to_all,
    "`all_to_all_single`": _all_to_all_single,
    "`send`, `recv`": _send_recv,
    "`batch_isend_irecv`": _batch_isend_irecv,
}


def _all_gather_object(rank: int, group: Group) -> Any:
    objects: list[Any] = [None] * RANKS
    dist.all_gather_object(objects, {"rank": rank}, group=group)
    return objects


def _broadcast_object_list(rank: int, group: Group) -> Any:
    objects: list[Any] = [{"rank": rank}]
    dist.broadcast_object_list(objects, 1, group=group)
    return objects


def _gather_object(rank: int, group: Group) -> Any:
    objects: list[Any] | None = [None] * RANKS if rank == 0 else None
    dist.gather_object({"rank": rank}, objects, group=group)
    return objects


def _scatter_object_list(rank: int, group: Group) -> Any:
    objects: list[Any] = [None]
    dist.scatter_object_list(objects, [f"for {one}" for one in range(RANKS)], 0, group=group)
    return objects


def _barrier(rank: int, group: Group) -> Any:
    return dist.barrier(group=group)


def _monitored_barrier(rank: int, group: Group) -> Any:
    return dist.monitored_barrier(group, timedelta(seconds=60))


def _store(rank: int, group: Group) -> Any:
    store = group.get_group_store()
    store.set(f"rank {rank}", "here")
    return store.get(f"rank {(rank + 1) % RANKS}")


def _ranks(rank: int, group: Group) -> Any:
    return group.rank(), group.size(), dist.get_process_group_ranks(group), dist.get_group_rank(group, rank)


WITHOUT_TENSORS: dict[str, Callable[[int, Group], Any]] = {
    "`all_gather_object`": _all_gather_object,
    "`broadcast_object_list`": _broadcast_object_list,
    "`gather_object`": _gather_object,
    "`scatter_object_list`": _scatter_object_list,
    "`barrier`": _barrier,
    "`monitored_barrier`": _monitored_barrier,
    "store of the group": _store,
    "rank, size, ranks": _ranks,
}


def plain(result: Any) -> Any:
    """Return a result without tensors, for comparisons and pickles."""
    if isinstance(result, torch.Tensor):
        return plain(result.detach().to_dense().tolist())
    if isinstance(result, list | tuple):
        return [plain(one) for one in result]
    return "NaN" if isinstance(result, float) and math.isnan(result) else result


#: Name of a case, its outcome (values, or an error's type), and whether a lanesum job has summed or gathered.
Outcomes = dict[tuple[str, str], tuple[Any, bool]]


def outcomes(rank: int, variables: dict[str, str], backend: str) -> Outcomes:
    """Run all cases; after each one the group must still sum."""
    found: Outcomes = {}
    gathers: list[str] = []
    all_gather = State.all_gather

    def counted(state: State, *tensors: torch.Tensor, **options: Any) -> Any:
        gathers.append("all-gather")
        return all_gather(state, *tensors, **options)

    with environment(variables), pytest.MonkeyPatch.context() as patch:
        patch.setattr(State, "all_gather", counted)
        group = cast(Group, dist.new_group(backend=backend))

        def count() -> int:
            state = group.state if isinstance(group, LanesumProcessGroup) else None
            return len(gathers) + (0 if state is None else state.stats.buckets)

        def attempt(case: tuple[str, str], call: Callable[[], Any]) -> None:
            before = count()
            try:
                outcome = plain(call())
            except (LanesumError, RuntimeError, TypeError, ValueError) as error:
                outcome = f"error {type(error).__name__ if isinstance(error, LanesumError) else ''}".strip()
            found[case] = outcome, count() > before
            check = torch.ones(3)
            dist.all_reduce(check, group=group)
            assert check.tolist() == [RANKS] * 3, case

        def all_reduce(tensor: torch.Tensor, operation: str) -> torch.Tensor:
            dist.all_reduce(tensor, getattr(dist.ReduceOp, operation), group=group)
            return tensor

        for operation in OPERATIONS:
            for dtype in TYPES:
                tensor = own(rank, getattr(torch, dtype))
                attempt((operation, dtype), lambda tensor=tensor, operation=operation: all_reduce(tensor, operation))
        for layout, make in LAYOUTS.items():
            for operation in ("SUM", "AVG"):
                tensor = make(rank)
                attempt((layout, operation), lambda tensor=tensor, operation=operation: all_reduce(tensor, operation))
        for name, collective in COLLECTIVES.items():
            for dtype in TYPES:
                tensor = own(rank, getattr(torch, dtype))
                attempt((name, dtype), lambda tensor=tensor, run=collective: run(tensor, rank, group))
        for name, run in WITHOUT_TENSORS.items():
            attempt((name, "objects"), lambda run=run: run(rank, group))
        dist.destroy_process_group(group)
    return found
