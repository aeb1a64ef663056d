# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum.torch.all_reduce`` over four ranks: dense and sparse tensors, sub-groups, other codecs."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist

import lanesum.torch
from lanesum.codecs import Policy
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.torch import State, collectives
from tests.host.torch.controllers import controlled, environment
from tests.host.torch.ranks import Ranks

RANKS = 4


def end(group: dist.ProcessGroup | None = None) -> None:
    state = State.joined(dist.group.WORLD if group is None else group)
    assert state is not None
    state.leave()


def dense_sums(rank: int, variables: dict[str, str]) -> list[torch.Tensor]:
    own = torch.arange(5000.0).view(50, 100) * (rank + 1) / 7
    with environment(variables):
        total = lanesum.torch.all_reduce(own)
        mean = lanesum.torch.all_reduce(own.to(torch.bfloat16), op=dist.ReduceOp.AVG)
        lossy = lanesum.torch.all_reduce(own, codec="thc", op=dist.ReduceOp.AVG)
        policy = Policy(workers=RANKS, lookup=False)
        lanesum.torch.all_reduce(own * 1000, codec=policy)  # its error is no part of the next sum
        other = lanesum.torch.all_reduce(own, codec=policy, op=dist.ReduceOp.AVG)
        assert torch.equal(own, torch.arange(5000.0).view(50, 100) * (rank + 1) / 7)
        buckets = State.joined(dist.group.WORLD).stats.buckets  # one session for all of them
        end()
    assert buckets == 5
    return [total, mean, lossy, other]


def test_all_reduce_sum_and_mean_have_equal_bits(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        results = four_ranks.run(dense_sums, list(range(RANKS)), variables)
    for result in results:
        for got, first in zip(result, results[0], strict=True):
            assert torch.equal(got, first)
    total, mean, lossy, other = results[0]
    exact = torch.arange(5000.0, dtype=torch.float64).view(50, 100) * 10 / 7
    assert (total - exact).abs().max() <= exact.max() * 2**-24
    assert mean.dtype is torch.bfloat16
    torch.testing.assert_close(mean.double(), exact / 4, rtol=2**-7, atol=1e-3)
    for found in (lossy, other):
        error = (found - exact / 4).norm() / (exact / 4).norm()
        assert 1e-4 < error < 0.2, "thc is lossy"


def sparse_sum(rank: int, variables: dict[str, str]) -> tuple[torch.Tensor, int]:
    generator = torch.Generator().manual_seed(rank)
    rows = torch.randint(0, 100_000, (300,), generator=generator)  # with duplicates
    values = torch.randint(-50, 50, (300, 8), generator=generator).float()
    own = torch.sparse_coo_tensor(torch.cat([rows, rows[:5]])[None], torch.cat([values, values[:5]]), (100_000, 8))
    with environment(variables):
        total = lanesum.torch.all_reduce(own if rank != 3 else own * 0)
        sent = State.joined(dist.group.WORLD).stats.transport.bytes_sent
        expected = own.to_dense() if rank != 3 else torch.zeros(100_000, 8)
        dist.all_reduce(expected)
        end()
    assert total.is_coalesced() and total.dtype is torch.float32
    assert torch.equal(total.to_dense(), expected)
    return total, sent


def test_all_reduce_sparse_rows_is_exact_and_short(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        results = four_ranks.run(sparse_sum, list(range(RANKS)), variables)
    for total, sent in results:
        assert torch.equal(total.indices(), results[0][0].indices())
        assert torch.equal(total.values(), results[0][0].values())
        assert sent < 100_000 * 8 * 4 / 10, "the dense tensor is not sent"


def sums_of_pairs(rank: int, variables: dict[str, str]) -> float:
    pairs = [dist.new_group([0, 2]), dist.new_group([1, 3])]
    group = pairs[rank % 2]
    with environment(variables):
        total = lanesum.torch.all_reduce(torch.full((3000,), float(rank)), group)
        everyone = lanesum.torch.all_reduce(torch.ones(10))
        end(group)
        end()
    assert torch.equal(everyone, torch.full((10,), 4.0))
    return float(total.mean())


def test_all_reduce_over_subgroup_is_own_job(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (controller, variables):
        assert four_ranks.run(sums_of_pairs, list(range(RANKS)), variables) == [2, 4, 2, 4]
        names = {event.whom for event in controller.events.since(0)}
        assert {"train.0-2", "train.1-3"} <= names
        assert [job.request.name for job in controller.jobs()] == ["train"], "jobs of groups end with them"


def refusals(rank: int, variables: dict[str, str]) -> list[str]:
    texts = []
    with environment(variables):
        for tensor, options in [
            (torch.ones(3), {"op": dist.ReduceOp.MAX}),
            (torch.ones(3, dtype=torch.int32), {}),
            (torch.ones(3).to_sparse(), {"codec": "thc"}),
            (torch.ones(3), {"codec": "unknown"}),
        ]:
            try:
                lanesum.torch.all_reduce(tensor, **options)
            except LanesumError as error:
                texts.append(f"{type(error).__name__}: {error}")
        end()
    return texts


def test_all_reduce_without_process_group_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"lanesum\.torch\.all_reduce needs a process group"):
        lanesum.torch.all_reduce(torch.ones(3))


def test_job_of_sub_group_without_controller_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    group = dist.ProcessGroup(0, 2)  # type: ignore[call-overload]
    monkeypatch.setattr(dist, "get_world_size", lambda: 3)
    with (
        environment({"LANESUM_CONTROLLER": ""}),
        pytest.raises(ConfigurationError, match="A sub-group needs a controller that admits a job for it"),
    ):
        collectives.job_of(group)


def test_all_reduce_refuses_what_it_cannot_sum(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        for texts in four_ranks.run(refusals, list(range(RANKS)), variables):
            operation, integers, rows, codec = texts
            assert operation.startswith("ConfigurationError: lanesum.torch.all_reduce computes SUM and AVG, not")
            assert "torch.int32" in integers
            assert "Rows of sparse tensors are summed exactly, not by codec 'thc'" in rows
            assert "There is no codec 'unknown'" in codec
