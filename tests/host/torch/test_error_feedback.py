# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Error feedback of gradients that no step takes, beside gloo: two ranks, a loss whose gradients are its batches."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import register_optimizer_step_pre_hook

import lanesum.torch
from lanesum import codecs
from lanesum.codecs import Part
from lanesum.session import Session
from lanesum.torch.error_feedback import ErrorFeedbackState
from lanesum.transport import JobTicket
from tests.host.torch.buckets import parameters
from tests.host.torch.ranks import Ranks, served_job

STEPS = 4


class Batches(nn.Module):
    """Model with a linear loss: its gradients are the batch, whatever its weights are."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Parameter(torch.zeros(300)), nn.Parameter(torch.zeros(500))

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return (self.first * batch[:300]).sum() + (self.second * batch[300:]).sum()


class Data(Iterator[torch.Tensor]):
    """Batches of this rank."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(dist.get_rank())

    def __next__(self) -> torch.Tensor:
        return torch.randn(800, generator=self.generator)


Training = Callable[[nn.Module, Data], None]


def sgd(model: nn.Module, **options: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=1.0, **options)


def discard(model: nn.Module, data: Data, *, set_to_none: bool) -> None:
    optimizer = sgd(model)
    for _ in range(STEPS):
        for _ in range(2):
            model(3 * next(data)).backward()
            optimizer.zero_grad(set_to_none)
        model(next(data)).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none)


def discard_by_none(model: nn.Module, data: Data) -> None:
    discard(model, data, set_to_none=True)


def discard_by_zero(model: nn.Module, data: Data) -> None:
    discard(model, data, set_to_none=False)


def train_critic_and_generator(model: nn.Module, data: Data) -> None:
    """Each step has gradients of the other's parameters, too, which are discarded."""
    first, second = (torch.optim.SGD([one], lr=1.0) for one in model.parameters())
    for _ in range(STEPS):
        first.zero_grad()
        model(next(data)).backward()
        model(next(data)).backward()  # real and generated
        first.step()
        second.zero_grad()
        model(next(data)).backward()
        second.step()


def accumulate(model: nn.Module, data: Data) -> None:
    """Accumulate over backward passes with an all-reduce each, and discard every other sum."""
    optimizer = sgd(model)
    for step in range(2 * STEPS):
        for _ in range(3):
            model(next(data)).backward()
        if step % 2:
            optimizer.step()
        optimizer.zero_grad()


def go_back_twice(model: nn.Module, data: Data) -> None:
    optimizer = sgd(model)
    for _ in range(STEPS):
        loss = model(next(data))
        loss.backward(retain_graph=True)
        optimizer.zero_grad()
        loss.backward()
        optimizer.zero_grad()
        model(next(data)).backward()
        optimizer.step()
        optimizer.zero_grad()


def update_by_hand(model: nn.Module, data: Data) -> None:
    for step in range(2 * STEPS):
        model.zero_grad()
        model(next(data)).backward()
        if step % 2:
            for one in model.parameters():
                one.data.sub_(one.grad)


def change_scale(model: nn.Module, data: Data, *, fused: bool) -> None:
    """Every step scales the loss otherwise. Steps without finite gradients at one rank are skipped."""
    optimizer, scaler = sgd(model, fused=fused), torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=1)
    for step in range(2 * STEPS):
        batch = next(data)
        if step % 2 and dist.get_rank():
            batch[0] = float("inf")
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def change_scale_and_skip(model: nn.Module, data: Data) -> None:
    change_scale(model, data, fused=False)


def change_scale_with_fused_optimizer(model: nn.Module, data: Data) -> None:
    change_scale(model, data, fused=True)


def closures(model: nn.Module, data: Data) -> None:
    """LBFGS without an update of its own: the last of several closures decides."""
    optimizer = Thrice(model.parameters())
    for _ in range(STEPS):

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss: torch.Tensor = model(next(data))
            loss.backward()
            return loss

        optimizer.step(closure)


class Thrice(torch.optim.SGD):
    """Optimizer that evaluates its closure several times in a step, as LBFGS does, and moves the weights between."""

    def step(self, closure: Any = None) -> Any:
        groups = [one for group in self.param_groups for one in group["params"]]
        for _ in range(3):
            with torch.enable_grad():
                loss = closure()
            with torch.no_grad():
                for one in groups:
                    one.add_(0.5)
        with torch.no_grad():
            for one in groups:
                one.sub_(1.5).sub_(one.grad)
        return loss


