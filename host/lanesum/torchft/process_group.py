# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Process group of torchft whose sums go through a lanesum job; gloo serves all other collectives, exactly."""

from __future__ import annotations

import contextlib
import importlib.metadata
import inspect
import os
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from lanesum import environment
from lanesum.codecs.registry import CodecSpec
from lanesum.errors import ConfigurationError, MissingToolError
from lanesum.joining import controller_address
from lanesum.rpc.controller import address_towards
from lanesum.session import Session
from lanesum.torch.collectives import EXACT
from lanesum.torch.process_group import _DEVICES, _DTYPES, BACKEND, AllReduceWork, LanesumProcessGroup
from lanesum.torch.state import State
from lanesum.torch.tensor_all_reduce import write
from lanesum.torchft.gradients import CommittedFeedback, Gradients
from lanesum.torchft.peers import QuorumAbortedError, QuorumConnections, ReplicaLostError
from lanesum.torchft.quorum import Quorum
from lanesum.transport import JobTicket

try:
    from torchft import process_group as torchft_groups
except ImportError as missing:
    what = f"lanesum.torchft needs torchft 0.2: {missing}."
    raise MissingToolError(what, "Install it: pip install 'lanesum[torchft]'.") from missing

if TYPE_CHECKING:
    from torchft import Manager

_CONFIGURE = "self, store_addr, replica_id, rank, world_size, quorum_id, group_rank, group_world_size, global_ranks"
_PATIENCE_S = 0.25  # without progress, after the loss of a rank: packets in flight may complete a sum
_GRACE_S = 0.5  # in which the session names the missing ranks, after the time-out of an operation


def check_interface(groups: Any) -> None:
    """Raise ConfigurationError if the module ``process_group`` of torchft has another interface than that of 0.2."""
    wrapper = getattr(groups, "ProcessGroupWrapper", object)
    names = ", ".join(inspect.signature(wrapper.configure).parameters) if hasattr(wrapper, "configure") else ""
    used = ("_create_pg", "_opts_hook", "abort", "errored", "set_timeout", "shutdown")
    if names != _CONFIGURE or not all(hasattr(wrapper, one) for one in used):
        version = importlib.metadata.version("torchft")
        raise ConfigurationError(
            f"torchft {version} has other process groups than lanesum supports: configure({names}).",
            "Install torchft 0.2: pip install 'torchft>=0.2,<0.3'.",
        )


check_interface(torchft_groups)


