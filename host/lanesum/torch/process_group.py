# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``torch.distributed`` backend ``lanesum``, registered by ``import lanesum.torch``.

``all_reduce`` and reduce-scatter with SUM or AVG of floating-point tensors go through the job of the group's ranks. So
do all-gathers of dense tensors, once the ranks have joined it. All other collectives, operations and data types go
through gloo, or NCCL for CUDA tensors.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, cast

import torch
import torch.distributed as dist

from lanesum import codecs, environment
from lanesum.codecs.base import Codec
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.joining import NotReadyError
from lanesum.torch.autograd import raise_after_backward
from lanesum.torch.collectives import EXACT, job_of
from lanesum.torch.state import State
from lanesum.torch.tensor_all_reduce import write

BACKEND = "lanesum"
MIN_PYTORCH = "2.9"
_DEVICES = ["cpu", "cuda"]
# float64 would lose precision: codecs work in float32.
_DTYPES = (torch.float32, torch.float16, torch.bfloat16)
_MAX_STAND_IN = 256
# Groups of gloo and NCCL stay until the process ends. PyTorch may drop the last reference of DDP to one with Python's
# lock held, and would wait then for a thread of gloo that waits for the lock.
_kept: list[Any] = []

_log = logging.getLogger(__name__)


def _uncompiled(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that ``torch.compile`` calls as it is.

    A compiled DDP wrapper calls collectives from C++, and Dynamo would trace their Python code. It is imported by those
    who compile alone, because that takes seconds.
    """
    disabled: Callable[..., Any] | None = None

    @functools.wraps(method)
    def call(*args: Any, **options: Any) -> Any:
        nonlocal disabled
        if disabled is None and hasattr(dynamo := sys.modules.get("torch._dynamo"), "disable"):
            disabled = cast(Any, dynamo).disable(method)
        return (disabled or method)(*args, **options)

    return call


def _delegated(name: str) -> Callable[..., Any]:
    """Return a method that calls the one of gloo and NCCL.

    PyTorch runs inherited ones of these methods with Python's global lock held. A thread of gloo that waits for the
    lock would then never give way.
    """

    def method(group: LanesumProcessGroup, *args: Any, **options: Any) -> Any:
        return getattr(group._others, name)(*args, **options)

    return _uncompiled(method)


class LanesumProcessGroup(dist.ProcessGroup):
    """Process group whose all-reduces, reduce-scatters and all-gathers are of a lanesum job.

    Gloo and NCCL serve everything else. The first all-reduce or reduce-scatter joins the job. An all-gather does not,
    because DDP begins with one, before ``attach``. A sub-group has a job of its own, if the controller admits one.

    Args:
        store: of ``torch.distributed``.
        rank: rank in the group.
        size: number of ranks.
        timeout: of gloo and NCCL.
        options: arguments of :meth:`lanesum.torch.State.join`; the codec is ``fixed`` if neither they nor
            LANESUM_CODEC name one.
    """

    _uses_nccl = True

    def __init__(
        self, store: dist.Store, rank: int, size: int, timeout: timedelta, options: Mapping[str, Any] | None
    ) -> None:
        super().__init__(rank, size)  # type: ignore[call-arg]  # the other constructor accepts no subclass
        self._store = store
        if options is not None and not isinstance(options, Mapping):
            raise ConfigurationError(
                f"pg_options of backend {BACKEND} is {type(options).__name__}, not a mapping.",
                'Pass arguments of State.join, for example {"codec": "thc"}.',
            )
        self._options = {"codec": os.environ.get(environment.CODEC) or EXACT, **(options or {})}
        if not isinstance(codec := self._options["codec"], Codec | None):
            codecs.get(codec, workers=1)  # a mistake shows here, where no sub-group could fall back to gloo
        self._state: State | None = None
        self._delegates = size == 1
        kinds = dist.ProcessGroup.BackendType
        self._others = dist.ProcessGroup(store, rank, size)
        gloo = dist.ProcessGroupGloo(dist.PrefixStore("gloo/", store), rank, size, timeout)
        self._register("cpu", kinds.GLOO, gloo)
        if self._uses_nccl and torch.cuda.is_available() and dist.is_nccl_available():
            nccl_options = dist.ProcessGroupNCCL.Options()
            nccl_options._timeout = timeout
            nccl = dist.ProcessGroupNCCL(dist.PrefixStore("nccl/", store), rank, size, nccl_options)
            self._register("cuda", kinds.NCCL, nccl)
        for group in (self, self._others):
            group._set_default_backend(kinds.GLOO)

    def _register(self, device: str, kind: Any, backend: Any) -> None:
        backend._set_sequence_number_for_group()
        _kept.append(backend)
        for group in (self, self._others):
            group._register_backend(torch.device(device), kind, backend)

    def getBackendName(self) -> str:
        """Return the name of the backend."""
        return BACKEND

    def get_group_store(self) -> dist.Store:
        """Return the store of the group."""
        return self._store

    @property
    def state(self) -> State | None:
        """The membership in the group's job; None before the first all-reduce, and where gloo or NCCL serve."""
        return self._state

    @_uncompiled
    def allreduce(self, tensors: list[torch.Tensor], opts: Any = None) -> dist.distributed_c10d.Work:
        """Sum or average in place; see ``torch.distributed.all_reduce``."""
        opts = dist.AllreduceOptions() if opts is None else opts
        own = self._reduce(tensors, opts.reduceOp)
        return own or self._compared(self._others.allreduce(tensors, opts), tensors, opts.reduceOp)

    def allreduce_coalesced(self, tensors: list[torch.Tensor], opts: Any = None) -> dist.distributed_c10d.Work:
        """Sum or average several tensors in place; see ``torch.distributed.all_reduce_coalesced``."""
        opts = dist.AllreduceCoalescedOptions() if opts is None else opts
        own = self._reduce(tensors, opts.reduceOp)
        return own or self._compared(self._others.allreduce_coalesced(tensors, opts), tensors, opts.reduceOp)

    @_uncompiled
    def _reduce_scatter_base(
        self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None
    ) -> dist.distributed_c10d.Work:
        """Sum or average the shard of this rank; see ``torch.distributed.reduce_scatter_tensor``."""
        opts = dist.ReduceScatterOptions() if opts is None else opts
        own = self._reduce([tensor], opts.reduceOp, [output])
        return own or self._compared(self._others._reduce_scatter_base(output, tensor, opts), [tensor], opts.reduceOp)

    reduce_scatter_single = _reduce_scatter_base  # its name from PyTorch 2.13 on

    @_uncompiled
    def reduce_scatter_tensor_coalesced(
        self, outputs: list[torch.Tensor], tensors: list[torch.Tensor], opts: Any = None
    ) -> dist.distributed_c10d.Work:
        """Sum or average the shards of this rank of several tensors."""
        opts = dist.ReduceScatterOptions() if opts is None else opts
        own = self._reduce(tensors, opts.reduceOp, outputs)
        return own or self._compared(
            self._others.reduce_scatter_tensor_coalesced(outputs, tensors, opts), tensors, opts.reduceOp
        )

    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced

    @_uncompiled
    def reduce_scatter(
        self, outputs: list[torch.Tensor], inputs: list[list[torch.Tensor]], opts: Any = None
    ) -> dist.distributed_c10d.Work:
        """Sum or average the shard of this rank; see ``torch.distributed.reduce_scatter``."""
        opts = dist.ReduceScatterOptions() if opts is None else opts
        pairs = list(zip(outputs, inputs, strict=True))
        equal = all(one.shape == output.shape and not one.is_sparse for output, shards in pairs for one in shards)
        own = None
        if equal and all(len(shards) == self.size() for shards in inputs):
            own = self._reduce([torch.stack(shards) for shards in inputs], opts.reduceOp, outputs)
        first = [shard for shards in inputs for shard in shards][:1]
        return own or self._compared(self._others.reduce_scatter(outputs, inputs, opts), first, opts.reduceOp)

    @_uncompiled
    def _allgather_base(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Any:
        """Gather into one tensor; see ``torch.distributed.all_gather_into_tensor``."""
        opts = dist.distributed_c10d.AllgatherOptions() if opts is None else opts
        return self._gather([[output]], [tensor]) or self._others._allgather_base(output, tensor, opts)

    all_gather_single = _allgather_base  # its name from PyTorch 2.13 on

    @_uncompiled
    def allgather_into_tensor_coalesced(
        self, outputs: list[torch.Tensor], tensors: list[torch.Tensor], opts: Any = None
    ) -> Any:
        """Gather several tensors, each into one."""
        opts = dist.distributed_c10d.AllgatherOptions() if opts is None else opts
        own = self._gather([[output] for output in outputs], tensors)
        return own or self._others.allgather_into_tensor_coalesced(outputs, tensors, opts)

    all_gather_single_coalesced = allgather_into_tensor_coalesced

    @_uncompiled
    def allgather(self, outputs: list[Any], tensors: Any, *opts: Any, **options: Any) -> Any:
        """Gather into one tensor for each rank; see ``torch.distributed.all_gather``."""
        own = self._gather(outputs, tensors) if isinstance(tensors, list) else None
        return own or self._others.allgather(outputs, tensors, *opts, **options)

    def _gather(self, outputs: list[list[torch.Tensor]], tensors: list[torch.Tensor]) -> AllReduceWork | None:
        """Begin all-gathers by lanesum, to one output or to one for each rank; None if gloo or NCCL serve them."""
        state, size = State.joined(self), self.size()
        if state is None or state.host is not None or state.session.ticket.quorum not in (0, size):
            return None
        own: list[torch.Tensor] = []
        for tensor, parts in zip(tensors, outputs, strict=True):
            whole = parts[0] if len(parts) == 1 and size > 1 else tensor.new_empty((size, *tensor.shape))
            fits = whole.numel() == size * tensor.numel() and len(parts) in (1, size) and self._serves_device(tensor)
            kind, shape = (tensor.dtype, tensor.device, torch.strided), whole.shape if len(parts) == 1 else tensor.shape
            same = all((*kind, shape) == (one.dtype, one.device, one.layout, one.shape) for one in parts)
            if not fits or not same or tensor.layout is not torch.strided or not whole.is_contiguous():
                return None
            own.append(whole)
        futures = [state.all_gather(tensor.detach(), whole) for tensor, whole in zip(tensors, own, strict=True)]
        return GatherWork(own, futures, outputs)

    def _reduce(
        self, tensors: list[torch.Tensor], op: Any, outputs: list[torch.Tensor] | None = None
    ) -> AllReduceWork | None:
        """Begin all-reduces, or reduce-scatters to ``outputs``, by lanesum; None if gloo or NCCL serve them."""
        average = op == dist.ReduceOp.AVG
        served = [*tensors, *(outputs or ())]
        if not (average or op == dist.ReduceOp.SUM) or not all(map(self._serves, served)):
            return None
        own: list[torch.Tensor] = []
        futures: list[torch.futures.Future[torch.Tensor]] = []
        try:
            state = self._joined()
            if state is None:
                return None
            for number, tensor in enumerate(tensors):
                # A detached sparse tensor would get the sum alone.
                detached = tensor if tensor.is_sparse else tensor.detach()
                output = None if outputs is None else outputs[number].detach()
                own.append(detached if output is None else output)
                futures.append(self._begin(state, detached, average, output))
        except LanesumError as error:
            # DDP calls this from C++, where an exception would lose its type.
            failed: torch.futures.Future[torch.Tensor] = torch.futures.Future()
            failed.set_exception(error)  # type: ignore[arg-type]
            if self._state is None or self._state.raises_after_backward:
                raise_after_backward(lambda: cast(None, failed.wait()))
            own, futures = [*own[: len(futures)], (outputs or tensors)[len(futures)]], [*futures, failed]
        return AllReduceWork(own, futures)

    def _begin(
        self, state: State, tensor: torch.Tensor, average: bool, output: torch.Tensor | None
    ) -> torch.futures.Future[torch.Tensor]:
        return state.all_reduce(tensor, average=average, output=output)

    def _compared(self, work: Any, tensors: list[torch.Tensor], op: Any) -> Any:
        """Let the job compare an all-reduce of gloo with those of the other ranks, which may be lanesum's.

        Without a job, after a failure, and on a device there is no comparison.
        """
        state = self._state
        if state is None or state.error is not None or not tensors or tensors[0].device.type != "cpu":
            return work
        name = str(op.op if hasattr(op, "op") else op).rpartition(".")[2]
        what = f"{name} of {tensors[0].dtype} with shape {tuple(tensors[0].shape)}"
        size = tensors[0].numel()
        # As many values as the tensor has, if they are few: then the error names both tensors.
        stand_in = torch.zeros(size if 0 < size <= _MAX_STAND_IN else 1)
        try:
            return ComparedWork(work, state.all_reduce(stand_in, codec=EXACT, stands_for=what))
        except LanesumError:  # the job has failed since
            return work

    def _serves(self, tensor: torch.Tensor) -> bool:
        """Return True if the tensor is for lanesum by its type, and by the devices of the group's backend."""
        return tensor.dtype in _DTYPES and self._serves_device(tensor)

    def _serves_device(self, tensor: torch.Tensor) -> bool:
        if self._delegates or tensor.device.type not in _DEVICES:
            return False
        # For example "cpu:lanesum,cuda:nccl".
        by_device = dict(one.split(":") for one in dist.get_backend_config(self).split(","))
        return by_device.get(tensor.device.type) == BACKEND

    def _joined(self) -> State | None:
        """Return the membership in the group's job, joined on the first call. None if a sub-group has no job."""
        if self._state is None or self._state.closed:
            self._state = State.joined(self)
        if self._state is None:
            options = self._options
            try:
                job = job_of(self, **options)
            except NotReadyError:
                raise
            except LanesumError as error:  # the same on all ranks
                self._delegates = True
                _log.warning("Ranks %s have no job of lanesum: %s", dist.get_process_group_ranks(self), error)
                return None
            self._state = State.join(**{**options, "job": job, "group": self})
        return self._state

    def shutdown(self) -> None:
        """Leave the job, and end gloo and NCCL; called by ``destroy_process_group``."""
        if self._state is not None:
            self._state.leave()
        super().shutdown()


for _name in dir(dist.ProcessGroup):  # all collectives of the installed PyTorch, by their signatures
    if "-> c10d::Work" in str(getattr(dist.ProcessGroup, _name).__doc__) and _name not in vars(LanesumProcessGroup):
        setattr(LanesumProcessGroup, _name, _delegated(_name))


class AllReduceWork(dist.distributed_c10d.Work):
    """Handle of all-reduces. ``wait`` raises the exception of lanesum with its own type."""

    def __init__(self, tensors: list[torch.Tensor], futures: list[torch.futures.Future[torch.Tensor]]) -> None:
        super().__init__()
        self._tensors, self._futures = tensors, futures

    def _store(self, _: object = None) -> list[torch.Tensor]:
        """Write the results to the tensors that do not have them."""
        for tensor, future in zip(self._tensors, self._futures, strict=True):
            if (summed := future.value()) is not tensor:
                write(summed, tensor)
        return self._tensors

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for the results; ``deadline_s`` of the session limits the time, not ``timeout``."""
        for future in self._futures:
            future.wait()
        self._store()
        return True

    def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
        if len(self._futures) == 1:
            return self._futures[0].then(self._store)
        return torch.futures.collect_all(self._futures).then(self._store)

    def is_completed(self) -> bool:
        return all(future.done() for future in self._futures)

    def is_success(self) -> bool:
        return self.is_completed() and self.exception() is None

    def exception(self) -> Exception | None:
        try:
            for future in self._futures:
                future.value()
        except Exception as error:
            return error
        return None

    def result(self) -> list[torch.Tensor]:
        return self._tensors


class GatherWork(AllReduceWork):
    """Handle of all-gathers; ``outputs``: of each, tensors of the ranks, or the tensor of all."""

    def __init__(self, wholes: list[torch.Tensor], futures: list[Any], outputs: list[list[torch.Tensor]]) -> None:
        super().__init__(wholes, futures)
        self._outputs = outputs

    def _store(self, _: object = None) -> list[Any]:
        for whole, parts in zip(super()._store(), self._outputs, strict=True):
            for own, part in zip(whole, parts, strict=False):
                if parts[0] is not whole:
                    write(own, part)
        return self._outputs


class ComparedWork(dist.distributed_c10d.Work):
    """Handle of an all-reduce of gloo. ``wait`` raises MismatchError if other ranks reduce another tensor."""

    def __init__(self, work: Any, compared: torch.futures.Future[torch.Tensor]) -> None:
        super().__init__()
        self._work, self._compared = work, compared

    def wait(self, *timeout: timedelta) -> bool:
        self._compared.wait()
        return bool(self._work.wait(*timeout))

    def get_future(self) -> torch.futures.Future[Any]:
        def result(both: torch.futures.Future[Any]) -> Any:
            self._compared.value()
            return both.value()[1].value()

        return torch.futures.collect_all([self._compared, self._work.get_future()]).then(result)

    def is_completed(self) -> bool:
        return self._compared.done() and self._work.get_future().done()

    def result(self) -> list[torch.Tensor]:
        return cast("list[torch.Tensor]", self._work.get_future().value())  # gloo completes it before its work


def _create(options: Any, pg_options: Mapping[str, Any] | None) -> LanesumProcessGroup:
    return LanesumProcessGroup(options.store, options.group_rank, options.group_size, options.timeout, pg_options)


def register() -> None:
    """Make the backend available; idempotent. Raises ConfigurationError if PyTorch is older than ``MIN_PYTORCH``."""
    if torch.__version__ < MIN_PYTORCH:
        what = f"lanesum.torch needs PyTorch {MIN_PYTORCH} or newer, not {torch.__version__}."
        raise ConfigurationError(what, "Update it: pip install 'lanesum[torch]'.")
    if dist.is_available() and BACKEND not in dist.Backend.backend_list:
        dist.Backend.register_backend(BACKEND, _create, extended_api=True, devices=_DEVICES)
