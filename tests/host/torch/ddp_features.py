# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Features of DistributedDataParallel: each is a short training, and a row of docs/support.md."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import prune
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import lanesum.torch

STEPS = 3


@dataclass(frozen=True)
class Way:
    """A way to average gradients: gloo, the hook with ``state``, or the backend of ``group``."""

    state: lanesum.torch.State | None = None
    group: dist.ProcessGroup | None = None

    def wrap(self, model: nn.Module, **options: Any) -> DistributedDataParallel:
        """Return ``model`` in DDP with small buckets, so that it rebuilds them."""
        wrapper = DistributedDataParallel(model, **{"bucket_cap_mb": 0.006, "process_group": self.group, **options})
        if self.state is not None:
            wrapper.register_comm_hook(self.state, lanesum.torch.hook)
        return wrapper


@dataclass(frozen=True)
class Feature:
    """A feature that is trained.

    Attributes:
        train: returns the trained model.
        how: remark for the page.
        by_gloo: the backend leaves its gradients to gloo, because of their type.
    """

    train: Callable[[Way], nn.Module]
    how: str
    by_gloo: bool = False


FEATURES: dict[str, Feature] = {}
Work = Callable[[Way], nn.Module]
Loss = Callable[[nn.Module, int], torch.Tensor]


def feature(name: str, how: str = "as with gloo", *, by_gloo: bool = False) -> Callable[[Work], Work]:
    def register(work: Work) -> Work:
        assert name not in FEATURES
        FEATURES[name] = Feature(work, how, by_gloo)
        return work

    return register


def net(*last: Callable[[], nn.Module]) -> nn.Sequential:
    """Return a model with the same weights each time; ``last`` make its last modules."""
    torch.manual_seed(3)
    layers = (nn.Linear(32, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 8))
    return nn.Sequential(*layers, *[make() for make in last])


def batch_of(step: int, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(100 * dist.get_rank() + step)
    return torch.randn(*(shape or (16, 32)), generator=generator)


def square(model: nn.Module, step: int) -> torch.Tensor:
    output: torch.Tensor = model(batch_of(step))
    return output.square().mean()


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1)


def train(
    model: nn.Module,
    steps: int = STEPS,
    loss: Loss = square,
    optimizer: Callable[[nn.Module], torch.optim.Optimizer] = sgd,
    before_step: Callable[[nn.Module], object] = lambda _: None,
) -> nn.Module:
    """Train ``model`` and return it."""
    steps_of = optimizer(model)
    for step in range(steps):
        steps_of.zero_grad()
        loss(model, step).backward()
        before_step(model)
        steps_of.step()
    return model


# Arguments of DDP.


@feature("plain training", "as in [training](training.md)")
def plainly(way: Way) -> nn.Module:
    return train(way.wrap(net()))


@feature("`static_graph`")
def with_static_graph(way: Way) -> nn.Module:
    return train(way.wrap(net(), static_graph=True))


class Branches(nn.Module):
    """Uses another branch in each step."""

    def __init__(self) -> None:
        super().__init__()
        self.branches = nn.ModuleList([net(), net()])

    def forward(self, batch: torch.Tensor, branch: int) -> torch.Tensor:
        output: torch.Tensor = self.branches[branch](batch)
        return output


@feature("`find_unused_parameters`")
def with_unused_parameters(way: Way) -> nn.Module:
    model = way.wrap(Branches(), find_unused_parameters=True)
    return train(model, loss=lambda model, step: model(batch_of(step), step % 2).square().mean())


@feature("`gradient_as_bucket_view`")
def with_bucket_views(way: Way) -> nn.Module:
    return train(way.wrap(net(), gradient_as_bucket_view=True))


@feature("`bucket_cap_mb`", "buckets [change the bits](results.md)")
def with_large_buckets(way: Way) -> nn.Module:
    return train(way.wrap(net(), bucket_cap_mb=25))


@feature("`broadcast_buffers=False`")
def without_broadcast_of_buffers(way: Way) -> nn.Module:
    return train(way.wrap(net(lambda: nn.BatchNorm1d(8)), broadcast_buffers=False))


@feature("`init_sync=False`")
def without_first_broadcast(way: Way) -> nn.Module:
    return train(way.wrap(net(), init_sync=False))