class ProcessGroup(torchft_groups.ProcessGroupWrapper):  # type: ignore[misc]
    """Process group for ``torchft.Manager``: every quorum is a new job, with a tag of its own.

    All-reduces and reduce-scatters with SUM or AVG of float32, float16 and bfloat16 go through lanesum, by codec
    ``fixed`` unless :meth:`compress` was called. Gloo serves everything else.

    Args:
        timeout: of each operation.
        connect_timeout: of each step of ``configure``. All ranks begin it when the Lighthouse has decided, so one that
            does not come has ended.
        controller: ``host:port`` of the controller that admits the job of each quorum; the default is
            LANESUM_CONTROLLER. Without one, rank 0 of the quorum starts an aggregation server.
        job: name of the job at the controller; the default is LANESUM_JOB. Rank n of a replica has job ``NAME.n``.
        address: IPv4 address of this host in the network of the replicas; by default that towards the store.

    Raises ConfigurationError: a controller is given, but no name of the job.
    """

    def __init__(
        self,
        timeout: timedelta = timedelta(seconds=60),
        *,
        connect_timeout: timedelta = timedelta(seconds=4),
        controller: str | None = None,
        job: str | None = None,
        address: str | None = None,
    ) -> None:
        super().__init__(timeout)
        self._connect_timeout, self._address = connect_timeout, address
        self._controller = controller_address(controller)
        self._job = job or os.environ.get(environment.JOB)
        if self._controller is not None and not self._job:
            what = f"Controller {self._controller} needs a name of the job."
            raise ConfigurationError(what, f"Pass job=..., or set {environment.JOB}.")
        self._gradients: Gradients | None = None
        self._error: QuorumAbortedError | None = None

    def compress(
        self, manager: Manager, *, codec: CodecSpec = "thc", fragments: int = 1, error_feedback: bool = True
    ) -> None:
        """Compress what ``manager`` sums: gradients of DDP and HSDP, or pseudo-gradients of DiLoCo.

        Call it before the first step, on all replicas alike; not for LocalSGD, which averages parameters. The tensors
        of a step must come in the same order in all steps of their fragment.

        Args:
            manager: the Manager of this process group.
            codec: name, also with parameters such as ``thc bits=3``, or mapping.
            fragments: number of fragments of Streaming DiLoCo, which take turns.
            error_feedback: add the compression error of a tensor to that of the next step. It survives changes of
                members, and counts once the Manager has committed the step.

        Raises ConfigurationError: the codec is unknown or keeps error feedback itself, or a quorum has begun.
        """
        if self._pg is not None:
            what = "The process group has a quorum, so its codec is fixed."
            raise ConfigurationError(what, "Call compress before the first step.")
        self._gradients = Gradients(manager, codec, fragments, error_feedback)

    def configure(self, store_addr: str, *args: Any, **options: Any) -> None:
        """Begin a quorum. Raises the exceptions of ``Quorum.enter``; RuntimeError: gloo does not connect in time."""
        self._towards = store_addr.partition("/")[0]
        super().configure(store_addr, *args, **options)

    def _create_pg(self, store: dist.Store, rank: int, world_size: int) -> dist.ProcessGroup:
        self._error = None
        label = "quorum" if self._quorum_id is None else f"quorum {self._quorum_id}"
        feedback = None if self._gradients is None else self._gradients.begin_quorum()
        codec = EXACT if self._gradients is None else self._gradients.codec
        connect = min(self._connect_timeout, self._timeout)
        quorum = Quorum(
            store=store,
            rank=rank,
            size=world_size,
            address=self._address or address_towards(self._towards),
            timeout_s=connect.total_seconds(),
            description=f"{codec} error_feedback={feedback is not None} of {importlib.metadata.version('lanesum')}",
            label=label,
            controller=self._controller,
            job=f"{self._job}.{self._group_rank or 0}",
        )
        with contextlib.ExitStack() as opened:
            entered = quorum.enter(opened) if world_size > 1 else None
            group = QuorumGroup(store, rank, world_size, connect, label, self._gradients)
            group.set_timeout(self._timeout)
            if entered is not None:
                group.join(*entered, codec, feedback)
            group.opened = opened.pop_all()
        return group

    def _opts_hook(self, opts: Any) -> Any:
        if not isinstance(opts, dist.ReduceOp | dist.ReduceOp.RedOpType):
            return opts
        options: Any = dist.AllreduceOptions()
        options.reduceOp = opts
        return options

    def getBackendName(self) -> str:
        """Return the name of the backend."""
        return f"torchft-{BACKEND}"

    def set_timeout(self, timeout: timedelta) -> None:
        """Set the time-out of the operations that are waited for from now on."""
        super().set_timeout(timeout)
        if self._pg is not None:
            self._pg.set_timeout(timeout)

    def errored(self) -> Exception | None:
        """Return the error that needs another quorum, or None. The Manager calls it once, at the end of a step."""
        if self._gradients is not None:
            self._gradients.end_step()
        return self._error if self._pg is None else self._pg.failure()

    def abort(self, errored: bool = True) -> None:
        """End the quorum with all sums in flight, here and at the other ranks."""
        if errored and self._pg is not None:
            self._error = self._pg.failure() or QuorumAbortedError(self._pg.label, "abort was called.")
        super().abort(errored)

    def shutdown(self) -> None:
        """Leave the quorum."""
        self.abort(errored=False)


