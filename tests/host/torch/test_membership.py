# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Membership in the job of a process group: sub-groups, and ranks that the environment does not have."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import lanesum.errors
import lanesum.torch
from tests.host.launch import spawned_script
from tests.host.torch.controllers import controlled, environment
from tests.host.torch.ranks import Ranks
from tests.waiting import with_longer_deadlines

RANKS = 4


def train_pairs(rank: int, variables: dict[str, str]) -> tuple[list[float], list[float]]:
    """Return means of gradients of 1 + rank over ranks (0, 2) and (1, 3): over gloo, and by lanesum."""
    pairs = [dist.new_group([first, first + 2]) for first in (0, 1)]
    means: tuple[list[float], list[float]] = ([], [])
    with environment(variables):
        for found, attached in zip(means, (False, True), strict=True):
            model = DistributedDataParallel(nn.Linear(8, 4), process_group=pairs[rank % 2])
            state = lanesum.torch.attach(model, codec="fixed") if attached else None
            for _ in range(2):
                model.zero_grad()
                model(torch.full((1, 8), 1.0 + rank)).sum().backward()
                found.append(round(model.module.weight.grad.mean().item(), 4))
            if state is not None:
                assert state.session.ticket.workers == 2
                assert state.stats.buckets + state.stats.group_steps > 0
                state.leave()
    return means


def test_attach_over_subgroup_averages_its_ranks(four_ranks: Ranks) -> None:
    """RANK is wrong, as it is for processes of ``mp.spawn``."""
    with controlled(RANKS) as (controller, variables):
        outcomes = four_ranks.run(train_pairs, list(range(RANKS)), {**variables, "RANK": "0"})
        assert {"train.0-2", "train.1-3"} <= {event.whom for event in controller.events.since(0)}
    for rank, (plain, own) in enumerate(outcomes):
        assert own == plain == [2.0 + rank % 2] * 2


def train_all(rank: int, variables: dict[str, str]) -> tuple[int, float]:
    """Return worker and mean of gradients of 1 + rank."""
    with environment(variables):
        model = DistributedDataParallel(nn.Linear(8, 4))
        state = lanesum.torch.attach(model, codec="fixed")
        model(torch.full((1, 8), 1.0 + rank)).sum().backward()
        state.leave()
    return state.session.ticket.worker, round(model.module.weight.grad.mean().item(), 4)


def test_attach_takes_rank_from_process_group(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        outcomes = four_ranks.run(train_all, list(range(RANKS)), {**variables, "RANK": "0"})
    assert outcomes == [(rank, 2.5) for rank in range(RANKS)]


def train_unevenly(rank: int, variables: dict[str, str], deadline_s: float) -> tuple[list[str], str]:
    """Rank 1 has a batch less than rank 0. Return the warnings of a rank, and the error of its last step."""
    logged: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())  # type: ignore[method-assign]
    error = ""
    with environment(variables):
        model = DistributedDataParallel(nn.Linear(8, 4))
        # The first steps have longer, because ranks start at different times.
        state = lanesum.torch.attach(model, codec="fixed", step_aside=False, busy_s=3 * deadline_s)
        logging.getLogger("lanesum").addHandler(handler)
        for batch in range(3 - rank):
            if batch == 2:
                state.session._transport._deadline_s = deadline_s
            try:
                model(torch.ones(1, 8)).sum().backward()
            except lanesum.errors.LanesumError as ended:
                error = str(ended)
        dist.barrier()
        logging.getLogger("lanesum").removeHandler(handler)
        state.close()
    return logged, error


def test_attach_uneven_inputs_warn_after_the_deadline(ranks: Ranks) -> None:
    """Rank 1 waits for the others meanwhile, as in a validation, so only the limit of the wait is an error."""

    def attempt(deadline_s: float) -> None:
        with controlled(2) as (_, variables):
            (logged, error), _ = ranks.run(train_unevenly, [0, 1], variables, deadline_s)
        (told,) = (line for line in logged if "(busy_s)" in line)
        assert f"no progress for {deadline_s:g} s at worker 0; still missing: worker 1." in told
        assert "have fewer batches: uneven inputs need model.join()" in told
        assert "still missing: worker 1" in error

    with_longer_deadlines(attempt)


@pytest.mark.long
def test_attach_in_spawned_ranks_trains_as_gloo(tmp_path: Path) -> None:
    """Ranks of ``mp.spawn`` have no variables of torchrun."""
    with controlled(2) as (_, variables):
        kept = {name: value for name, value in os.environ.items() if "RANK" not in name and "WORLD" not in name}
        ran = subprocess.run(
            [sys.executable, spawned_script.__file__, tmp_path / "store"],
            env={**kept, **variables, "GLOO_SOCKET_IFNAME": "lo"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("as by gloo") == 2
