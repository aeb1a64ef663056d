# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Backend ``lanesum`` of ``torch.distributed``: four ranks."""

from __future__ import annotations

import logging
import math
import os
import re
import socket
import subprocess
import sys
import tomllib
import unittest.mock
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.torch_version import TorchVersion

import lanesum.torch
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.joining import NotReadyError
from lanesum.torch import process_group
from lanesum.torch.process_group import ComparedWork, LanesumProcessGroup
from lanesum.transport.errors import MismatchError
from lanesum_control.controller.controller import JobRequest
from tests.free_ports import free_ports
from tests.host.torch.controllers import controlled, environment
from tests.host.torch.ranks import Ranks
from tests.paths import ROOT

RANKS = 4


def lanesum_group(**options: Any) -> LanesumProcessGroup:
    group = dist.new_group(backend="lanesum", **options)
    assert isinstance(group, LanesumProcessGroup) and dist.get_backend(group) == "lanesum"
    return group


def summed_types(rank: int, variables: dict[str, str]) -> list[int]:
    """Return the number of all-reduces by lanesum after each all-reduce."""
    with environment(variables):
        group = lanesum_group()
        counts = []
        for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64):
            for op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX):
                tensor = torch.arange(12).view(3, 4).to(dtype) * (rank + 1)
                dist.all_reduce(tensor, op, group=group)
                factor = 10 if op == dist.ReduceOp.SUM else 4
                assert torch.equal(tensor, torch.arange(12).view(3, 4).to(dtype) * factor), (dtype, op)
                counts.append(group.state.stats.buckets)
        mean = torch.full((5,), float(rank))
        dist.all_reduce(mean, dist.ReduceOp.AVG, group=group)
        assert torch.equal(mean, torch.full((5,), 1.5))
        state = group.state
        dist.destroy_process_group(group)
        assert state.error is not None, "the job was left"
    return counts


def test_sums_of_floats_go_through_lanesum(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        for counts in four_ranks.run(summed_types, list(range(RANKS)), variables):
            assert counts == [1, 1, 2, 2, 3, 3, 3, 3, 3, 3]


def sparse_sums(rank: int, variables: dict[str, str], backend: str) -> list[torch.Tensor]:
    def rows() -> torch.Tensor:
        return torch.sparse_coo_tensor(
            [[rank, 5, 5]], [[1.0, 2.0], [rank, 3.0], [0.5, 1.0]], (7, 2), check_invariants=True
        )

    with environment(variables):
        group = dist.new_group(backend=backend)
        summed = rows()
        dist.all_reduce(summed, group=group)
        later = rows()
        work = dist.all_reduce(later, group=group, async_op=True)
        work.get_future().wait()
        dist.destroy_process_group(group)
    return [tensor.coalesce().to_dense() for tensor in (summed, later)]


def test_sparse_sum_is_written_as_by_gloo(four_ranks: Ranks) -> None:
    expected = torch.zeros(7, 2)
    expected[:RANKS] = torch.tensor([1.0, 2.0])
    expected[5] = torch.tensor([8.0, 16.0])
    for backend in ("gloo", "lanesum"):
        with controlled(RANKS) as (_, variables):
            for tensors in four_ranks.run(sparse_sums, list(range(RANKS)), variables, backend):
                assert all(torch.equal(tensor, expected) for tensor in tensors), backend


def inference_sums(rank: int, variables: dict[str, str], backend: str) -> None:
    def total(tensor: torch.Tensor) -> list[float]:
        dist.all_reduce(tensor, group=group)
        return tensor.to_dense().tolist()

    own = [1.0, float(rank)]
    with environment(variables):
        group = dist.new_group(backend=backend)
        net = DistributedDataParallel(nn.Linear(2, 1), process_group=group)
        before = torch.tensor(own)
        with torch.inference_mode():
            made = torch.tensor(own)
            for tensor in (made.clone(), made.bfloat16(), made.to_sparse(), before):
                assert total(tensor) == [4, 6]
            if backend == "lanesum":
                assert lanesum.torch.all_reduce(made, group).tolist() == [4, 6]
            work = dist.all_reduce(made, group=group, async_op=True)
        assert work.get_future().wait()[0].tolist() == [4, 6]
        work.wait()
        assert total(made) == [16, 24]
        net(torch.ones(1, 2) * rank).sum().backward()
        assert net.module.weight.grad.tolist() == [[1.5, 1.5]]
        dist.destroy_process_group(group)


@pytest.mark.parametrize("backend", ["gloo", "lanesum"])
def test_sum_in_inference_mode_keeps_training(four_ranks: Ranks, backend: str) -> None:
    with controlled(RANKS) as (_, variables):
        four_ranks.run(inference_sums, list(range(RANKS)), variables, backend)


def sums_with_infinities(rank: int, variables: dict[str, str], backend: str) -> list[list[float]]:
    """Return the last elements of sums in flight together; ranks 1 and 2 have NaN and infinities in some of them."""
    with environment(variables):
        group = dist.new_group(backend=backend)
        sizes = (4, 5000, 5000, 600, 4)
        tensors = [torch.full((size,), float(number)) for number, size in enumerate(sizes)]
        for tensor in tensors[:-2]:
            if rank in (1, 2):
                tensor[-3:] = torch.tensor([math.nan, math.inf, math.inf if rank == 1 else -math.inf])
        works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor in tensors]
        for work in works:
            work.wait()
        dist.destroy_process_group(group)
    return [[float(tensor[0]), *tensor[-3:].tolist()] for tensor in tensors]


