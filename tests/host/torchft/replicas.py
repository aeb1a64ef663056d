# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Replicas of torchft: processes with a Manager each, beside a Lighthouse in the process of the test."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import time
import unittest.mock
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupGloo
from torchft.coordination import LighthouseServer
from torchft.local_sgd import DiLoCo, LocalSGD
from torchft.process_group import ManagedProcessGroup

from lanesum.torchft import ProcessGroup, process_group
from lanesum.torchft.quorum import Quorum
from tests.free_ports import LOCALHOST

TIMEOUT = timedelta(seconds=20)
_ANSWER_S = 60.0
_HEARTBEAT_TIMEOUT_MS = 400  # of a replica that is gone


class Replicas:
    """Processes by name, which send events to the test. Use :func:`replicas`."""

    def __init__(self, lighthouse: str) -> None:
        self.lighthouse = lighthouse
        self._context = mp.get_context("forkserver")
        self._context.set_forkserver_preload(["torch._dynamo", "torch.nn.parallel", "tests.host.torchft.replicas"])
        self._processes: dict[int, Any] = {}
        self._ends: dict[int, Connection] = {}

    def start(self, number: int, work: Callable[..., None], *arguments: Any) -> None:
        """Run ``work(end, number, lighthouse, *arguments)`` in a process."""
        with unittest.mock.patch.dict(os.environ, OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo"):
            forkserver.ensure_running()
            ours, theirs = self._context.Pipe()
            given = (theirs, number, self.lighthouse, *arguments)
            process = self._context.Process(target=work, args=given, daemon=True)
            process.start()
        theirs.close()
        self._processes[number], self._ends[number] = process, ours

    def kill(self, number: int) -> None:
        """End a replica by SIGKILL."""
        os.kill(self._processes[number].pid, signal.SIGKILL)

    def next(self, *numbers: int) -> list[Any]:
        """Return the next event of each of these replicas; an error or an end of one fails the test."""
        return [self._next(number) for number in numbers]

    def _next(self, number: int) -> Any:
        end = self._ends[number]
        assert wait([end], _ANSWER_S), f"replica {number} sends nothing"
        event = end.recv()
        assert not isinstance(event, BaseException), f"replica {number}: {event!r}"
        return event

    def has_event(self, number: int) -> bool:
        """Return True if a replica has sent an event."""
        return self._ends[number].poll()

    def close(self) -> None:
        """End all processes."""
        for process in self._processes.values():
            process.kill()
            process.join(_ANSWER_S)
        for end in self._ends.values():
            end.close()


@contextlib.contextmanager
def replicas(min_replicas: int = 1, join_timeout_ms: int = 10_000) -> Iterator[Replicas]:
    """Start a Lighthouse, and end it with all replicas."""
    lighthouse = LighthouseServer(
        bind=f"{LOCALHOST}:0",
        min_replicas=min_replicas,
        join_timeout_ms=join_timeout_ms,
        quorum_tick_ms=20,
        heartbeat_timeout_ms=_HEARTBEAT_TIMEOUT_MS,
    )
    port = lighthouse.address().rpartition(":")[2].strip("/")
    started = Replicas(f"http://{LOCALHOST}:{port}")
    try:
        yield started
    finally:
        started.close()
        lighthouse.shutdown()


@contextlib.contextmanager
def managed(
    group: ProcessGroup | ProcessGroupGloo,
    number: int,
    lighthouse: str,
    *,
    state: Any = None,
    asynchronous: bool = False,
) -> Iterator[Manager]:
    """Yield a Manager of one rank; ``state`` has ``state_dict`` and ``load_state_dict``."""
    store = dist.TCPStore(LOCALHOST, 0, is_master=True, wait_for_workers=False)
    manager = Manager(
        pg=group,
        load_state_dict=(lambda _: None) if state is None else state.load_state_dict,
        state_dict=dict if state is None else state.state_dict,
        min_replica_size=1,
        use_async_quorum=asynchronous,
        timeout=TIMEOUT,
        quorum_timeout=TIMEOUT,
        connect_timeout=TIMEOUT,
        rank=0,
        world_size=1,
        store_addr=LOCALHOST,
        store_port=store.port,
        lighthouse_addr=lighthouse,
        hostname=LOCALHOST,
        heartbeat_interval=timedelta(milliseconds=50),
        replica_id=f"replica_{number}",
    )
    try:
        yield manager
    finally:
        group.shutdown()
        manager.shutdown(wait=False)


def make_group(kind: str, **options: Any) -> Any:
    """Return an unconfigured process group: ``lanesum`` or ``gloo``."""
    return (
        ProcessGroup(TIMEOUT, connect_timeout=timedelta(seconds=1.5), **options)
        if kind == "lanesum"
        else ProcessGroupGloo(TIMEOUT)
    )


def add_up(
    end: Connection, number: int, lighthouse: str, phase: str = "", kind: str = "lanesum", size: int = 1000
) -> None:
    """Sum 2^number in each step, and send: step, committed, number of replicas, sum, monotonic time.

    With a ``phase`` the replica ends itself by SIGKILL in its first step.
    """
    torch.set_num_threads(1)
    group = make_group(kind)
    with _sending_errors(end), managed(group, number, lighthouse) as manager, _dying(phase, end):
        while True:
            manager.start_quorum()
            tensor = torch.full((size,), float(2**number))
            work = manager.allreduce(tensor, reduce_op=dist.ReduceOp.SUM)
            if phase == "in the sum":
                _die(end)
            work.wait()
            if phase == "after the sum":
                _die(end)
            step, committed = manager.current_step(), manager.should_commit()
            (summed,) = set(tensor.tolist()) if committed else {None}
            end.send((step, committed, manager.num_participants(), summed, time.monotonic()))
            time.sleep(0.005)


@contextlib.contextmanager
def _sending_errors(end: Connection) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        pass  # the test has ended
    except BaseException as error:
        end.send(RuntimeError(repr(error)))
        raise


def _die(end: Connection) -> None:
    end.send(("dies", time.monotonic()))
    os.kill(os.getpid(), signal.SIGKILL)


@contextlib.contextmanager
def _dying(phase: str, end: Connection) -> Iterator[None]:
    """Let this process die in a phase of ``configure``."""
    owner, name = {
        "before configure": (ProcessGroup, "configure"),
        "in configure": (Quorum, "enter"),
        "before the session": (process_group, "Session"),
    }.get(phase, (None, ""))
    if owner is None:
        yield
        return
    with unittest.mock.patch.object(owner, name, lambda *_, **__: _die(end)):
        yield


class Training:
    """Model, data and inner optimizer of a replica; the data are other ones at each replica."""

    def __init__(self, number: int) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(5)
        self.model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
        self.fragments = [nn.Sequential(self.model[0]), nn.Sequential(self.model[2])]
        self._target = nn.Linear(8, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        self._random = torch.Generator().manual_seed(number)
        self._common = torch.randn(256, 8, generator=torch.Generator().manual_seed(99))

    def state_dict(self) -> dict[str, Any]:
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])

    def loss(self, model: nn.Module | None = None, inputs: torch.Tensor | None = None) -> torch.Tensor:
        """Return the loss of a new batch, or of the given inputs."""
        inputs = torch.randn(32, 8, generator=self._random) if inputs is None else inputs
        return nn.functional.mse_loss((model or self.model)(inputs), self._target(inputs).detach())

    def common_loss(self) -> float:
        """Return the loss of data that all replicas have."""
        return self.loss(inputs=self._common).item()