@feature("`no_sync`", "the last backward pass is averaged")
def accumulating(way: Way) -> nn.Module:
    def loss(model: nn.Module, step: int) -> torch.Tensor:
        assert isinstance(model, DistributedDataParallel)
        with model.no_sync():
            square(model, step).backward()
        return square(model, step + STEPS)

    return train(way.wrap(net()), loss=loss)


@feature("accumulation without `no_sync`", "each backward pass is averaged")
def accumulating_averages(way: Way) -> nn.Module:
    def loss(model: nn.Module, step: int) -> torch.Tensor:
        square(model, step).backward()
        return square(model, step + STEPS)

    return train(way.wrap(net()), loss=loss)


@feature("`join`", "a worker without data contributes zeros")
def with_uneven_inputs(way: Way) -> nn.Module:
    model = way.wrap(net())
    with model.join():
        return train(model, STEPS + 2 * dist.get_rank())


@feature("two models in turn")
def with_two_models(way: Way) -> nn.Module:
    models = nn.ModuleList([way.wrap(net()), way.wrap(net(lambda: nn.Linear(8, 4)))])
    for step in range(STEPS):
        for model in models:
            train(model, 1, lambda model, _, step=step: square(model, step))
    return models


@feature("a model that is wrapped again", "attach to the new wrapper")
def with_second_wrapper(way: Way) -> nn.Module:
    model = net()
    model[0].requires_grad_(False)
    train(way.wrap(model))
    model[0].requires_grad_(True)
    return train(way.wrap(model))


# Backward passes.


@feature("gradient clipping", "after backward, on the mean")
def with_clipping(way: Way) -> nn.Module:
    def clip(model: nn.Module) -> None:
        assert nn.utils.clip_grad_norm_(model.parameters(), 1.0) > 1

    return train(way.wrap(net()), loss=lambda model, step: 100 * square(model, step), before_step=clip)


@feature("clipping by value")
def with_clipping_by_value(way: Way) -> nn.Module:
    return train(way.wrap(net()), before_step=lambda model: nn.utils.clip_grad_value_(model.parameters(), 0.01))


@feature("two forward passes, one backward")
def with_two_forward_passes(way: Way) -> nn.Module:
    return train(way.wrap(net()), loss=lambda model, step: square(model, step) + square(model, step + STEPS))


@feature("gradient penalty (`create_graph`)")
def with_gradient_penalty(way: Way) -> nn.Module:
    def loss(model: nn.Module, step: int) -> torch.Tensor:
        batch = batch_of(step).requires_grad_()
        output = model(batch).square().mean()
        (slope,) = torch.autograd.grad(output, batch, create_graph=True)
        return output + (slope.norm() - 1).square()

    return train(way.wrap(net()), loss=loss)


@feature("hooks of parameters")
def with_parameter_hooks(way: Way) -> nn.Module:
    model = net()
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: gradient * 0.5)
    return train(way.wrap(model))


@feature("hooks of modules")
def with_module_hooks(way: Way) -> nn.Module:
    model = net()
    model[2].register_forward_hook(lambda module, inputs, output: output * 2)
    model[2].register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * 0.5,))
    return train(way.wrap(model))


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, batch: torch.Tensor) -> torch.Tensor:
        return 2 * batch

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> torch.Tensor:
        return 2 * gradients[0]


@feature("custom `autograd.Function`")
def with_own_function(way: Way) -> nn.Module:
    return train(way.wrap(net()), loss=lambda model, step: Doubled.apply(model(batch_of(step))).square().mean())


class Checkpointed(nn.Module):
    """Computes its activations again in the backward pass."""

    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.net, self.reentrant = net(), reentrant

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = checkpoint(self.net, batch, use_reentrant=self.reentrant)
        return output


@feature("gradient checkpointing", "`use_reentrant=False`")
def with_gradient_checkpointing(way: Way) -> nn.Module:
    return train(way.wrap(Checkpointed(False)))


@feature("reentrant checkpointing", "with `static_graph`, as with gloo")
def with_reentrant_checkpointing(way: Way) -> nn.Module:
    model = way.wrap(Checkpointed(True), static_graph=True)
    return train(model, loss=lambda model, step: model(batch_of(step).requires_grad_()).square().mean())


@feature("an exception before backward", "the loop goes on")
def with_exceptions(way: Way) -> nn.Module:
    def loss(model: nn.Module, step: int) -> torch.Tensor:
        with contextlib.suppress(RuntimeError):
            model(torch.ones(3, 3))
        return square(model, step)

    return train(way.wrap(net()), loss=loss)