def test_infinities_stay_in_their_elements(four_ranks: Ranks) -> None:
    nan, inf = math.nan, math.inf
    expected = [[4.0 * number, nan, inf, nan] for number in range(3)] + [[12.0] * 4, [16.0] * 4]
    for backend in ("gloo", "lanesum"):
        with controlled(RANKS) as (_, variables):
            for found in four_ranks.run(sums_with_infinities, list(range(RANKS)), variables, backend):
                np.testing.assert_array_equal(found, expected)


def refused_tensors(rank: int, variables: dict[str, str]) -> list[str]:
    texts = []
    with environment(variables):
        group = lanesum_group()
        for tensor in (
            torch.ones(1).expand(3),
            torch.eye(3).to_sparse_csr(),
            torch.ones(2, 1).expand(2, 3),
        ):
            before = tensor.to_dense().tolist()
            try:
                dist.all_reduce(tensor, group=group)
            except ConfigurationError as error:
                texts.append(str(error))
            assert tensor.to_dense().tolist() == before
            later = torch.ones(3)
            dist.all_reduce(later, group=group)
            assert later.tolist() == [4, 4, 4]
            assert lanesum.torch.all_reduce(torch.ones(1).expand(3), group).tolist() == [4, 4, 4]
        negated = torch.tensor([1.0 + rank * 1j]).conj().imag  # a strided view; gloo sums other elements
        assert negated.is_neg()
        dist.all_reduce(negated, group=group)
        assert negated.tolist() == [-6]
        try:
            lanesum.torch.all_reduce(torch.ones(2, device="meta"), group)
        except ConfigurationError as error:
            texts.append(str(error))
        dist.destroy_process_group(group)
    return texts


