# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The communication hook under real DDP: two ranks over gloo, gradients over UDP."""

from __future__ import annotations

import functools
import hashlib
import random
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import lanesum.torch
from lanesum.session import Session
from lanesum.transport import JobTicket
from tests.host.torch.ranks import Failure, Ranks, served_job
from tests.waiting import with_longer_deadlines

STEPS = 4


def small_net(dtype: torch.dtype = torch.float32) -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(32, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 8)).to(dtype)


def batch_of(rank: int, step: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(100 * rank + step)
    return torch.randn(16, 32, generator=generator).to(dtype)


def mean_over_ranks(tensor: torch.Tensor) -> torch.Tensor:
    mean = tensor.detach().clone().double()
    dist.all_reduce(mean)
    return mean / dist.get_world_size()


def digest(model: nn.Module) -> str:
    data = b"".join(parameter.detach().double().numpy().tobytes() for parameter in model.parameters())
    return hashlib.sha256(data).hexdigest()


class Trained:
    """DDP with the hook, and a plain copy of the model that computes this rank's own gradients."""

    def __init__(self, ticket: JobTicket, codec: str, dtype: torch.dtype = torch.float32, **options: Any) -> None:
        self.dtype = dtype
        self.rank = dist.get_rank()
        self.plain = small_net(dtype)
        # Small buckets: one in the first step, several after DDP has rebuilt them.
        self.model = DistributedDataParallel(small_net(dtype), bucket_cap_mb=0.006)
        self.layouts: list[list[int]] = []
        session = Session(ticket, codec=codec, **options)
        feedback = True if codec == "thc" else None
        self.state = lanesum.torch.State(session, error_feedback=feedback, model=self.model)
        self.model.register_comm_hook(self.state, lanesum.torch.hook)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def step(self, number: int) -> list[torch.Tensor]:
        """Do one optimizer step, and return this rank's own gradients."""
        self.plain.load_state_dict(self.model.module.state_dict())
        batch = batch_of(self.rank, number, self.dtype)
        own = torch.autograd.grad(self.plain(batch).square().mean(), list(self.plain.parameters()))
        self.optimizer.zero_grad()
        before = self.state.stats.buckets
        self.model(batch).square().mean().backward()
        self.layouts.append([self.state.stats.buckets - before])
        self.optimizer.step()
        return list(own)


def worst_error(ticket: JobTicket, dtype: torch.dtype) -> tuple[float, str, list[list[int]], str]:
    """Return the largest error of the hook's mean, relative to the largest gradient of the parameter."""
    trained = Trained(ticket, "fixed", dtype)
    worst = 0.0
    with trained.state:
        for number in range(STEPS):
            own = trained.step(number)
            for gradient, parameter in zip(own, trained.model.parameters(), strict=True):
                expected = mean_over_ranks(gradient)
                error = (parameter.grad.double() - expected).abs().max() / expected.abs().max()
                worst = max(worst, error.item())
    return worst, digest(trained.model), trained.layouts, str(next(trained.model.parameters()).grad.dtype)


@pytest.mark.parametrize(
    ("dtype", "limit"),
    [(torch.float32, 1e-6), (torch.float64, 1e-6), (torch.bfloat16, 2**-7), (torch.float16, 2**-10)],
    ids=["float32", "float64", "bfloat16", "float16"],
)
def test_hook_averages_gradients_and_replicas_agree(ranks: Ranks, dtype: torch.dtype, limit: float) -> None:
    """With 10 % loss, over the bucket rebuild. Limits are a little more than half a unit of each type."""
    generator = random.Random(1)
    with served_job(2, "fixed", loss=lambda *_: generator.random() < 0.1) as tickets:
        (worst, first, layouts, kind), (_, second, _, _) = ranks.run(worst_error, tickets, dtype)
    assert worst < limit
    assert first == second
    assert kind == str(dtype)
    if dtype is torch.float32:
        assert layouts[0] == [1] and layouts[1][0] > 1, "the test needs a bucket rebuild"


def feedback_balance(ticket: JobTicket) -> tuple[float, float, str, list[list[int]]]:
    """Return the largest difference of sum(applied) and sum(true mean) - mean(residual), and the largest residual.

    The difference is 0 if no residual was lost or added to another parameter.
    """
    trained = Trained(ticket, "thc")
    parameters = dict(trained.model.module.named_parameters())
    applied = {name: torch.zeros_like(parameter).double() for name, parameter in parameters.items()}
    meant = {name: torch.zeros_like(parameter).double() for name, parameter in parameters.items()}
    with trained.state as state:
        for number in range(STEPS):
            own = trained.step(number)
            for (name, parameter), gradient in zip(parameters.items(), own, strict=True):
                applied[name] += parameter.grad
                meant[name] += mean_over_ranks(gradient)
        memory = state.state_dict()["memory"]
    assert set(memory) == set(parameters)
    lost, kept = 0.0, 0.0
    for name in parameters:
        left = mean_over_ranks(memory[name]).view_as(applied[name])
        lost = max(lost, (applied[name] - (meant[name] - left)).abs().max().item())
        kept = max(kept, left.abs().max().item())
    return lost, kept, digest(trained.model), trained.layouts


def test_error_feedback_over_bucket_rebuild_is_complete(ranks: Ranks) -> None:
    """The residual of the first, giant bucket must be added to the small ones of the next step.

    A mean of decoded vectors is the decoded mean, so the residuals telescope: over any steps, the applied sum is the
    true sum minus the current residual, for every parameter.
    """
    with served_job(2, "thc") as tickets:
        (lost, kept, first, layouts), (_, _, second, _) = ranks.run(feedback_balance, tickets)
    assert layouts[0] == [1] and layouts[1][0] > 1, "the test needs a bucket rebuild"
    assert lost < 1e-5 < 1e-4 < kept
    assert first == second


def fail_in_backward(ticket: JobTicket, deadline_s: float) -> tuple[Failure, tuple[int, ...], Failure]:
    trained = Trained(ticket, "thc", deadline_s=deadline_s)
    try:
        trained.step(0)
    except Exception as error:
        first, missing = Failure(type(error).__name__, str(error), ""), getattr(error, "missing", ())
    assert trained.state.error is not None
    # DDP refuses another step of a model after an incomplete backward, so the state gets a new one.
    model = DistributedDataParallel(small_net())
    model.register_comm_hook(trained.state, lanesum.torch.hook)
    try:
        model(batch_of(0, 1)).sum().backward()
    except Exception as error:
        again = Failure(type(error).__name__, str(error), "")
    trained.state.close()
    return first, missing, again


def test_backward_without_one_worker_names_it(ranks: Ranks) -> None:
    """The third worker of the job never joins. The exception keeps its own type."""

    def attempt(deadline_s: float) -> None:
        with served_job(3, "thc", absent=(2,)) as tickets:
            for first, missing, again in ranks.run(fail_in_backward, tickets, deadline_s):
                assert first.kind == "AggregationTimeoutError", first
                assert "still missing: worker 2" in first.message
                assert missing == (2,)
                assert again.kind == first.kind
                assert "lanesum did not sum bucket 0, because an earlier all-reduce has failed: Job " in again.message
                assert "still missing: worker 2" in again.message

    with_longer_deadlines(attempt)


def leave_then_backward(ticket: JobTicket) -> tuple[bool, str]:
    trained = Trained(ticket, "thc")
    trained.step(0)
    before = trained.state.stats.transport.rounds
    session = trained.state.session
    session.leave = functools.partial(session.leave, 60.0)  # type: ignore[method-assign]
    left = trained.state.leave()
    assert trained.state.stats.transport.rounds == before + left
    try:
        trained.step(1)
    except Exception as error:
        return left, f"{type(error).__name__}: {error}"
    return left, ""


def test_leave_with_loss_closes_all_ranks(ranks: Ranks) -> None:
    """A tenth of all packets is lost, also of the last ones."""
    generator = random.Random(2)
    with served_job(2, "thc", loss=lambda *_: generator.random() < 0.1) as tickets:
        outcomes = ranks.run(leave_then_backward, tickets)
    # A rank that gets no packets of the other one leaves after its deadline.
    assert any(left for left, _ in outcomes)
    for _, message in outcomes:
        assert message.startswith("SessionClosedError: This State is closed.")


def close_then_backward(ticket: JobTicket) -> str:
    trained = Trained(ticket, "thc")
    trained.state.close()
    try:
        trained.step(0)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def test_backward_after_close_raises(ranks: Ranks) -> None:
    with served_job(2, "thc") as tickets:
        for message in ranks.run(close_then_backward, tickets):
            assert message.startswith("SessionClosedError: This State is closed.")


def poisoned_steps(ticket: JobTicket, codec: str, non_finite: Any) -> tuple[list[float], list[str], str]:
    """Return the loss scale and the digest of the model after each step; the second one has a NaN on one rank."""
    trained = Trained(ticket, codec, non_finite=non_finite)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    scales, digests = [], []
    with trained.state:
        for number in range(4):
            batch = batch_of(trained.rank, number)
            if trained.rank == 1 and number == 1:
                batch[0, 0] = float("nan")
            trained.optimizer.zero_grad()
            try:
                scaler.scale(trained.model(batch).square().mean()).backward()
            except Exception as error:
                return scales, digests, f"{type(error).__name__}: {error}"
            scaler.step(trained.optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
            digests.append(digest(trained.model))
        memory = trained.state.state_dict()["memory"]
        assert all(residual.isfinite().all() for residual in memory.values())
    return scales, digests, ""


@pytest.mark.parametrize("codec", ["fixed", "thc", "auto", "policy"])
def test_hook_nan_on_one_worker_skips_both_steps(ranks: Ranks, codec: str) -> None:
    with served_job(2, codec) as tickets:
        first, second = ranks.run(poisoned_steps, tickets, codec, "mean")
    assert first == second
    scales, digests, error = first
    assert not error
    assert scales == [8.0, 4.0, 4.0, 4.0]
    assert digests[0] == digests[1] and len(set(digests)) == 3


def test_not_a_number_raises_on_both_if_configured(ranks: Ranks) -> None:
    with served_job(2, "thc") as tickets:
        (_, _, told), (_, _, poisoned) = ranks.run(poisoned_steps, tickets, "thc", "raise")
    # DDP may show the error of a later bucket, which quotes the first one.
    assert poisoned.startswith("NotFiniteError:") and "Cannot encode tensor '4.bias': element 0 is nan" in poisoned
    assert told.startswith("NotFiniteError:") and "a vector of worker 1 is not finite" in told