@feature("a skipped optimizer step")
def with_skipped_step(way: Way) -> nn.Module:
    model = way.wrap(net())
    square(model, 99).backward()
    model.zero_grad()
    return train(model)


@feature("anomaly detection")
def with_anomaly_detection(way: Way) -> nn.Module:
    with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly():
        return train(way.wrap(net()))


@feature("profiler")
def with_profiler(way: Way) -> nn.Module:
    with torch.profiler.profile():
        return train(way.wrap(net()))


@feature("deterministic algorithms")
def with_deterministic_algorithms(way: Way) -> nn.Module:
    torch.use_deterministic_algorithms(True)
    try:
        return train(way.wrap(net()))
    finally:
        torch.use_deterministic_algorithms(False)


@feature("`torch.compile` of the model")
def with_compiled_model(way: Way) -> nn.Module:
    torch._dynamo.reset()
    # PyTorch's DDPOptimizer needs buckets of at least the size of the first one, 1 MiB.
    return train(way.wrap(torch.compile(net(), backend="aot_eager"), bucket_cap_mb=25))  # type: ignore[arg-type]


@feature("`torch.compile` of the DDP wrapper", "register the hook first")
def with_compiled_wrapper(way: Way) -> nn.Module:
    torch._dynamo.reset()
    return train(torch.compile(way.wrap(net(), bucket_cap_mb=25), backend="aot_eager"))  # type: ignore[arg-type]


# Data types.


@feature("autocast")
def with_autocast(way: Way) -> nn.Module:
    def loss(model: nn.Module, step: int) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            output: torch.Tensor = model(batch_of(step))
        assert output.dtype is torch.bfloat16
        return output.float().square().mean()

    return train(way.wrap(net()), loss=loss)


@feature("`GradScaler`", "all workers skip the step")
def with_grad_scaler(way: Way) -> nn.Module:
    model, scaler = way.wrap(net()), torch.amp.GradScaler("cpu", init_scale=2.0**10)
    optimizer = sgd(model)
    for step in range(STEPS + 1):
        optimizer.zero_grad()
        loss = square(model, step) * (torch.inf if (step, dist.get_rank()) == (1, 0) else 1)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 2.0**9
    return model


@feature("parameters of bfloat16", "summed as float32")
def with_bfloat16(way: Way) -> nn.Module:
    model = way.wrap(net().bfloat16())
    return train(model, loss=lambda model, step: model(batch_of(step).bfloat16()).float().square().mean())


@feature("parameters of float64", "the hook sums them as float32", by_gloo=True)
def with_float64(way: Way) -> nn.Module:
    return train(way.wrap(net().double()), loss=lambda model, step: model(batch_of(step).double()).square().mean())


class Cast(nn.Module):
    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return batch.double()


@feature("parameters of several types")
def with_several_types(way: Way) -> nn.Module:
    return train(way.wrap(net(Cast, lambda: nn.Linear(8, 4).double())))


# Optimizers.


def adam(model: nn.Module, kind: Any = torch.optim.Adam, **options: Any) -> torch.optim.Optimizer:
    # With a small eps, Adam would turn roundings of values near zero into whole steps.
    optimizer: torch.optim.Optimizer = kind(model.parameters(), lr=0.01, eps=1e-2, **options)
    return optimizer


@feature("Adam")
def by_adam(way: Way) -> nn.Module:
    return train(way.wrap(net()), optimizer=adam)


@feature("AdamW, fused")
def by_fused_adam(way: Way) -> nn.Module:
    return train(way.wrap(net()), optimizer=lambda model: adam(model, torch.optim.AdamW, fused=True))


@feature("SGD with Nesterov momentum")
def by_momentum(way: Way) -> nn.Module:
    def optimizer(model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)

    return train(way.wrap(net()), optimizer=optimizer)


@feature("Adagrad")
def by_adagrad(way: Way) -> nn.Module:
    return train(way.wrap(net()), optimizer=lambda model: torch.optim.Adagrad(model.parameters(), lr=0.01, eps=1e-2))


@feature("LBFGS", "the closure is averaged each time")
def by_lbfgs(way: Way) -> nn.Module:
    model = way.wrap(net())
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)
    for step in range(STEPS):

        def closure(step: int = step) -> torch.Tensor:
            optimizer.zero_grad()
            loss = square(model, step)
            loss.backward()
            return loss

        optimizer.step(closure)  # type: ignore[arg-type]
    return model