def test_refused_tensor_is_named_and_harmless(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        for texts in four_ranks.run(refused_tensors, list(range(RANKS)), variables):
            vector, csr, matrix, meta = texts
            assert "elements of this tensor share memory: its strides are (0,)" in vector
            assert "lanesum sums dense and COO tensors; this tensor has torch.sparse_csr" in csr
            assert "its strides are (1, 0)" in matrix
            assert "lanesum cannot sum this tensor, because its device is meta" in meta


def sums_after_failure(rank: int, variables: dict[str, str]) -> list[str]:
    texts = []

    def fail(call: Callable[[], object]) -> None:
        with pytest.raises(LanesumError) as failed:
            call()
        texts.append(f"{failed.type.__name__}: {failed.value}")

    def works(size: int) -> None:
        tensor = torch.ones(size)
        dist.all_reduce(tensor, group=group)
        assert torch.equal(tensor, torch.full((size,), 4.0))
        assert torch.equal(lanesum.torch.all_reduce(torch.ones(size), group), tensor)

    with environment(variables):
        group = lanesum_group()
        work = dist.all_reduce(torch.ones(3), group=group, async_op=True)
        future = work.get_future()
        future.add_done_callback(lambda _: 1 / 0)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            future.then(lambda _: 1 / 0).wait()
        works(3)
        dist.barrier()  # a mismatch also ends the all-reduces of ranks that are behind
        fail(lambda: dist.all_reduce(torch.ones(4 if rank == 2 else 3), group=group))
        fail(lambda: dist.all_reduce(torch.ones(5), group=group))
        fail(lambda: lanesum.torch.all_reduce(torch.ones(5), group))
        state = group.state
        dist.barrier()
        state.close()
        fail(lambda: state.all_reduce(torch.ones(5)).wait())
        works(6)
        assert group.state is not state
        group.state.leave()
        works(7)
        dist.destroy_process_group(group)
    return texts


def test_errors_after_failure_and_close_are_current(four_ranks: Ranks) -> None:
    """Exceptions of callbacks end nothing; after a failure, all ranks close the state and join again."""
    with controlled(RANKS) as (_, variables):
        for texts in four_ranks.run(sums_after_failure, list(range(RANKS)), variables):
            first, second, third, closed = texts
            assert first.startswith("MismatchError: Job ")
            later = "MismatchError: lanesum did not sum this tensor, because an earlier all-reduce has failed: Job "
            assert second.startswith(later) and second == third
            assert closed == "SessionClosedError: This State is closed. Make a new State and register it again."


def mismatched(rank: int, variables: dict[str, str], kind: str) -> str:
    """Let rank 2 reduce another tensor than the others, of as many values."""
    odd = rank == 2
    with environment(variables):
        group = lanesum_group()
        dist.all_reduce(torch.ones(3), group=group)
        dist.barrier()
        size = 40_000 if kind.startswith("large") else 6
        tensor, op = torch.ones(size), dist.ReduceOp.SUM
        if odd and kind.endswith("operation of gloo"):
            op = dist.ReduceOp.MAX
        elif odd and kind.endswith("operation"):
            op = dist.ReduceOp.AVG
        elif odd and kind.endswith("type of gloo"):
            tensor = tensor.int()
        elif odd and kind.endswith("type"):
            tensor = tensor.half()
        elif kind.endswith("shape"):
            tensor = tensor.view(*(2, -1) if odd else (-1, 2))
        elif odd:
            with pytest.raises(ConfigurationError, match=r"torch\.int32"):
                lanesum.torch.all_reduce(tensor.int(), group)
        try:
            dist.all_reduce(tensor, op, group=group)
        except MismatchError as error:
            return str(error)
        finally:
            dist.barrier()
            group.state.close()
            dist.destroy_process_group(group)
    return ""


@pytest.mark.parametrize(
    ("kind", "odd"),
    [
        ("operation", "AVG of torch.float32 with shape (6,) in call 2"),
        ("type", "SUM of torch.float16 with shape (6,) in call 2"),
        ("shape", "SUM of torch.float32 with shape (2, 3) in call 2"),
        ("number of calls", "SUM of torch.float32 with shape (6,) in call 3"),
        ("operation of gloo", "MAX of torch.float32 with shape (6,) in call 2"),
        ("type of gloo", "SUM of torch.int32 with shape (6,) in call 2"),
        ("large operation", "AVG of torch.float32 with shape (40000,) in call 2"),
        ("large type", "SUM of torch.float16 with shape (40000,) in call 2"),
    ],
)
def test_different_tensors_of_equal_size_raise_everywhere(four_ranks: Ranks, kind: str, odd: str) -> None:
    with controlled(RANKS) as (_, variables):
        texts = four_ranks.run(mismatched, list(range(RANKS)), variables, kind)
    for rank, text in enumerate(texts):
        assert "the workers reduce different tensors of " in text
        assert (odd in text) == (rank == 2) and f"worker {rank} itself has " in text


def large_tensors_by_gloo_and_lanesum(rank: int, variables: dict[str, str]) -> str:
    with environment(variables):
        group = lanesum_group()
        dist.all_reduce(torch.ones(3), group=group)
        for _ in range(2):  # the same on all ranks: no error
            assert group.allreduce([torch.ones(2).double()]).wait()
            work = dist.all_reduce(largest := torch.tensor([rank, 7]), dist.ReduceOp.MAX, group=group, async_op=True)
            assert work.get_future().wait()[0].tolist() == largest.tolist() == [3, 7] == work.result()[0].tolist()
            assert work.is_completed()
        tensor = torch.ones(40_000)
        dist.barrier()  # a mismatch also ends the all-reduces of ranks that are behind
        with pytest.raises(MismatchError) as raised:
            dist.all_reduce(tensor.long() if rank == 2 else tensor, group=group)
        dist.barrier()
        group.state.close()
        dist.destroy_process_group(group)
    return str(raised.value)


def test_tensor_of_gloo_beside_lanesum_raises_everywhere(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        for text in four_ranks.run(large_tensors_by_gloo_and_lanesum, list(range(RANKS)), variables):
            assert "All workers must reduce" in text, text


def test_result_is_there_once_its_future_is() -> None:
    """Gloo completes the future of a work before the work: its ``result`` raises in between."""
    compared: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    own: torch.futures.Future[list[torch.Tensor]] = torch.futures.Future()
    between = unittest.mock.Mock(is_completed=lambda: False, get_future=lambda: own)
    between.result.side_effect = RuntimeError("Work needs to be completed before calling result().")
    work = ComparedWork(between, compared)
    own.set_result([torch.ones(2)])
    assert not work.is_completed()
    compared.set_result(torch.ones(2))
    work.get_future().wait()
    assert work.is_completed() and work.result()[0].tolist() == [1, 1]


def many_gathers(rank: int, variables: dict[str, str]) -> int:
    with environment(variables):
        group = lanesum_group()
        objects: list[Any] = [None] * RANKS
        for number in range(200):
            dist.all_gather_object(objects, [rank, number], group=group)
            assert objects == [[other, number] for other in range(RANKS)]
        dist.destroy_process_group(group)
    return rank


def test_many_collectives_of_gloo_do_not_block(four_ranks: Ranks) -> None:
    """With Python's lock held in a call, one of gloo's threads and the call can wait for each other."""
    with controlled(RANKS) as (_, variables):
        assert four_ranks.run(many_gathers, list(range(RANKS)), variables) == list(range(RANKS))


def gather(rank: int, variables: dict[str, str]) -> tuple[list[int], list[str]]:
    """Return the rounds of the job after each step, and the errors."""
    rounds, errors = [], []
    with environment(variables):
        group = lanesum_group()
        own = torch.full((3,), rank, dtype=torch.int32)

        def gathered() -> torch.Tensor:
            parts = [torch.zeros_like(own) for _ in range(RANKS)]
            dist.all_gather(parts, own, group=group)
            whole = torch.zeros(RANKS * 3, dtype=torch.int32)
            dist.all_gather_into_tensor(whole, own, group=group)
            assert torch.equal(torch.cat(parts), whole) and whole[::3].tolist() == list(range(RANKS))
            return whole

        gathered()
        assert group.state is None, "an all-gather joins no job"
        dist.all_reduce(torch.ones(5), group=group)
        for _ in range(2):
            rounds.append(group.state.session.stats.rounds)
            gathered()
        short = torch.full((2,), rank, dtype=torch.int16)  # gloo refuses it
        dist.all_gather_into_tensor(whole := short.new_zeros(RANKS * 2), short, group=group)
        assert whole.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
        work = dist.all_gather_into_tensor(torch.zeros(RANKS * 3, dtype=torch.int32), own, group=group, async_op=True)
        assert work.get_future().wait() is not None and work.is_success()
        rounds.append(group.state.session.stats.rounds)
        for output in (torch.zeros(RANKS * 3), torch.zeros(RANKS * 3 + 1, dtype=torch.int32)):
            with pytest.raises(ConfigurationError) as refused:
                group.state.all_gather(own, output, name="weights")
            errors.append(str(refused.value))
        other = own if rank != 1 else own.to(torch.uint8).repeat_interleave(4)
        dist.barrier()  # as above
        with pytest.raises(MismatchError) as mismatched:
            dist.all_gather_into_tensor(other.new_zeros(RANKS * other.numel()), other, group=group)
        errors.append(str(mismatched.value))
        with pytest.raises(LanesumError):
            dist.all_gather_into_tensor(torch.zeros(RANKS * 3, dtype=torch.int32), own, group=group)
        dist.destroy_process_group(group)
    return rounds, errors


def test_all_gather_is_of_the_job_once_joined(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        for rounds, errors in four_ranks.run(gather, list(range(RANKS)), variables):
            assert rounds == [rounds[0], rounds[0] + 2, rounds[0] + 6]
            assert "Cannot gather weights of torch.int32 with shape (3,) on 4 workers" in errors[0]
            assert "into torch.int32 with shape (13,)" in errors[1]
            assert "12 bytes" in errors[2] and "gather tensors of the same shape and data type" in errors[2]


def test_all_collectives_of_pytorch_are_delegated() -> None:
    """Those that this class inherits run with Python's lock held; other versions of PyTorch have others."""
    own = {name for name in vars(LanesumProcessGroup) if "Work" in str(getattr(dist.ProcessGroup, name, None).__doc__)}
    known = {"_allgather_base", "allgather", "allreduce", "alltoall_base", "barrier", "broadcast", "gather", "reduce"}
    assert own >= {*known, "reduce_scatter", "scatter", "send", "recv"}


def test_older_pytorch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", TorchVersion("2.8.1"))
    with pytest.raises(ConfigurationError, match=r"needs PyTorch 2\.9 or newer, not 2\.8\.1\. .*pip install"):
        process_group.register()
    extras = tomllib.loads((ROOT / "host" / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["torch"] == [f"torch>={process_group.MIN_PYTORCH}"]


def devices_of_backend(rank: int, variables: dict[str, str]) -> list[bool]:
    joined = []
    with environment(variables):
        for backend in ("cpu:lanesum,cuda:nccl", "cpu:gloo,cuda:lanesum"):
            group = dist.new_group(backend=backend)
            tensor = torch.ones(10)
            dist.all_reduce(tensor, group=group)
            assert torch.equal(tensor, torch.full((10,), 4.0))
            joined.append(group.state is not None)
            dist.destroy_process_group(group)
    return joined


def test_backend_serves_only_devices_named_for_it(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        assert four_ranks.run(devices_of_backend, list(range(RANKS)), variables) == [[True, False]] * RANKS


def in_flight_at_once(rank: int, variables: dict[str, str]) -> None:
    with environment(variables):
        group = lanesum_group()
        tensors = [torch.full((2000 * size,), float(rank)) for size in range(1, 6)]
        works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor in tensors]
        for work, tensor in zip(reversed(works), reversed(tensors), strict=True):
            assert work.wait() and work.is_completed() and work.is_success()
            assert work.result()[0].data_ptr() == tensor.data_ptr()
            assert torch.equal(tensor, torch.full_like(tensor, 6.0))
        (future,) = [dist.all_reduce(tensors[0], group=group, async_op=True).get_future()]
        assert torch.equal(future.wait()[0], torch.full_like(tensors[0], 24.0))
        dist.destroy_process_group(group)


def test_async_all_reduces_are_in_flight_together(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        four_ranks.run(in_flight_at_once, list(range(RANKS)), variables)


class Collected(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def sum_over_pair(rank: int, variables: dict[str, str], ranks: list[int]) -> tuple[bool, list[str]]:
    log = Collected()
    logging.getLogger("lanesum").addHandler(log)
    with environment(variables):
        group = dist.new_group(ranks, backend="lanesum")
        joined = False
        if rank in ranks:
            tensor = torch.ones(100) * rank
            dist.all_reduce(tensor, group=group)
            assert torch.equal(tensor, torch.full((100,), float(sum(ranks))))
            joined = group.state is not None
            dist.destroy_process_group(group)
    logging.getLogger("lanesum").removeHandler(log)
    return joined, log.lines


def test_subgroup_has_a_job_of_its_own(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (controller, variables):
        outcomes = four_ranks.run(sum_over_pair, list(range(RANKS)), variables, [1, 3])
        assert "train.1-3" in {event.whom for event in controller.events.since(0)}
    assert [joined for joined, _ in outcomes] == [False, True, False, True]


def test_subgroup_without_job_uses_gloo_and_warns(four_ranks: Ranks) -> None:
    """A job of another size has the sub-group's name, so its own is not admitted."""
    with controlled(RANKS) as (controller, variables):
        controller.admit(JobRequest("train.1-3", ("w1",), codec=None))
        outcomes = four_ranks.run(sum_over_pair, list(range(RANKS)), variables, [1, 3])
    assert not any(joined for joined, _ in outcomes)
    for rank in (1, 3):
        (line,) = outcomes[rank][1]
        assert "Ranks [1, 3] have no job of lanesum" in line and "1 workers" in line


def typed_failure(rank: int, variables: dict[str, str]) -> list[str]:
    with environment(variables):
        group = lanesum_group()
        net = DistributedDataParallel(nn.Linear(4, 4), process_group=group)
        dist.all_reduce(torch.ones(1), group=group)
        transport = group.state.session._transport
        transport._deadline_s = transport._busy_s = 5.0
        texts = []
        try:
            if rank != 3:
                net(torch.ones(1, 4)).sum().backward()
        except Exception as error:
            texts.append(type(error).__name__)
        try:
            if rank != 3:
                dist.all_reduce(torch.ones(1), group=group)
        except Exception as error:
            texts.append(f"{type(error).__name__}: {error}")
        dist.barrier()
        group.state.close()
    return texts


def test_options_that_are_no_mapping_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="pg_options of backend lanesum is int, not a mapping"):
        LanesumProcessGroup(dist.HashStore(), 0, 1, timedelta(seconds=1), 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("codec", ["thc eror=0.1", {"name": "thc", "eror": 0.1}], ids=["text", "mapping"])
def test_options_with_wrong_codec_are_refused(codec: object) -> None:
    with pytest.raises(ConfigurationError, match="Codec 'thc' has no parameter 'eror'"):
        LanesumProcessGroup(dist.HashStore(), 0, 1, timedelta(seconds=1), {"codec": codec})


def test_rank_that_does_not_join_raises_without_gloo(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait_in_vain(*_: object, **__: object) -> None:
        raise NotReadyError("No note of rank 1.", "Read its log.")

    monkeypatch.setattr(process_group, "job_of", wait_in_vain)
    with pytest.raises(NotReadyError, match=r"No note of rank 1"):
        LanesumProcessGroup(dist.HashStore(), 0, 1, timedelta(seconds=1), None)._joined()


def test_missing_rank_raises_typed_error(four_ranks: Ranks) -> None:
    """Both from ``backward()`` of an unmodified DDP, and from ``all_reduce``."""
    with controlled(RANKS) as (_, variables):
        for texts in four_ranks.run(typed_failure, list(range(RANKS)), variables)[:3]:
            first, second = texts
            assert first == "AggregationTimeoutError"
            assert second.startswith("AggregationTimeoutError") and "still missing: worker 3" in second


def without_controller(rank: int, variables: dict[str, str]) -> list[str]:
    texts = []
    with environment(variables):
        group = lanesum_group(pg_options={"job": "absent"})
        for work in (
            lambda: dist.all_reduce(torch.ones(1), group=group),
            lambda: group.allreduce([torch.ones(1)]).wait(),
        ):
            try:
                work()
            except Exception as error:
                texts.append(f"{type(error).__name__}: {error}")
        net = DistributedDataParallel(nn.Linear(4, 4), process_group=group)
        try:
            net(torch.ones(1, 4)).sum().backward()
        except Exception as error:
            texts.append(f"{type(error).__name__}: {error}")
    return texts


def test_unknown_job_raises_on_every_rank(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        for texts in four_ranks.run(without_controller, list(range(RANKS)), variables):
            assert len(texts) == 3
            for text in texts:
                assert text.startswith("ControllerError") and "absent" in text


_SCRIPT = Path(__file__).with_name("backend_script.py")


def run_script(backend: str, variables: dict[str, str]) -> tuple[float, float]:
    """Run two ranks under torchrun; return the losses of the first and last step."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-addr=127.0.0.1"]
    command += [f"--master-port={free_ports(1, socket.SOCK_STREAM)[0]}", str(_SCRIPT), backend]
    own = {**os.environ, **variables, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "replicas agree: True" in done.stdout
    first, last = re.findall(r"loss (\S+) in the first step, (\S+) in the last one", done.stdout)[0]
    return float(first), float(last)


@pytest.mark.long
def test_unmodified_script_trains_as_with_gloo() -> None:
    """DDP with an embedding of sparse gradients, in the default process group."""
    with controlled(2) as (controller, variables):
        first, last = run_script("lanesum", variables)
        assert controller.counters()["packets"]["accept"] > 0
        assert (first, last) == pytest.approx(run_script("gloo", variables), abs=1e-4)
    assert last < 0.5 * first