def differences(ticket: JobTicket, training: Training) -> tuple[float, float]:
    """Return the largest difference of lanesum's weights and gloo's that residuals do not explain; and of the latter.

    The sum of all means that steps have taken is that of gloo minus the mean residual.
    """
    torch.manual_seed(0)
    expected, model = (DistributedDataParallel(Batches(), bucket_cap_mb=0.0015) for _ in range(2))
    training(expected, Data())
    with lanesum.torch.State(Session(ticket, codec="thc"), error_feedback=True, model=model) as state:
        model.register_comm_hook(state, lanesum.torch.hook)
        training(model, Data())
        memory = state.state_dict()["memory"]
    unexplained, explained = 0.0, 0.0
    for (name, own), right in zip(model.module.named_parameters(), expected.parameters(), strict=True):
        mean = memory[name].clone()
        dist.all_reduce(mean)
        mean /= 2
        unexplained = max(unexplained, (own.detach() - right.detach() - mean).abs().max().item())
        explained = max(explained, mean.abs().max().item())
    return unexplained, explained


@pytest.mark.parametrize(
    "training",
    [
        discard_by_none,
        discard_by_zero,
        train_critic_and_generator,
        accumulate,
        go_back_twice,
        update_by_hand,
        change_scale_and_skip,
        change_scale_with_fused_optimizer,
        closures,
    ],
)
def test_feedback_of_gradients_without_step_is_dropped(ranks: Ranks, training: Training) -> None:
    with served_job(2, "thc") as tickets:
        for unexplained, explained in ranks.run(differences, tickets, training):
            assert unexplained < 1e-4 < 1e-2 < explained


def test_feedback_of_lbfgs_counts_for_last_closure() -> None:
    """Each closure of a step starts from the residual of the step before."""
    (shown,), feedback, part = parameters(3), ErrorFeedbackState(), [Part("0", 0, 3)]
    feedback.steps.watch(shown, "0")
    optimizer = torch.optim.LBFGS([shown], lr=0.1, max_iter=3, tolerance_change=0.0)
    begun: list[float] = []
    stored: list[float] = []

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = ((shown - 1) ** 4).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        begun.append(feedback.add_to(torch.zeros(3), part)[0].item())
        stored.append(1.0 + len(stored))
        feedback.store(torch.full((3,), stored[-1]), part)
        return loss.detach()

    last = 0.0
    for _ in range(3):
        optimizer.step(closure)
        assert len(begun) > 1 and set(begun) == {last}
        begun.clear()
        last = stored[-1]
    assert feedback.state_dict()["0"].tolist() == [last] * 3


def scaler_of(scale: float) -> torch.amp.GradScaler:
    used = torch.amp.GradScaler("cpu", init_scale=scale)
    used.scale(torch.ones(1))
    return used


def scaled_step(scaler: torch.amp.GradScaler, feedback: ErrorFeedbackState, *shown: nn.Parameter) -> None:
    for number, one in enumerate(shown):
        one.grad = torch.ones_like(one)
        feedback.store(torch.full_like(one, 8.0).detach(), [Part(str(number), 0, one.numel())], feedback.scale.value())
    scaler.step(torch.optim.SGD(shown))
    scaler.update()


def test_feedback_finds_scaler_of_its_steps() -> None:
    """Another scaler of the process belongs to another model."""
    (own,), feedback = parameters(3), ErrorFeedbackState()
    feedback.steps.watch(own, "0")
    other, used = scaler_of(2.0), scaler_of(4.0)
    assert feedback.scale.value() == 1
    scaled_step(used, feedback, own)
    assert feedback.scale.value() == 4
    assert feedback.state_dict()["0"].tolist() == [2.0] * 3
    with pytest.warns(UserWarning, match="Several gradient scalers make steps of one model"):
        scaled_step(other, feedback, own)
    told = ErrorFeedbackState(used)
    told.steps.watch(own, "0")
    scaled_step(other, told, own)
    assert told.scale.value() == 4


def test_feedback_finds_scaler_in_frozen_memory() -> None:
    """The garbage collector lists no frozen objects; modules that tests import freeze those before them, too."""
    (own,), feedback, used = parameters(3), ErrorFeedbackState(), scaler_of(4.0)
    feedback.steps.watch(own, "0")
    gc.freeze()
    try:
        scaled_step(used, feedback, own)
    finally:
        gc.unfreeze()
    assert feedback.scale.value() == 4


