# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Choice between lanesum and the process group: measured steps, the choice, and two ranks that agree on it."""

from __future__ import annotations

import functools
import logging
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import lanesum.torch
from lanesum.codecs import for_job
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.session import Session
from lanesum.torch import path_choice
from lanesum.torch.path_choice import (
    CHANGE_LEAD_PAIRS,
    FIRST_PERIOD_STEPS,
    LEAD_PAIRS,
    MAX_PAIRS,
    WARM_UP_STEPS,
    PathChoice,
)
from lanesum.transport import JobTicket
from tests.host.torch.buckets import FakeBucket
from tests.host.torch.controllers import controlled, environment
from tests.host.torch.ranks import Ranks, served_job

#: A choice has been made in any case.
TRAINED_STEPS = WARM_UP_STEPS + 2 * MAX_PAIRS + 3
BEFORE_CHOICE = WARM_UP_STEPS + 2 * LEAD_PAIRS


@dataclass
class Steps:
    """Steps of a training whose time depends on the way that averages them."""

    choice: PathChoice
    now: float
    by_lanesum_s: float
    by_group_s: float
    noise: Callable[[], float] = lambda: 1.0

    def take(self, count: int) -> list[bool]:
        """Take steps of two buckets; return for each whether the group averaged it."""
        taken = []
        for _ in range(count):
            ways = set()
            for index in range(2):
                bucket = FakeBucket(torch.ones(4))
                bucket.index = lambda index=index: index  # type: ignore[method-assign, misc]
                ways.add(self.choice.is_of_group(cast(dist.GradBucket, bucket)))
            (by_group,) = ways
            self.now += (self.by_group_s if by_group else self.by_lanesum_s) * self.noise()
            taken.append(by_group)
        return taken


@pytest.fixture(scope="module")
def group() -> Iterator[dist.ProcessGroup]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield cast(dist.ProcessGroup, dist.group.WORLD)
    dist.destroy_process_group()


def steps(group: dist.ProcessGroup, by_lanesum_s: float, by_group_s: float) -> Steps:
    found = Steps(PathChoice(group, clock=lambda: found.now), 0.0, by_lanesum_s, by_group_s)
    return found


@pytest.mark.parametrize(("by_group_s", "by_group"), [(0.9, True), (1.0, True), (1.1, False)])
def test_choice_takes_the_way_with_shorter_steps(
    group: dist.ProcessGroup, by_group_s: float, by_group: bool, caplog: pytest.LogCaptureFixture
) -> None:
    some = steps(group, 1.0, by_group_s)
    with caplog.at_level(logging.INFO, logger="lanesum"):
        assert some.take(BEFORE_CHOICE) == WARM_UP_STEPS * [False] + LEAD_PAIRS * [False, True]
        assert some.choice.summary == ""
        assert some.take(20) == 20 * [by_group]
    name = "gloo" if by_group else "lanesum"
    assert some.choice.summary == f"{name} is faster here"
    assert (
        f"{name} is faster here: a step takes 1000.0 ms by lanesum, {1000 * by_group_s:.1f} ms by gloo. "
        "LANESUM_STEP_ASIDE=off keeps to lanesum." in caplog.text
    )
    assert [one.levelname for one in caplog.records] == ["WARNING" if by_group else "INFO"]
    assert some.choice.group_steps == LEAD_PAIRS + 20 * by_group


def test_one_slow_step_does_not_change_the_choice(group: dist.ProcessGroup) -> None:
    some = steps(group, 1.0, 0.5)
    some.take(WARM_UP_STEPS + 2)
    some.now += 60  # a checkpoint after a step of the group
    # lanesum wins the pair with the slow step, so the group has to win one pair more.
    assert some.take(2 * (LEAD_PAIRS + 1) + 3)[-3:] == 3 * [True]


def _busy_host(rng: random.Random) -> float:
    """Return a factor for the time of a step; every sixth step waits for other processes for about two steps more."""
    return rng.lognormvariate(0, 0.35) * (1 + (rng.random() < 1 / 6) * rng.expovariate(0.5))


