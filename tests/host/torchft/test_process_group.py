# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Quorums of process groups in threads: sums, changes of members, aborts, time-outs and ends of servers."""

from __future__ import annotations

import dataclasses
import time
import types
from collections.abc import Iterator
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from torchft import ProcessGroupGloo
from torchft import process_group as torchft_groups

from lanesum.errors import ConfigurationError
from lanesum.server import AggregationServer
from lanesum.session import Session
from lanesum.torchft import ProcessGroup, QuorumAbortedError, ReplicaLostError, quorum
from lanesum.torchft.process_group import check_interface
from lanesum.transport.errors import AggregationTimeoutError
from tests.host.torch.controllers import controlled
from tests.host.torchft.threads import Ranks, seconds


@pytest.fixture
def ranks() -> Iterator[Ranks]:
    made = Ranks([ProcessGroup(seconds(20)) for _ in range(3)])
    yield made
    made.close()


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> list[AggregationServer]:
    """Return the servers that quorums start, in their order."""
    started: list[AggregationServer] = []

    def start(*arguments: object) -> AggregationServer:
        started.append(AggregationServer(*arguments))
        return started[-1]

    monkeypatch.setattr(quorum, "AggregationServer", start)
    return started


def test_sums_after_changes_of_members_are_right(ranks: Ranks) -> None:
    for members in ([0, 1, 2], [0, 2], [2, 1, 0], [1], [0, 1]):
        ranks.begin(members)
        for _ in range(2):
            assert ranks.sums(members) == [sum(2.0**one for one in members)] * len(members)
        mean = sum(2.0**one for one in members) / len(members)
        assert ranks.sums(members, dist.ReduceOp.AVG) == pytest.approx([mean] * len(members), rel=1e-6)


def test_quorum_uses_lanesum_for_sums_alone(ranks: Ranks) -> None:
    ranks.begin([0, 1, 2])
    ranks.sums([0, 1, 2])
    integers = ranks.run(lambda rank, number: _integers(ranks.groups[number], rank), [0, 1, 2])
    assert integers == [[3, 6]] * 3
    counts = [group._pg._state.stats.buckets for group in ranks.groups]
    assert counts == [1] * 3, "the integers go through gloo"


def _integers(group: ProcessGroup, rank: int) -> list[int]:
    tensor = torch.tensor([rank, 2 * rank])
    group.allreduce([tensor], dist.ReduceOp.SUM).wait()
    return tensor.tolist()


def test_collectives_have_the_values_of_gloo(ranks: Ranks) -> None:
    beside = Ranks([ProcessGroupGloo(seconds(20)) for _ in range(3)])
    results = []
    for one in (ranks, beside):
        one.begin([0, 1, 2])
        results.append(one.run(lambda rank, number, one=one: _collectives(one.groups[number], rank), [0, 1, 2]))
    beside.close()
    for ours, theirs in zip(*results, strict=True):
        assert ours.keys() == theirs.keys()
        for name in ours:
            torch.testing.assert_close(
                ours[name], theirs[name], rtol=1e-6, atol=1e-6, msg=lambda m, n=name: f"{n}: {m}"
            )


def _collectives(group: ProcessGroup, rank: int) -> dict[str, torch.Tensor]:
    """Return the results of collectives of tensors that are other ones at each rank."""
    made = torch.Generator().manual_seed(rank)

    def tensor(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=made)

    results = {}
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX):
        results[str(op)] = tensor(40, 30)
        group.allreduce([results[str(op)]], op).wait()
    for dtype in (torch.float16, torch.float64, torch.int32):
        results[str(dtype)] = (8 * tensor(100)).round().to(dtype)
        options = dist.AllreduceOptions()
        group.allreduce([results[str(dtype)]], options).get_future().wait()
    pair = [tensor(5), tensor(7, 2)]
    group.allreduce_coalesced(pair, dist.AllreduceCoalescedOptions()).wait()
    gathered = [torch.zeros(4) for _ in range(3)]
    group.allgather([gathered], [tensor(4)], torchft_groups.AllgatherOptions()).wait()
    given = tensor(6)
    group.broadcast_one(given, 1).wait()
    group.barrier().wait()
    return {
        **results,
        "coalesced": torch.cat([pair[0], pair[1].reshape(-1)]),
        "gathered": torch.cat(gathered),
        "b": given,
    }


def test_packets_of_last_quorum_are_refused(ranks: Ranks, servers: list[AggregationServer]) -> None:
    ranks.begin([0, 1, 2])
    stale = ranks.groups[1]._pg._state.session.ticket
    ranks.begin([0, 2])
    assert ranks.sums([0, 2]) == [5.0] * 2
    old, new = servers
    # A member of the last quorum has the address of a member of this one, and sends to its server.
    taken = ranks.groups[2]._pg._state.session.ticket.local
    ranks.groups[2]._pg._state.session._transport._sockets.close()
    claimed = dataclasses.replace(stale, servers=(new.address,), local=taken)
    with Session(claimed, codec="fixed", deadline_s=1.0) as session, pytest.raises(AggregationTimeoutError):
        session.all_reduce(torch.full((3000,), 99.0))
    refused = new.status().refused
    assert refused["wrong tag"] > 0 and old.address != new.address, refused
    ranks.begin([0, 2])
    assert ranks.sums([0, 2]) == [5.0] * 2