def _digest(tensors: Iterable[torch.Tensor]) -> str:
    return hashlib.sha256(b"".join(one.detach().numpy().tobytes() for one in tensors)).hexdigest()


def train_ddp(end: Connection, number: int, lighthouse: str, steps: int, dies_at: int) -> None:
    """Train by DDP with compressed gradients; send ``(number, loss before, loss after, digest)``."""
    one = Training(number)
    group = make_group("lanesum")
    with _sending_errors(end), managed(group, number, lighthouse, state=one, asynchronous=True) as manager:
        group.compress(manager, codec="thc")
        model, optimizer = DistributedDataParallel(manager, one.model), Optimizer(manager, one.optimizer)
        before = one.common_loss()
        while manager.current_step() < steps:
            optimizer.zero_grad()
            loss = one.loss(model)
            if manager.current_step() == dies_at:
                _die(end)
            loss.backward()
            optimizer.step()
        end.send((number, before, one.common_loss(), _digest(one.model.parameters())))
        end.recv()


def train_hsdp(end: Connection, number: int, lighthouse: str, steps: int) -> None:
    """Train by FSDP2 within the replica and compressed gradients between replicas; send as ``train_ddp``."""
    one = Training(number)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    group = make_group("lanesum")
    with _sending_errors(end), managed(group, number, lighthouse, state=one) as manager:
        group.compress(manager, codec="thc")
        between = ManagedProcessGroup(manager).register("replicas")
        fully_shard(one.model, mesh=init_device_mesh("cpu", (1,)))
        one.model.set_all_reduce_hook(lambda output: dist.all_reduce(output, dist.ReduceOp.AVG, between))
        one.optimizer = torch.optim.SGD(one.model.parameters(), lr=0.05)
        optimizer, before = Optimizer(manager, one.optimizer), one.common_loss()
        while manager.current_step() < steps:
            optimizer.zero_grad()
            one.loss().backward()
            optimizer.step()
        digest = _digest(parameter.full_tensor() for parameter in one.model.parameters())
        end.send((number, before, one.common_loss(), digest))
        end.recv()


