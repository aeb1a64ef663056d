# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Four ranks as two hosts: the ranks of a host share the worker of their leader."""

from __future__ import annotations

import os
import threading
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import lanesum.torch
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.torch import hierarchy, notes
from tests.host.torch.controllers import controlled, environment
from tests.host.torch.ranks import Ranks

RANKS = 4
STEPS = 6


def net() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(32, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 8))


def train(model: nn.Module, rank: int) -> torch.Tensor:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        batch = torch.randn(16, 32, generator=torch.Generator().manual_seed(100 * rank + step))
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    return torch.cat([one.detach().view(-1) for one in model.parameters()])


def as_torchrun(rank: int, sizes: list[int]) -> dict[str, str]:
    """Return the variables that torchrun sets for ``rank``, with hosts of these numbers of ranks."""
    first = 0
    for size in sizes:
        if rank < first + size:
            return {"LOCAL_RANK": str(rank - first), "LOCAL_WORLD_SIZE": str(size)}
        first += size
    raise ValueError(rank)


def train_both(rank: int, variables: dict[str, str], sizes: list[int], codec: str) -> Any:
    expected = train(DistributedDataParallel(net()), rank)
    model = DistributedDataParallel(net(), bucket_cap_mb=0.006)
    with environment({**variables, **as_torchrun(rank, sizes)}):
        state = lanesum.torch.attach(model, hierarchical=True, codec=codec)
        got = train(model, rank)
        total = lanesum.torch.all_reduce(torch.full((10,), float(rank)))
    sent, feedback = state.stats.transport.packets_sent, len(state.state_dict()["memory"])
    state.load_state_dict(state.state_dict())
    assert state.stats.buckets > STEPS, "the test needs a bucket rebuild"
    state.leave()
    return expected, got, total, sent, feedback


@pytest.mark.parametrize("sizes", [[2, 2], [1, 3]], ids=["two-and-two", "one-and-three"])
def test_hosts_train_as_with_gloo(four_ranks: Ranks, sizes: list[int]) -> None:
    with controlled(2) as (_, variables):
        outcomes = four_ranks.run(train_both, list(range(RANKS)), variables, sizes, "fixed")
    for rank, (expected, got, total, sent, _) in enumerate(outcomes):
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)
        assert torch.equal(got, outcomes[0][1]), "replicas are equal, bit for bit"
        assert torch.equal(total, torch.full((10,), 6.0))
        assert (sent > 0) == (rank in (0, sizes[0])), "only leaders send packets"


def test_error_feedback_is_that_of_leaders(four_ranks: Ranks) -> None:
    with controlled(2, "thc error=0.01") as (_, variables):
        outcomes = four_ranks.run(train_both, list(range(RANKS)), variables, [2, 2], "thc error=0.01")
    assert [feedback for *_, feedback in outcomes] == [6, 0, 6, 0]
    for expected, got, *_ in outcomes:
        assert torch.equal(got, outcomes[0][1])
        assert 0 < (got - expected).norm() < 0.1 * expected.norm()


def named_group(rank: int, variables: dict[str, str]) -> torch.Tensor:
    hosts = [dist.new_group([0, 3]), dist.new_group([1, 2])]
    own = hosts[rank in (1, 2)]
    with environment(variables), lanesum.torch.State.join(local_group=own, codec="fixed") as state:
        mean = state.all_reduce(torch.full((3000,), float(rank))).wait()
        state.leave()
    return mean


def test_local_group_names_ranks_of_a_host(four_ranks: Ranks) -> None:
    with controlled(2) as (_, variables):
        for mean in four_ranks.run(named_group, list(range(RANKS)), variables):
            assert torch.equal(mean, torch.full((3000,), 1.5))


def patience(rank: int, variables: dict[str, str]) -> list[float]:
    """Return the time that each group of this host waits for a rank, in seconds."""
    waits = []
    for limits in ({"busy_s": 700.0}, {"busy_s": 0.0, "deadline_s": 50.0}):
        with environment({**variables, **as_torchrun(rank, [2, 2])}):
            state = lanesum.torch.State.join(hierarchical=True, codec="fixed", wait_s=100.0, **limits)
        assert state.host is not None
        for group in (state.host._reducing, state.host._sharing):
            waits.append(group._get_backend(torch.device("cpu")).options._timeout.total_seconds())
        state.leave()
    return waits


def test_ranks_of_a_host_wait_for_busy_workers(four_ranks: Ranks) -> None:
    """A follower waits at least as long as its leader, which waits for the other leaders."""
    with controlled(2) as (_, variables):
        for waits in four_ranks.run(patience, list(range(RANKS)), variables):
            assert waits == [800.0, 800.0, 150.0, 150.0]


def failed_join(rank: int, variables: dict[str, str]) -> str:
    with environment({**variables, **as_torchrun(rank, [2, 2]), "LANESUM_JOB": "absent"}):
        try:
            lanesum.torch.attach(DistributedDataParallel(net()), hierarchical=True)
        except LanesumError as error:
            return f"{type(error).__name__}: {error}"
    return ""