@feature("groups of parameters")
def by_groups(way: Way) -> nn.Module:
    def optimizer(model: nn.Module) -> torch.optim.Optimizer:
        one, *others = model.parameters()
        return torch.optim.SGD([{"params": [one], "lr": 0.2}, {"params": others}], lr=0.05)

    return train(way.wrap(net()), optimizer=optimizer)


@feature("schedule of learning rates")
def by_schedule(way: Way) -> nn.Module:
    model = way.wrap(net())
    optimizer = sgd(model)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.2, total_steps=STEPS + 1)
    return train(model, optimizer=lambda _: optimizer, before_step=lambda _: schedule.step())


@feature("a step written by hand")
def by_hand(way: Way) -> nn.Module:
    model = way.wrap(net())
    for step in range(STEPS):
        model.zero_grad(set_to_none=False)
        square(model, step).backward()
        with torch.no_grad():
            for parameter in model.parameters():
                assert parameter.grad is not None
                parameter -= 0.1 * parameter.grad
    return model


@feature("`ZeroRedundancyOptimizer`")
def with_sharded_optimizer(way: Way) -> nn.Module:
    def optimizer(model: nn.Module) -> torch.optim.Optimizer:
        return ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01, eps=1e-2)

    return train(way.wrap(net()), optimizer=optimizer)


@feature("moving average (`AveragedModel`)")
def with_moving_average(way: Way) -> nn.Module:
    model = way.wrap(net())
    average = torch.optim.swa_utils.AveragedModel(
        model.module, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
    )
    train(model, before_step=lambda model: average.update_parameters(model.module))  # type: ignore[attr-defined]
    return nn.ModuleList([model, average])


# Models.


@feature("batch normalization")
def with_batch_norm(way: Way) -> nn.Module:
    return train(way.wrap(net(lambda: nn.BatchNorm1d(8))))


@feature("dropout")
def with_dropout(way: Way) -> nn.Module:
    model = net(nn.Dropout, lambda: nn.Linear(8, 4))
    torch.manual_seed(dist.get_rank())
    return train(way.wrap(model))


@feature("convolutions, channels_last")
def with_convolutions(way: Way) -> nn.Module:
    torch.manual_seed(3)
    layers = (nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.ReLU(), nn.Conv2d(8, 4, 3))
    model = nn.Sequential(*layers).to(memory_format=torch.channels_last)
    images = torch.channels_last

    def loss(model: nn.Module, step: int) -> torch.Tensor:
        output: torch.Tensor = model(batch_of(step, 4, 3, 8, 8).to(memory_format=images))
        return output.square().mean()

    return train(way.wrap(model), loss=loss)


@feature("LSTM")
def with_lstm(way: Way) -> nn.Module:
    torch.manual_seed(3)
    model = nn.LSTM(32, 16, num_layers=2, bidirectional=True)
    return train(way.wrap(model), loss=lambda model, step: model(batch_of(step, 5, 4, 32))[0].square().mean())


@feature("transformer")
def with_transformer(way: Way) -> nn.Module:
    torch.manual_seed(3)
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return train(way.wrap(model), loss=lambda model, step: model(batch_of(step, 4, 5, 32))[:, 0].square().mean())


def words_of(step: int) -> torch.Tensor:
    return torch.randint(0, 5000, (16, 10), generator=torch.Generator().manual_seed(100 * dist.get_rank() + step))


@feature("sparse gradients of embeddings", "summed exactly, as rows")
def with_sparse_embedding(way: Way) -> nn.Module:
    torch.manual_seed(3)
    embedding = nn.EmbeddingBag(5000, 32, sparse=True, mode="sum")
    model = way.wrap(nn.Sequential(embedding, net()))
    trained = train(model, loss=lambda model, step: model(words_of(step)).square().mean())
    assert embedding.weight.grad is not None and embedding.weight.grad.is_sparse
    return trained


@feature("dense gradients of embeddings")
def with_dense_embedding(way: Way) -> nn.Module:
    torch.manual_seed(3)
    model = way.wrap(nn.Sequential(nn.EmbeddingBag(5000, 32, mode="mean"), net()))
    return train(model, loss=lambda model, step: model(words_of(step)).square().mean())