class QuorumGroup(LanesumProcessGroup):
    """Process group of one quorum, from ``configure`` to the next one.

    ``label`` names it in messages. ``gradients`` names the tensors to compress; None: all are summed by ``fixed``.
    """

    _uses_nccl = False  # it would end the process some time after the loss of another rank

    def __init__(
        self, store: dist.Store, rank: int, size: int, timeout: timedelta, label: str, gradients: Gradients | None
    ) -> None:
        self.timeout, self.label, self._gradients = timeout, label, gradients
        self.opened = contextlib.ExitStack()
        self._failure: BaseException | None = None
        super().__init__(store, rank, size, timeout, {"codec": EXACT})

    def _register(self, device: str, kind: Any, backend: Any) -> None:
        # Not kept as those of LanesumProcessGroup: torchft gives DDP another group, so no wrapper drops the last one.
        backend._set_sequence_number_for_group()
        for group in (self, self._others):
            for one in _DEVICES:
                group._register_backend(torch.device(one), kind, backend)

    def join(
        self, ticket: JobTicket, peers: QuorumConnections, codec: CodecSpec, feedback: CommittedFeedback | None
    ) -> None:
        """Begin a session with the ticket of this quorum. Raises the exceptions of ``Session``."""
        seconds = self.timeout.total_seconds()
        session = Session(ticket, codec=codec, deadline_s=seconds, busy_s=seconds)
        try:
            self._state = state = State(session, error_feedback=feedback is not None)
        except BaseException:
            session.close()
            raise
        state.error_feedback, state.raises_after_backward = feedback, False
        state._warn_unused.detach()  # a quorum may end before its first sum
        peers.start(lambda rank: session.interrupt(ReplicaLostError(rank, self.label), _PATIENCE_S))

    def set_timeout(self, timeout: timedelta) -> None:
        """Set the time-out of operations that begin now; also that of gloo."""
        self.timeout = timeout
        self._others._get_backend(torch.device("cpu")).set_timeout(timeout)

    def _joined(self) -> State | None:
        return self._state

    def _serves(self, tensor: torch.Tensor) -> bool:
        return not self._delegates and tensor.dtype in _DTYPES and tensor.device.type in _DEVICES

    def _reduce(
        self, tensors: list[torch.Tensor], op: Any, outputs: list[torch.Tensor] | None = None
    ) -> AllReduceWork | None:
        if self._gradients is not None and any(tensor.requires_grad for tensor in tensors):
            raise ConfigurationError(
                "A codec would change a tensor that requires a gradient: LocalSGD averages parameters.",
                "Do not call ProcessGroup.compress for LocalSGD. Then its parameters are summed exactly.",
            )
        if self.size() > 1 or not (op == dist.ReduceOp.SUM or op == dist.ReduceOp.AVG):
            work = super()._reduce(tensors, op, outputs)
            return None if work is None else QuorumWork(work, self)
        # A rank alone has the sum. Work of gloo has no future for a reduce-scatter.
        own = [write(one.view_as(to), to) for one, to in zip(tensors, outputs or (), strict=False)] or tensors
        futures = [torch.futures.Future[torch.Tensor]() for _ in own]
        for future, tensor in zip(futures, own, strict=True):
            future.set_result(tensor)
        return AllReduceWork(own, futures)

    def _begin(
        self, state: State, tensor: torch.Tensor, average: bool, output: torch.Tensor | None
    ) -> torch.futures.Future[torch.Tensor]:
        if self._gradients is None or tensor.is_sparse or output is not None:
            return state.all_reduce(tensor, codec=EXACT, average=average, output=output)
        return state.all_reduce(tensor, average=average, parts=[self._gradients.part(tensor)])

    def fail(self, error: BaseException) -> None:
        """Note the first error of a sum."""
        self._failure = self._failure or error

    def failure(self) -> QuorumAbortedError | None:
        """Return the first error of a sum, or None."""
        error = self._failure or (None if self._state is None else self._state.error)
        return error if isinstance(error, QuorumAbortedError | None) else QuorumAbortedError(self.label, str(error))

    def abort(self) -> None:
        """Leave the job, and tell the other ranks; idempotent."""
        if self._state is not None:
            self._state.close()
        self.opened.close()

    shutdown = abort


class QuorumWork(AllReduceWork):
    """Handle of sums of a quorum.

    In a backward pass ``wait`` raises nothing, because DDP of torchft 0.2 would raise an AssertionError then. The
    Manager finds the error in the future, and in ``errored``.
    """

    def __init__(self, work: AllReduceWork, group: QuorumGroup) -> None:
        super().__init__(work._tensors, work._futures)
        self._group = group

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for the results, at most for ``timeout``; by default that of the process group. Then abort."""
        done, limit_s = threading.Event(), (timeout or self._group.timeout).total_seconds()
        torch.futures.collect_all(self._futures).add_done_callback(lambda _: done.set())
        try:
            if done.wait(limit_s + _GRACE_S):
                return super().wait()
            self._group.fail(error := QuorumAbortedError(self._group.label, f"a sum timed out after {limit_s:g} s."))
            self._group.abort()
            raise error
        except Exception as error:
            self._group.fail(error)
            if torch._C._current_graph_task_id() == -1:
                raise
            return False