@pytest.mark.parametrize(("by_lanesum_s", "by_group_s"), [(1.5, 1.0), (1.0, 1.5)])
def test_noise_of_busy_hosts_rarely_decides(
    group: dist.ProcessGroup, by_lanesum_s: float, by_group_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, logger="lanesum")
    wrong = 0
    for seed in range(100):
        some = steps(group, by_lanesum_s, by_group_s)
        some.noise = functools.partial(_busy_host, random.Random(seed))
        some.take(WARM_UP_STEPS + 2 * MAX_PAIRS + 1)
        wrong += some.choice.summary != f"{'gloo' if by_group_s < by_lanesum_s else 'lanesum'} is faster here"
    assert wrong <= 5  # of 100; the medians of three pairs choose wrongly in about 17


def test_equal_ways_are_measured_for_a_bounded_time(group: dist.ProcessGroup) -> None:
    some = steps(group, 1.0, 1.0)
    some.take(WARM_UP_STEPS)
    for pair in range(MAX_PAIRS):
        assert some.choice.summary == ""
        some.by_group_s = 0.9 if pair % 2 else 1.1
        assert some.take(2) == [False, True]
    assert some.take(5) == 5 * [False]  # lanesum has won one pair more


def test_choice_is_measured_again(group: dist.ProcessGroup) -> None:
    some = steps(group, 1.0, 0.5)
    assert some.take(BEFORE_CHOICE + FIRST_PERIOD_STEPS)[-FIRST_PERIOD_STEPS:] == FIRST_PERIOD_STEPS * [True]
    some.by_group_s = 1.4  # the mean of both periods is below 1
    assert some.take(2 * CHANGE_LEAD_PAIRS) == CHANGE_LEAD_PAIRS * [False, True]
    assert some.take(path_choice.PERIOD_STEPS) == path_choice.PERIOD_STEPS * [False]
    assert some.take(2 * LEAD_PAIRS) == LEAD_PAIRS * [False, True]
    assert some.take(3) == 3 * [False]


def test_undecided_measurement_keeps_the_choice(group: dist.ProcessGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_choice, "FIRST_PERIOD_STEPS", 4)
    some = steps(group, 1.0, 0.5)
    some.take(BEFORE_CHOICE + 4)
    for pair in range(MAX_PAIRS):
        some.by_group_s = 0.9 if pair % 2 else 1.1
        assert some.take(2) == [False, True]
    assert some.take(5) == 5 * [True]


def _train(ticket: JobTicket) -> tuple[list[float], list[float], str, int, int]:
    """Train; return the parameters of this rank and those of a plain DDP, and what averaged them."""
    results = []
    with lanesum.torch.State(Session(ticket, codec="auto"), alternative=dist.group.WORLD) as state:
        for hooked in (True, False):
            torch.manual_seed(1)
            model = DistributedDataParallel(nn.Linear(8, 2))
            if hooked:
                model.register_comm_hook(state, lanesum.torch.hook)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            torch.manual_seed(10 + ticket.worker)
            for _ in range(TRAINED_STEPS):
                optimizer.zero_grad()
                model(torch.randn(4, 8)).square().mean().backward()
                optimizer.step()
            results.append(nn.utils.parameters_to_vector(model.parameters()).tolist())
        state.leave()
        stats = state.stats
    return *results, stats.chosen, stats.group_steps, stats.buckets


def test_ranks_agree_and_average_as_plain_ddp(ranks: Ranks) -> None:
    with served_job(2, "auto") as tickets:
        (first, plain, chosen, group_steps, buckets), (second, _, other, *_) = ranks.run(_train, tickets)
    assert first == second
    assert first == pytest.approx(plain, rel=1e-5)
    assert chosen == other != ""
    assert group_steps >= LEAD_PAIRS
    assert buckets == TRAINED_STEPS - group_steps


