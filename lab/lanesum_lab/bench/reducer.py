# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Worker of a benchmark that all-reduces the same vectors by lanesum and by its peers."""

from __future__ import annotations

import collections
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from lanesum._internal.offload import Offload
from lanesum.codecs.fixed import FixedPoint
from lanesum.joining import join
from lanesum.session import ObservedRound, Session
from lanesum.transport.latency import LatencyHistogram
from lanesum_lab.bench.vectors import Sparse, Vector, digest_of, error_of, fixed_sum, sparse_vector, vector

GLOO = "gloo"
#: Two-shot quantized all-reduces over gloo; the last part of a name is the number of bits. They need no switch.
TWO_SHOTS = ("two-shot-8", "two-shot-4")
#: NCCL, for vectors on a GPU: float32 values, and float16 values that are converted there, as PyTorch's fp16 hook does.
NCCL, NCCL_HALF = "nccl", "nccl-fp16"
#: All-gather of values and positions by gloo, added by every worker, for sparse vectors. Also the collective.
ALL_GATHER = "all-gather"
ALL_REDUCE, REDUCE_SCATTER = "all-reduce", "reduce-scatter"
#: An all-reduce in two steps, whose sums are gathered as float32.
TWO_STEPS = "reduce-scatter+all-gather"
COLLECTIVES = (ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, TWO_STEPS)
_DEADLINE_S = 120.0


@dataclass(frozen=True, slots=True)
class Phases:
    """Seconds of all all-reduces of a reduction.

    Attributes:
        encode: making words and residuals.
        network: all other time, in which a worker sends packets or waits for results.
        decode: making values from sums.
    """

    encode: float = 0.0
    network: float = 0.0
    decode: float = 0.0


@dataclass(frozen=True, slots=True)
class Reduction:
    """``iterations`` collectives of ``values`` float32 in sequence, by a peer over gloo or a job.

    Attributes:
        sparse: use sparse vectors; also by ``ALL_GATHER``.
        collective: one of ``COLLECTIVES``. Each worker has a shard of the sum of a reduce-scatter, and sends a shard of
            its vector in an all-gather.
        check: compute the error of the sum, and its expected digest where there is one.
    """

    by: str
    values: int
    iterations: int
    check: bool = False
    sparse: Sparse | None = None
    collective: str = ALL_REDUCE


@dataclass(frozen=True, slots=True)
class Reduced:
    """Result of a reduction at one worker. Times are of the system-wide monotonic clock, for all iterations.

    Attributes:
        digest: digest of the last sum's bits.
        expected: digest that it must have; None if not requested or not known.
        error: squared error of the sum over the squared sum; None if not requested.
        words: payload words, uplink and downlink.
    """

    begin: float
    end: float
    cpu_s: float
    phases: Phases
    packets: int
    retransmissions: int
    digest: str
    expected: str | None = None
    error: float | None = None
    words: int = 0
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)