def test_loaded_feedback_in_frozen_memory_warns() -> None:
    """The garbage collector lists no scaler from before ``gc.freeze``."""
    gc.collect()
    feedback, scaler = ErrorFeedbackState(), scaler_of(4.0)
    feedback.load_state_dict({"0": torch.ones(3)})
    gc.freeze()
    try:
        with pytest.warns(UserWarning, match="scaler from before is not found"):
            assert feedback.scale.value() == 1
    finally:
        gc.unfreeze()
    feedback.load_state_dict({"0": torch.ones(3)})
    assert feedback.scale.value() == scaler.get_scale() == 4


def test_loaded_feedback_is_scaled_before_first_step() -> None:
    gc.collect()
    scalers: list[torch.amp.GradScaler] = []
    for scale, expected in ((4.0, 4.0), (8.0, 1.0)):
        scalers.append(scaler_of(scale))
        feedback = ErrorFeedbackState()
        feedback.load_state_dict({"0": torch.ones(3)})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            total = feedback.add_to(torch.zeros(3), [Part("0", 0, 3)], feedback.scale.value())
        assert total.tolist() == [expected] * 3
        told = [str(one.message) for one in caught]
        assert len(told) == len(scalers) - 1
        assert all("so the scale of the loaded error feedback is not known" in one for one in told)


@pytest.mark.parametrize(
    ("optimizer", "adaptive"),
    [
        (torch.optim.SGD, False),
        (torch.optim.LBFGS, False),
        (torch.optim.AdamW, True),
        (torch.optim.RMSprop, True),
        (torch.optim.Adagrad, True),
    ],
)
def test_feedback_by_optimizer_is_for_proportional_steps(optimizer: Any, adaptive: bool) -> None:
    """A residual that is left before the kind of the optimizer is known is delivered once."""
    (shown,), feedback = parameters(3), ErrorFeedbackState(by_optimizer=True)
    part = [Part("0", 0, 3)]
    feedback.steps.watch(shown, "0")
    assert not feedback.keeps and ErrorFeedbackState().keeps
    made = optimizer([shown])
    for residual in (torch.ones(3), None):
        shown.grad = torch.ones(3)
        feedback.store(residual, part)
        made.step(lambda: torch.ones(1))
        assert feedback.keeps != adaptive
        assert feedback.add_to(torch.zeros(3), part).tolist() == ([0.0] * 3 if residual is None else [1.0] * 3)
    torch.optim.SGD([shown]).step()
    assert feedback.keeps != adaptive
    torch.optim.AdamW([shown]).step()
    assert not feedback.keeps


@pytest.mark.parametrize(("optimizer", "adaptive"), [(torch.optim.SGD, False), (torch.optim.AdamW, True)])
def test_feedback_follows_optimizer_that_is_sharded(optimizer: Any, adaptive: bool) -> None:
    (shown,), feedback = parameters(3), ErrorFeedbackState(by_optimizer=True)
    feedback.steps.watch(shown, "0")
    shown.grad = torch.ones(3)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        ZeroRedundancyOptimizer([shown], optimizer, lr=1.0).step()
    finally:
        dist.destroy_process_group()
    assert feedback.keeps != adaptive


@pytest.mark.parametrize(
    ("codec", "optimizer", "told"),
    [
        ("topk", torch.optim.AdamW, "AdamW scales up the small ones"),
        ("topk", lambda shown: torch.optim.SGD(shown, momentum=0.9), "the momentum of SGD counts them late"),
        ("topk", torch.optim.SGD, ""),
        ("thc error=0.01", torch.optim.AdamW, ""),
    ],
)
def test_optimizer_that_sparse_gradients_harm_is_named(codec: str, optimizer: Any, told: str) -> None:
    shown, feedback = parameters(3), ErrorFeedbackState(codec=codecs.get(codec, workers=2))
    feedback.steps.watch(shown[0], "0")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            made = optimizer(shown)
            made.step()
            made.step()
    expected = [f"Codec {codec} leaves out most values of a gradient, and {told}"] * 2 * bool(told)
    assert [str(one.message)[: len(wanted)] for one, wanted in zip(caught, expected, strict=True)] == expected


def test_feedback_collected_during_step_does_no_harm() -> None:
    """A garbage collection may end a tracker of steps in the middle of any step."""
    (shown,), held = parameters(1), []

    def collect(*_: Any) -> None:
        held.clear()
        gc.collect()

    handle = register_optimizer_step_pre_hook(collect)
    held.append(ErrorFeedbackState())
    torch.optim.SGD([shown]).step()
    handle.remove()
    assert not held