@feature("tied and frozen weights")
def with_tied_and_frozen_weights(way: Way) -> nn.Module:
    model = net()
    model.add_module("5", nn.Linear(8, 40, bias=False))
    model.add_module("6", nn.Linear(40, 8))
    model.get_submodule("6").weight = model.get_submodule("4").weight  # type: ignore[assignment]
    model.get_submodule("5").requires_grad_(False)
    return train(way.wrap(model))


@feature("parametrizations (`weight_norm`)")
def with_weight_norm(way: Way) -> nn.Module:
    model = net()
    nn.utils.parametrizations.weight_norm(model[2])
    return train(way.wrap(model))


@feature("pruning")
def with_pruning(way: Way) -> nn.Module:
    model = net()
    prune.l1_unstructured(model[2], "weight", 0.5)
    return train(way.wrap(model))


@feature("lazy modules", "initialize them first, as for gloo")
def with_lazy_modules(way: Way) -> nn.Module:
    model = net(lambda: nn.LazyLinear(4))
    torch.manual_seed(4)
    model(torch.ones(1, 32))
    return train(way.wrap(model))


class Lists(nn.Module):
    """Parameters in a list and a dictionary, one of them a scalar and one empty; takes and returns a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.matrices = nn.ParameterList([torch.randn(32, 8), torch.randn(8, 4)])
        self.others = nn.ParameterDict({"scale": torch.tensor(0.5), "empty": torch.zeros(0, 4)})

    def forward(self, *, inputs: dict[str, torch.Tensor]) -> dict[str, Any]:
        hidden = torch.tanh(inputs["batch"] @ self.matrices[0]) @ self.matrices[1]
        return {"logits": (hidden * self.others["scale"] + self.others["empty"].sum(), None)}


@feature("0-dim and empty parameters, dictionaries")
def with_lists(way: Way) -> nn.Module:
    def loss(model: nn.Module, step: int) -> torch.Tensor:
        output: torch.Tensor = model(inputs={"batch": batch_of(step)})["logits"][0]
        return output.square().mean()

    return train(way.wrap(Lists()), loss=loss)


@feature("distillation from a frozen teacher")
def with_teacher(way: Way) -> nn.Module:
    teacher = copy.deepcopy(net()).requires_grad_(False)

    def loss(model: nn.Module, step: int) -> torch.Tensor:
        batch = batch_of(step)
        return nn.functional.mse_loss(model(batch), 2 * teacher(batch))

    return train(way.wrap(net()), loss=loss)


# The rest of a loop.


@feature("`DistributedSampler`")
def with_sampler(way: Way) -> nn.Module:
    generator = torch.Generator().manual_seed(1)
    data = TensorDataset(torch.randn(64, 32, generator=generator))
    sampler: DistributedSampler[Any] = DistributedSampler(data, seed=5)
    model = way.wrap(net())
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (batch,) in DataLoader(data, batch_size=8, sampler=sampler):
            train(model, 1, lambda model, _, batch=batch: model(batch).square().mean())
    return model


@feature("validation between steps")
def with_validation(way: Way) -> nn.Module:
    def validate(model: nn.Module) -> None:
        model.eval()
        with torch.no_grad():
            total = square(model, 50)
        dist.all_reduce(total, group=way.group)
        model.train()
        assert total.isfinite()

    return train(way.wrap(net(nn.Dropout)), before_step=validate)


@feature("metrics in `torch.inference_mode`")
def with_metrics(way: Way) -> nn.Module:
    def measure(model: nn.Module) -> None:
        with torch.inference_mode():
            counts = torch.stack([square(model, 50), torch.tensor(1.0)])
            dist.all_reduce(counts, group=way.group)
        assert counts[1] == dist.get_world_size()

    return train(way.wrap(net()), before_step=measure)


@feature("a checkpoint that is loaded")
def with_loaded_checkpoint(way: Way) -> nn.Module:
    model = way.wrap(net())
    before = copy.deepcopy(model.state_dict())
    train(model)
    model.load_state_dict(before)
    return train(model, 2)


@feature("early stop that ranks agree on")
def with_early_stop(way: Way) -> nn.Module:
    model = way.wrap(net())
    for step in range(10):
        stop = torch.tensor(float(dist.get_rank() == 1 and step == 4))
        dist.all_reduce(stop, dist.ReduceOp.MAX, group=way.group)
        if stop:
            break
        train(model, 1, lambda model, _, step=step: square(model, step))
    return model