def test_abort_ends_sums_in_flight_everywhere(ranks: Ranks) -> None:
    ranks.begin([0, 1, 2])
    assert [group.errored() for group in ranks.groups] == [None] * 3
    waiting = ranks.submit(lambda _, number: _error_of_sum(ranks.groups[number]), [0, 1])
    time.sleep(0.2)  # rank 2 does not take part
    begun = time.monotonic()
    ranks.groups[0].abort()
    errors = [one.result(timeout=20) for one in waiting]
    assert time.monotonic() - begun < 5
    assert isinstance(errors[1], ReplicaLostError) and errors[1].rank == 0
    assert errors[0] is not None
    assert str(ranks.groups[0].errored()).startswith("The quorum was aborted: abort was called.")
    for number in (0, 1):
        assert isinstance(ranks.groups[number].errored(), QuorumAbortedError)
    with pytest.raises(AssertionError, match="process group not initialized"):
        ranks.groups[0].allreduce([torch.ones(2)], dist.ReduceOp.SUM)
    ranks.begin([0, 1, 2])
    assert [group.errored() for group in ranks.groups] == [None] * 3
    assert ranks.sums([0, 1, 2]) == [7.0] * 3


def _error_of_sum(group: ProcessGroup, timeout: timedelta | None = None) -> Exception | None:
    try:
        group.allreduce([torch.ones(1000)], dist.ReduceOp.SUM).wait(*[timeout] * (timeout is not None))
    except Exception as error:
        return error
    return None


def test_loss_between_sums_is_no_error(ranks: Ranks) -> None:
    ranks.begin([0, 1, 2])
    ranks.sums([0, 1, 2])
    ranks.groups[2].shutdown()
    time.sleep(0.1)
    assert ranks.groups[0].errored() is None, "the sums of this step are complete"
    error = ranks.run(lambda _, number: _error_of_sum(ranks.groups[number]), [0, 1])
    assert [type(one) for one in error] == [ReplicaLostError] * 2
    assert "Rank 2 of quorum is lost: Connection closed by peer." in str(error[1])
    assert isinstance(ranks.groups[1].errored(), RuntimeError)


@pytest.mark.parametrize("by_wait", [True, False])
def test_sum_with_absent_rank_times_out(by_wait: bool) -> None:
    ranks = Ranks([ProcessGroup(seconds(20 if by_wait else 1)) for _ in range(2)])
    ranks.begin([0, 1])
    begun = time.monotonic()
    error = _error_of_sum(ranks.groups[0], seconds(1) if by_wait else None)
    assert 0.9 < time.monotonic() - begun < 8
    if by_wait:
        assert isinstance(error, QuorumAbortedError) and "timed out after 1 s" in str(error)
    else:
        assert isinstance(error, AggregationTimeoutError) and error.missing == (1,)
    assert isinstance(ranks.groups[0].errored(), QuorumAbortedError)
    ranks.close()


def test_end_of_server_ends_the_quorum(ranks: Ranks, servers: list[AggregationServer]) -> None:
    for group in ranks.groups:
        group.set_timeout(seconds(2))
    ranks.begin([0, 1, 2])
    ranks.sums([0, 1, 2])
    servers[0].close()
    errors = ranks.run(lambda _, number: _error_of_sum(ranks.groups[number]), [0, 1, 2])
    assert all(errors) and all(group.errored() for group in ranks.groups)
    ranks.begin([0, 1, 2])
    assert ranks.sums([0, 1, 2]) == [7.0] * 3


def test_quorums_with_controller_replace_the_job() -> None:
    with controlled(3) as (controller, variables):
        address = variables["LANESUM_CONTROLLER"]
        ranks = Ranks([ProcessGroup(seconds(20), controller=address, job="ft") for _ in range(3)])
        tags = set()
        for members in ([0, 1, 2], [0, 2], [0, 1, 2]):
            ranks.begin(members)
            assert ranks.sums(members) == [sum(2.0**one for one in members)] * len(members)
            (job,) = [one for one in controller.jobs() if one.request.name == "ft.0"]
            assert len(job.request.workers) == len(members)
            tags.add(ranks.groups[0]._pg._state.session.ticket.tag)
        assert len(tags) == 3
        ranks.close()


@pytest.mark.parametrize("differs", ["configure", "_create_pg"])
def test_foreign_torchft_is_refused(differs: str) -> None:
    foreign = type("Wrapper", (torchft_groups.ProcessGroupWrapper,), {})
    if differs == "configure":
        foreign.configure = lambda self, store_addr, rank, world_size: None
    else:
        foreign = types.SimpleNamespace(configure=torchft_groups.ProcessGroupWrapper.configure)
    with pytest.raises(ConfigurationError, match=r"torchft 0\.2\.0 has other process groups .* pip install"):
        check_interface(types.SimpleNamespace(ProcessGroupWrapper=foreign))


def test_controller_without_job_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANESUM_JOB", raising=False)
    with pytest.raises(ConfigurationError, match=r"needs a name of the job. Pass job=..., or set LANESUM_JOB"):
        ProcessGroup(controller="127.0.0.1:1")