def train_locally(end: Connection, number: int, lighthouse: str, algorithm: str, syncs: int) -> None:
    """Train by LocalSGD or Streaming DiLoCo; send as ``train_ddp``, of the parameters that all replicas have."""
    one = Training(number)
    group = make_group("lanesum")
    with _sending_errors(end), managed(group, number, lighthouse, state=one) as manager:
        before = one.common_loss()
        if algorithm == "LocalSGD":
            local: Any = LocalSGD(manager, one.model, one.optimizer, sync_every=4)
        else:
            group.compress(manager, codec="thc", fragments=2)
            outer = [torch.optim.SGD(part.parameters(), lr=0.7, momentum=0.9, nesterov=True) for part in one.fragments]
            local = DiLoCo(manager, one.fragments, one.optimizer, outer, sync_every=4)
        with local:
            while manager.current_step() < syncs:
                one.optimizer.zero_grad()
                one.loss().backward()
                one.optimizer.step()
        shared: Iterable[torch.Tensor] = one.model.parameters()
        if algorithm == "DiLoCo":  # the parameters of the other fragment have made steps of their own since its turn
            shared = [tensor for part in local._fragments for tensor in part.original_parameters.values()]
        end.send((number, before, one.common_loss(), _digest(shared)))
        end.recv()


def step_outwards(end: Connection, number: int, lighthouse: str, dies_with: int) -> None:
    """Sum 2^number by outer steps of DiLoCo; send ``(number of replicas, sum)`` of each committed one.

    ``dies_with``: end by SIGKILL in the sum of the second outer step with so many replicas.
    """
    torch.set_num_threads(1)
    model = nn.ParameterList([torch.zeros(1000)])
    inner, outer = torch.optim.SGD(model.parameters(), lr=1.0), torch.optim.SGD(model.parameters(), lr=0.0)
    group = ProcessGroup(TIMEOUT, connect_timeout=TIMEOUT)
    with _sending_errors(end), managed(group, number, lighthouse) as manager:
        all_reduce, outer_steps = manager.allreduce, 0

        def die_in_sum(*arguments: Any, **options: Any) -> Any:
            work = all_reduce(*arguments, **options)
            if outer_steps and manager.num_participants() == dies_with:
                _die(end)
            return work

        def send(*_: Any) -> None:
            nonlocal outer_steps
            participants = manager.num_participants()
            outer_steps += participants == dies_with
            # The pseudo-gradient is the way back of two inner steps; the Manager averages.
            (mean,) = {-value / 2 for value in model[0].grad.tolist()}
            if not dies_with:
                end.send((participants, round(mean * participants, 2)))

        manager.allreduce = die_in_sum
        outer.register_step_pre_hook(send)
        with DiLoCo(manager, [model], inner, outer, sync_every=2):
            while True:
                model[0].grad = torch.full((1000,), -(2.0**number))
                inner.step()