def test_failed_join_of_leader_raises_on_all_ranks(four_ranks: Ranks) -> None:
    with controlled(2) as (_, variables):
        for text in four_ranks.run(failed_join, list(range(RANKS)), variables):
            assert text.startswith("ControllerError") and "absent" in text


def test_note_of_leader_keeps_text_of_foreign_errors() -> None:
    other = notes.decode(notes.encode(hierarchy._typed(ValueError("no sum"))).encode())
    assert isinstance(other, hierarchy.HostError) and "The leader failed: no sum" in str(other)


class LostWork:
    """Work of a process group whose peer has ended."""

    def is_completed(self) -> bool:
        return True

    def wait(self) -> None:
        raise RuntimeError("Connection closed by peer.")


def test_hosts_without_all_ranks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "get_world_size", lambda: 2)
    monkeypatch.setattr(dist, "get_process_group_ranks", lambda group: [0])
    monkeypatch.setattr(notes, "exchange", lambda note, group, of, wait_s: ["0", "0"])
    with pytest.raises(ConfigurationError, match=r"The ranks are not divided among hosts: \[\(0,\)\]\. Give each rank"):
        hierarchy.HostGroup(dist.ProcessGroup(0, 1), 1.0)  # type: ignore[call-overload]


def test_rank_of_the_host_that_ends_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "reduce", lambda *_, **__: LostWork())
    group = object.__new__(hierarchy.HostGroup)
    group.__dict__.update(_leader=0, _reducing=None, leads=True)
    with pytest.raises(hierarchy.HostError, match=r"ranks of this host could not reduce a tensor: Connection closed"):
        group.reduce(torch.ones(3), average=False)
    follower = SimpleNamespace(
        host=SimpleNamespace(num_shared=0, broadcast=lambda *_: [LostWork()]), closed=threading.Event()
    )
    with pytest.raises(hierarchy.HostError, match=r"The leader of this host sent no result: Connection closed"):
        hierarchy.SharedResult(follower, torch.ones(3)).codec_result()  # type: ignore[arg-type]


def missing_host(rank: int, variables: dict[str, str]) -> list[str]:
    """The second host ends after the first step."""
    texts = []
    model = DistributedDataParallel(net())
    with environment({**variables, **as_torchrun(rank, [2, 2])}):
        state = lanesum.torch.attach(model, hierarchical=True, codec="fixed", deadline_s=200.0, busy_s=200.0)
    model(torch.ones(1, 32)).sum().backward()
    dist.barrier()
    if rank >= 2:
        state.close()
    for _ in range(2 if rank < 2 else 0):
        try:
            state.all_reduce(torch.ones(100)).wait()
        except Exception as error:
            texts.append(f"{type(error).__name__}: {error}")
    dist.barrier()
    state.close()
    return texts


def test_failure_of_a_leader_raises_on_its_host(four_ranks: Ranks) -> None:
    with controlled(2) as (_, variables):
        leader, follower, *_ = four_ranks.run(missing_host, list(range(RANKS)), variables)
    assert len(leader) == len(follower) == 2
    assert leader == follower and "worker 1" in leader[0].lower()
    kind, cause = leader[0].split(": ", 1)
    assert leader[1].startswith(f"{kind}: lanesum did not sum this tensor, because an earlier all-reduce has failed: ")
    assert cause in leader[1]


def sparse_or_unknown_ranks(rank: int, variables: dict[str, str]) -> list[str]:
    texts = []
    with environment({**variables, **as_torchrun(rank, [2, 2])}):
        with lanesum.torch.State.join(hierarchical=True, codec="fixed") as state:
            for tensor, output in ((torch.ones(3).to_sparse(), None), (torch.ones(4), torch.ones(1))):
                try:
                    state.all_reduce(tensor, output=output)
                except LanesumError as error:
                    texts.append(str(error))
            dist.barrier()  # no leader leaves before the other one has joined
        os.environ.pop("LOCAL_RANK")
        for wrong in ({}, {"LOCAL_RANK": "\u00b2"}, {"LOCAL_RANK": "2"}):
            os.environ.update(wrong)
            try:
                lanesum.torch.State.join(hierarchical=True)
            except LanesumError as error:
                texts.append(str(error))
        os.environ["LOCAL_RANK"] = ""
    return texts


def test_sparse_tensors_and_unknown_hosts_are_refused(four_ranks: Ranks) -> None:
    with controlled(2) as (_, variables):
        for texts in four_ranks.run(sparse_or_unknown_ranks, list(range(RANKS)), variables):
            sparse, shards, *unknown, beyond = texts
            assert "Ranks of one host cannot add up shards" in shards
            assert "cannot add up sparse tensors" in sparse
            assert len(unknown) == 2 and all("LOCAL_RANK and LOCAL_WORLD_SIZE do not say" in one for one in unknown)
            assert "LOCAL_RANK=2 and LOCAL_WORLD_SIZE=2 do not fit rank " in beyond
