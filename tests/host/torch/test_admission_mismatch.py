# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks that do not fit the job or each other, and ranks that fail: every rank raises the cause. Two ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import lanesum.torch
from lanesum.torch import State
from tests.host.torch.controllers import controlled, environment
from tests.host.torch.ranks import Ranks

WAIT_S = 30.0  # far more than an error takes


def outcome(work: Callable[[], object]) -> str:
    """Return the exception of ``work`` as text."""
    try:
        work()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def join(rank: int, variables: dict[str, str], of_rank_1: dict[str, Any]) -> str:
    with environment(variables):
        return outcome(lambda: State.join(wait_s=WAIT_S, **(of_rank_1 if rank else {})))


def join_with_version(rank: int, variables: dict[str, str]) -> str:
    with pytest.MonkeyPatch.context() as patch:
        if rank == 1:
            patch.setattr(torch, "__version__", "1.0.0")
        return join(rank, variables, {})


def test_join_of_job_of_other_size_names_sizes(ranks: Ranks) -> None:
    with controlled(3) as (_, variables):
        first, second = ranks.run(join, [0, 1], variables, {})
    assert first.startswith(
        "ConfigurationError: Rank 0 of a process group of 2 has joined job 'train' as worker 0 of 3."
    )
    assert "Rank 1 of a process group of 2" in second


def test_join_with_other_torch_names_versions_everywhere(ranks: Ranks) -> None:
    with controlled(2) as (_, variables):
        for told in ranks.run(join_with_version, [0, 1], variables):
            assert told.startswith("DescriptionMismatchError: The workers of job 'train' differ: torch is ")
            assert f"{torch.__version__} at worker 0 (w1)" in told and "1.0.0 at worker 1 (w2)" in told


def test_join_with_other_codec_names_both_everywhere(ranks: Ranks) -> None:
    with controlled(2) as (_, variables):
        for told in ranks.run(join, [0, 1], variables, {"codec": "fixed"}):
            assert told.startswith("DescriptionMismatchError") and "but fixed workers=2" in told


def test_join_failing_on_one_rank_fails_on_all(ranks: Ranks) -> None:
    with controlled(2) as (_, variables):
        told, failed = ranks.run(join, [0, 1], variables, {"window": 0})
    assert failed.startswith("ConfigurationError: Invalid window=0")
    assert told.startswith(
        "WorkerGoneError: Worker 1 (w2) of job 'train' has failed: ConfigurationError: Invalid window=0"
    )


def train_until_failure(rank: int, variables: dict[str, str]) -> str:
    def work() -> None:
        torch.manual_seed(3)
        with environment(variables):
            model = nn.parallel.DistributedDataParallel(nn.Linear(64, 64))
            with State.join(model=model, wait_s=WAIT_S) as state:
                model.register_comm_hook(state, lanesum.torch.hook)
                for _ in range(3):  # DDP itself rebuilds its buckets after the first step, through gloo
                    model(torch.ones(1, 64)).sum().backward()
                if rank == 1:
                    raise ArithmeticError("the loss is NaN")
                model(torch.ones(1, 64)).sum().backward()

    return outcome(work)


def test_exception_on_one_rank_ends_backward_of_other(ranks: Ranks) -> None:
    with controlled(2) as (_, variables):
        told, failed = ranks.run(train_until_failure, [0, 1], variables)
    assert failed == "ArithmeticError: the loss is NaN"
    says = "WorkerGoneError: Worker 1 (w2) of job 'train' has failed: ArithmeticError: the loss is NaN."
    assert told.startswith(says)


def sum_rows(rank: int, variables: dict[str, str]) -> tuple[bool, bool]:
    own = torch.sparse_coo_tensor(torch.tensor([[rank, 9]]), torch.ones(2, 3), (10, 3))
    bad = own * float("nan") if rank == 1 else own
    with environment(variables), State.join(wait_s=WAIT_S) as state:
        poisoned = state.all_reduce(bad, average=False).wait()
        total = state.all_reduce(own, average=False).wait()
        state.leave()
    return bool(poisoned.to_dense()[[0, 1, 9]].isnan().all()), bool((total.to_dense()[9] == 2).all())


def test_nan_in_sparse_rows_is_sum_of_all(ranks: Ranks) -> None:
    with controlled(2) as (_, variables):
        assert ranks.run(sum_rows, [0, 1], variables) == [(True, True)] * 2