@pytest.mark.parametrize(
    ("codec", "workers", "quorum", "may"),
    [
        ("thc", 2, 0, True),
        ("fixed", 2, 2, True),
        ("auto", 2, 0, True),
        ("policy", 2, 0, False),
        ("thc", 3, 2, False),
    ],
)
def test_group_replaces_codecs_without_past_and_quorum(
    group: dist.ProcessGroup, codec: str, workers: int, quorum: int, may: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = JobTicket(job=1, tag=2, worker=0, workers=workers, slots=4, quorum=quorum)
    made = for_job(codec, workers=workers, lookup=False)
    monkeypatch.delenv("LANESUM_STEP_ASIDE")
    assert path_choice.may_step_aside(ticket, made, group, None) == may
    assert not path_choice.may_step_aside(ticket, made, group, False)
    monkeypatch.setenv("LANESUM_STEP_ASIDE", "off")
    assert path_choice.may_step_aside(ticket, made, group, True) == may
    assert not path_choice.may_step_aside(ticket, made, group, None)
    monkeypatch.setenv("LANESUM_STEP_ASIDE", "yes")
    with pytest.raises(ConfigurationError, match="Invalid LANESUM_STEP_ASIDE='yes': expected on or off"):
        path_choice.may_step_aside(ticket, made, group, None)


def _error_feedback(ticket: JobTicket) -> tuple[bool, bool, bool]:
    """Return whether there was error feedback before a step of the group, is after it, and was in the mean."""
    session = Session(ticket, codec="thc")
    with lanesum.torch.State(session, error_feedback=True, alternative=dist.group.WORLD) as state:
        model = DistributedDataParallel(nn.Linear(64, 1, bias=False))
        model.register_comm_hook(state, lanesum.torch.hook)
        feedback, gradient = state.error_feedback, model.module.weight
        assert feedback is not None
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        for _ in range(WARM_UP_STEPS + 1):
            model(torch.linspace(0, 1, 64) * (1 + ticket.worker)).sum().backward()
            optimizer.step()
        gradient.grad = None
        (before,) = feedback.state_dict().values()
        dist.all_reduce(total := before.clone())
        model(torch.zeros(64)).sum().backward()  # of the group
        optimizer.step()
        mean, left = cast(torch.Tensor, gradient.grad), feedback.state_dict()
        state.leave()
    return bool(before.any()), bool(left), torch.equal(mean.view(-1), total / 2)


def test_step_of_group_delivers_error_feedback(ranks: Ranks) -> None:
    with served_job(2, "thc") as tickets:
        assert ranks.run(_error_feedback, tickets) == [(True, False, True)] * 2


def _joined(rank: int, variables: dict[str, str], options: list[dict[str, Any]]) -> str:
    """Join; return what the state says of its choice after it, or the exception."""
    try:
        with environment({**variables, "LANESUM_STEP_ASIDE": "on"}):
            with lanesum.torch.State.join(wait_s=30.0, **options[rank]) as state:
                model = DistributedDataParallel(nn.Linear(8, 2))
                model.register_comm_hook(state, lanesum.torch.hook)
                for _ in range(TRAINED_STEPS):
                    model(torch.ones(8)).sum().backward()
                state.leave()
            return state.stats.chosen
    except LanesumError as error:
        return str(error)


def test_joined_ranks_choose_unless_forbidden(ranks: Ranks) -> None:
    with controlled(2) as (_, variables):
        first, second = ranks.run(_joined, [0, 1], variables, [{}, {}])
    assert first == second
    assert first in ("gloo is faster here", "lanesum is faster here")
    with controlled(2) as (_, variables):
        assert ranks.run(_joined, [0, 1], variables, [{"step_aside": False}] * 2) == ["", ""]
    with controlled(2) as (_, variables):
        for told in ranks.run(_joined, [0, 1], variables, [{}, {"step_aside": False}]):
            assert "step_aside is True at worker 0 (w1), but False at worker 1 (w2)" in told