class Reducer:
    """Worker that all-reduces the same vectors by lanesum and by peers, in a process of its own.

    Args:
        worker, workers: its number, and the number of workers.
        store: file in which gloo's processes find each other.
        interface: network interface for gloo.
        jobs: codec, controller and name at the controller, by name of the job.
        device: device of the vectors, ``cpu`` or ``cuda``.
        recorded: file with the gradients to reduce; None for normal values.
        offload: of the sessions.
    """

    def __init__(
        self,
        worker: int,
        workers: int,
        store: str,
        interface: str,
        jobs: dict[str, tuple[str, str, str]],
        device: str,
        recorded: Path | None,
        offload: Offload = "auto",
    ) -> None:
        self._worker, self._workers, self._device, self._recorded = worker, workers, device, recorded
        self._vector: Vector = np.zeros(0, np.float32)
        self._tensor: Any = None  # the vector on the GPU
        self._made: tuple[int, Sparse | None] = 0, None
        self._words = 0
        self._shard: tuple[Reduced, Vector, Reduction]
        self._expected: dict[int, str] = {}
        join_group(worker, workers, store, interface, device)
        self._sessions: dict[str, Session] = {}
        for job, (label, controller, name) in jobs.items():
            ticket = join(controller=controller, job=name, worker=worker, wait=True)
            self._sessions[job] = Session(
                ticket, codec=label, deadline_s=_DEADLINE_S, observer=self._count, offload=offload
            )

    def sizes(self) -> dict[str, dict[str, int]]:
        """Return the words of a packet and the slots of each job, as its controller has chosen them.

        The window of a worker is all of the slots, or what the kernel's socket buffers hold.
        """
        tickets = {job: session.ticket for job, session in self._sessions.items()}
        return {
            job: {"accumulator_words": ticket.accumulator_words, "slots": ticket.slots}
            for job, ticket in tickets.items()
        }

    def reduce(self, task: Reduction) -> Reduced:
        """Carry out a reduction. After a reduce-scatter, ``check_shards`` follows."""
        if self._made != (task.values, task.sparse):
            self._vector = self._make(self._worker, task)
            self._made = task.values, task.sparse
            self._tensor = self._on_gpu(self._vector)
        methods = {
            GLOO: self._gloo,
            ALL_GATHER: self._all_gather,
            **dict.fromkeys(TWO_SHOTS, self._two_shot),
            **dict.fromkeys((NCCL, NCCL_HALF), self._nccl),
        }
        done, values = methods.get(task.by, self._lanesum)(task)
        if task.collective == REDUCE_SCATTER:
            self._shard = done, values, task
            return done
        return self._checked(done, values, task)

    def check_shards(self) -> Reduced:
        """Check the sum of the last reduce-scatter, of which gloo gathers the shards."""
        import torch
        import torch.distributed as dist

        done, shard, task = self._shard
        whole = torch.empty(task.values)
        dist.all_gather_into_tensor(whole, torch.from_numpy(shard))
        return self._checked(done, whole.numpy(), task)

    def _make(self, worker: int, task: Reduction) -> Vector:
        if task.sparse is None:
            return vector(worker, task.values, self._recorded)
        return sparse_vector(worker, self._workers, task.values, task.sparse)

    def _count(self, finished: ObservedRound) -> None:
        # The words of a gathered round contain those that this worker has sent.
        self._words += finished.words.size + (0 if finished.round.gathered else finished.round.words.size)

    def _gloo(self, task: Reduction) -> tuple[Reduced, Vector]:
        import torch
        import torch.distributed as dist

        # gloo sums in place: later iterations sum the result of the one before, which takes as long.
        tensor = torch.from_numpy(self._vector.copy())
        shard = tensor.tensor_split(self._workers)[self._worker].clone()
        if self._tensor is not None:
            tensor = tensor.pin_memory()

        def reduce() -> None:
            if self._tensor is not None:
                tensor.copy_(self._tensor)
            if task.collective == REDUCE_SCATTER:
                dist.reduce_scatter_tensor(shard, tensor)
            elif task.collective == ALL_GATHER:
                dist.all_gather_into_tensor(tensor, shard)
            else:
                dist.all_reduce(tensor)
            if self._tensor is not None:
                tensor.to(self._tensor.device)
                torch.cuda.synchronize()

        done, _ = _timed(task, reduce)
        return done, (shard if task.collective == REDUCE_SCATTER else tensor).numpy()

    def _nccl(self, task: Reduction) -> tuple[Reduced, Vector]:
        import torch
        import torch.distributed as dist

        kind = torch.float16 if task.by == NCCL_HALF else torch.float32

        def reduce() -> Any:
            sent = self._tensor.to(kind, copy=True)
            if task.collective == REDUCE_SCATTER:
                shard = sent.new_empty(sent.numel() // self._workers)
                dist.reduce_scatter_tensor(shard, sent)
                return shard.float()
            dist.all_reduce(sent)
            return sent.float()

        torch.cuda.synchronize()
        done, sums = _timed(task, reduce, torch.cuda.synchronize)
        return done, sums.cpu().numpy()

    def _two_shot(self, task: Reduction) -> tuple[Reduced, Vector]:
        import torch

        from lanesum_lab.train.two_shot import TwoShot

        method = TwoShot.named(task.by)
        vector = torch.from_numpy(self._vector)
        done, mean = _timed(task, lambda: method.average(vector))
        return done, mean.numpy() * np.float32(self._workers)

    def _all_gather(self, task: Reduction) -> tuple[Reduced, Vector]:
        import torch
        import torch.distributed as dist

        # Every worker sends the same number; the others are zeros for the first value.
        max_count = torch.tensor(np.count_nonzero(self._vector))
        dist.all_reduce(max_count, dist.ReduceOp.MAX)
        count = int(max_count)
        gathered = [torch.empty(2 * count, dtype=torch.int32) for _ in range(self._workers)]

        def reduce() -> Vector:
            places = np.flatnonzero(self._vector)
            sent = np.zeros((2, count), np.int32)
            sent[0, : places.size] = places
            sent[1, : places.size] = self._vector[places].view(np.int32)
            dist.all_gather(gathered, torch.from_numpy(sent.reshape(-1)))
            sum_ = np.zeros(task.values, np.float32)
            for one in gathered:
                where, what = one.numpy().reshape(2, count)
                np.add.at(sum_, where, what.view(np.float32))
            return sum_

        done, sum_ = _timed(task, reduce)
        return replace(done, words=2 * count * self._workers * task.iterations), sum_

    def _lanesum(self, task: Reduction) -> tuple[Reduced, Vector]:
        session = self._sessions[task.by]
        stats, words = session.stats, self._words
        vector = self._vector if self._tensor is None else self._tensor
        name = "" if task.sparse is None else str(task.sparse)
        finish = None
        if self._tensor is not None:
            import torch

            finish = torch.cuda.synchronize
        spans: collections.deque[Any] = collections.deque()
        session.phases.spans = spans

        def reduce() -> Any:
            if task.collective == ALL_GATHER:
                return session.all_gather(vector.reshape(self._workers, -1)[self._worker]).reshape(-1)
            if task.collective == ALL_REDUCE:
                return session.all_reduce(vector, name=name)
            shard = session.reduce_scatter(vector, name=name)
            return shard if task.collective == REDUCE_SCATTER else session.all_gather(shard).reshape(-1)

        done, sum_ = _timed(task, reduce, finish)
        session.phases.spans = None
        if self._tensor is not None:
            sum_ = sum_.cpu().numpy()
        did = session.stats - stats
        done = replace(done, packets=did.packets_sent, retransmissions=did.retransmissions, latency=did.latency)
        return replace(done, phases=_phases(spans, done.end - done.begin), words=self._words - words), sum_

    def _on_gpu(self, vector: Vector) -> Any:
        """Return ``vector`` on the GPU; None if vectors are on the host."""
        if self._device != "cuda":
            return None
        import torch

        return torch.from_numpy(vector).to("cuda")

    def _checked(self, done: Reduced, values: Vector, task: Reduction) -> Reduced:
        done = replace(done, digest=digest_of(values))
        if not task.check or self._worker != 0:
            return done
        if task.sparse is not None:
            exact = np.zeros(task.values, np.float32)
            for worker in range(self._workers):
                exact += self._make(worker, task)
            error = float(
                np.sum(np.square(values - exact, dtype=np.float64)) / np.sum(np.square(exact, dtype=np.float64))
            )
            # Dense fixed-point rounds: its units are not integers.
            return replace(done, error=error, expected=None if task.by == "fixed" else digest_of(exact))
        if task.collective == ALL_GATHER:
            shards = [self._make(worker, task).reshape(self._workers, -1)[worker] for worker in range(self._workers)]
            return replace(done, error=0.0, expected=digest_of(np.concatenate(shards)))
        done = replace(done, error=error_of(values, self._workers, self._recorded))
        session = self._sessions.get(task.by)
        if session is None or not isinstance(session.codec, FixedPoint):
            return done
        if task.collective != ALL_REDUCE and task.values % (self._workers * session.codec.block) != 0:
            return done  # shards are padded to whole blocks, which then have other scales
        if task.values not in self._expected:
            self._expected[task.values] = fixed_sum(session.codec, self._workers, task.values, self._recorded)
        return replace(done, expected=self._expected[task.values])

    def close(self) -> None:
        """Release all resources."""
        for session in self._sessions.values():
            session.close()
        import torch.distributed as dist

        if self._device == "cuda":
            barrier()  # NCCL aborts the last collective of others when one process ends
        dist.destroy_process_group()


def _phases(spans: Iterable[tuple[str, float, float, int]], seconds: float) -> Phases:
    """Return the phases of ``seconds``, of which a session has recorded the spans."""
    encode, decode = (
        sum(end - begin for name, begin, end, _ in spans if name == f"lanesum::{phase}")
        for phase in ("encode", "decode")
    )
    return Phases(encode, seconds - encode - decode, decode)


def _timed(task: Reduction, reduce: Callable[[], Any], finish: Callable[[], None] | None = None) -> tuple[Reduced, Any]:
    """Call ``reduce`` as often as the task says, once all workers are ready; return the times and the last result.

    The time of ``finish``, which waits for a device, counts too. All of it is time of the network.
    """
    result = None
    barrier()
    cpu, begin = time.process_time(), time.monotonic()
    for _ in range(task.iterations):
        result = reduce()
    if finish is not None:
        finish()
    end = time.monotonic()
    return Reduced(begin, end, time.process_time() - cpu, Phases(network=end - begin), 0, 0, ""), result


def join_group(
    worker: int, workers: int, store: str, interface: str, device: str = "cpu", timeout_s: float = _DEADLINE_S
) -> None:
    """Join the process group of the workers: gloo, and NCCL for tensors on a GPU that all of them share."""
    os.environ["GLOO_SOCKET_IFNAME"] = interface
    if device == "cuda":
        os.environ |= nccl_of_shared_gpu(worker, interface)
    import torch.distributed as dist

    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if device == "cuda" else "gloo",
        init_method=f"file://{store}",
        rank=worker,
        world_size=workers,
        timeout=timedelta(seconds=timeout_s),
    )


def barrier() -> None:
    """Wait for all workers, by gloo: a barrier by NCCL would start its communicator within a measurement."""
    import torch
    import torch.distributed as dist

    dist.all_reduce(torch.zeros(1))


def nccl_of_shared_gpu(worker: int, interface: str) -> dict[str, str]:
    """Return the environment in which NCCL lets several processes share one GPU, and connect by sockets.

    NCCL refuses two processes of one host on the same GPU, so each claims to be on a host of its own.
    """
    return {
        "NCCL_HOSTID": f"lanesum-{worker}",
        "NCCL_SOCKET_IFNAME": interface,
        "NCCL_CUMEM_HOST_ENABLE": "0",
        **dict.fromkeys(("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"), "1"),
    }
