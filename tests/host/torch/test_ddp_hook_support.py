# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Features of DDP with the hook; docs/support.md names these tests.

Each feature is trained twice, by plain DDP over gloo and with the hook and codec ``fixed``. The weights must be the
same but for rounding, and the gradients must have gone through lanesum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

import lanesum.torch
from lanesum.session import Session
from lanesum.transport import JobTicket
from tests.host.torch.ranks import Ranks, served_job

STEPS = 3
#: Registers the hook at a wrapper, or leaves it to gloo.
Attach = Callable[[DistributedDataParallel], object]


def net() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(32, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 8))


def batch_of(step: int) -> torch.Tensor:
    return torch.randn(16, 32, generator=torch.Generator().manual_seed(100 * dist.get_rank() + step))


def wrap(model: nn.Module, attach: Attach, **options: Any) -> DistributedDataParallel:
    """Return ``model`` in DDP with small buckets, so that it rebuilds them."""
    wrapper = DistributedDataParallel(model, **{"bucket_cap_mb": 0.006, **options})
    attach(wrapper)
    return wrapper


def train(model: nn.Module, steps: int = STEPS, loss: Callable[..., torch.Tensor] | None = None) -> nn.Module:
    """Train ``model`` and return it; ``loss(model, step)`` is the mean square of its output by default."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        (model(batch_of(step)).square().mean() if loss is None else loss(model, step)).backward()
        optimizer.step()
    return model


def run_twice(ticket: JobTicket, work: Callable[[Attach], nn.Module]) -> tuple[int, float, str]:
    """Return the number of buckets, the largest difference of a weight, and a digest of the weights."""
    plain = work(lambda _: None)
    with lanesum.torch.State(Session(ticket, codec="fixed")) as state:
        hooked = work(lambda wrapper: wrapper.register_comm_hook(state, lanesum.torch.hook))
        buckets = state.stats.buckets
    pairs = list(zip(plain.parameters(), hooked.parameters(), strict=True))
    worst = max(float((one - other).detach().abs().max()) for one, other in pairs)
    data = b"".join(other.detach().numpy().tobytes() for _, other in pairs)
    return buckets, worst, hashlib.sha256(data).hexdigest()


def check(ranks: Ranks, work: Callable[[Attach], nn.Module], *, min_buckets: int = STEPS) -> None:
    with served_job(2, "fixed") as tickets:
        (buckets, worst, first), (others, other_worst, second) = ranks.run(run_twice, tickets, work)
    assert buckets == others >= min_buckets
    assert max(worst, other_worst) < 1e-5
    assert first == second


def plainly(attach: Attach) -> nn.Module:
    return train(wrap(net(), attach))


def test_ddp_trains_as_gloo_does(ranks: Ranks) -> None:
    check(ranks, plainly)


def accumulating(attach: Attach) -> nn.Module:
    def loss(model: nn.Module, step: int) -> torch.Tensor:
        assert isinstance(model, DistributedDataParallel)
        with model.no_sync():
            model(batch_of(step)).square().mean().backward()
        return model(batch_of(step + STEPS)).square().mean()

    return train(wrap(net(), attach), loss=loss)


def test_no_sync_accumulates_gradients(ranks: Ranks) -> None:
    check(ranks, accumulating)


def with_static_graph(attach: Attach) -> nn.Module:
    return train(wrap(net(), attach, static_graph=True))


def test_static_graph_trains_as_gloo_does(ranks: Ranks) -> None:
    check(ranks, with_static_graph)


class Branches(nn.Module):
    """Uses another branch in each step."""

    def __init__(self) -> None:
        super().__init__()
        self.branches = nn.ModuleList([net(), net()])

    def forward(self, batch: torch.Tensor, branch: int) -> torch.Tensor:
        output: torch.Tensor = self.branches[branch](batch)
        return output


def with_unused_parameters(attach: Attach) -> nn.Module:
    model = wrap(Branches(), attach, find_unused_parameters=True)
    return train(model, loss=lambda model, step: model(batch_of(step), step % 2).square().mean())


def test_find_unused_parameters_trains_as_gloo_does(ranks: Ranks) -> None:
    check(ranks, with_unused_parameters)


def with_sparse_embedding(attach: Attach) -> nn.Module:
    def loss(model: nn.Module, step: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(100 * dist.get_rank() + step)
        output: torch.Tensor = model(torch.randint(0, 5000, (16, 10), generator=generator))
        return output.square().mean()

    torch.manual_seed(3)
    embedding = nn.EmbeddingBag(5000, 32, sparse=True, mode="sum")
    trained = train(wrap(nn.Sequential(embedding, net()), attach), loss=loss)
    assert embedding.weight.grad is not None and embedding.weight.grad.is_sparse
    return trained


def test_sparse_embedding_trains_as_gloo_does(ranks: Ranks) -> None:
    check(ranks, with_sparse_embedding)


def with_bucket_views(attach: Attach) -> nn.Module:
    return train(wrap(net(), attach, gradient_as_bucket_view=True))


def test_gradient_as_bucket_view_trains_as_gloo_does(ranks: Ranks) -> None:
    check(ranks, with_bucket_views)


def with_autocast(attach: Attach) -> nn.Module:
    def loss(model: nn.Module, step: int) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            output: torch.Tensor = model(batch_of(step))
        assert output.dtype is torch.bfloat16
        return output.float().square().mean()

    return train(wrap(net(), attach), loss=loss)


def test_autocast_trains_as_gloo_does(ranks: Ranks) -> None:
    check(ranks, with_autocast)


def with_uneven_inputs(attach: Attach) -> nn.Module:
    model = wrap(net(), attach)
    with model.join():
        return train(model, STEPS + 2 * dist.get_rank())


def test_join_continues_with_uneven_inputs(ranks: Ranks) -> None:
    check(ranks, with_uneven_inputs, min_buckets=STEPS + 2)


def with_compiled_model(attach: Attach) -> nn.Module:
    torch._dynamo.reset()
    # PyTorch's DDPOptimizer needs buckets of at least the size of the first one, 1 MiB.
    return train(wrap(torch.compile(net(), backend="aot_eager"), attach, bucket_cap_mb=25))  # type: ignore[arg-type]


def test_compiled_model_in_ddp_trains_as_gloo_does(ranks: Ranks) -> None:
    check(ranks, with_compiled_model)


def with_compiled_wrapper(attach: Attach) -> nn.Module:
    torch._dynamo.reset()
    return train(torch.compile(wrap(net(), attach, bucket_cap_mb=25), backend="aot_eager"))  # type: ignore[arg-type]


def test_compiled_ddp_trains_as_gloo_does(ranks: Ranks) -> None:
    check(ranks, with_compiled_wrapper)


class Checkpointed(nn.Module):
    """Computes its activations again in the backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.net = net()

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = checkpoint(self.net, batch, use_reentrant=False)
        return output


def with_gradient_checkpointing(attach: Attach) -> nn.Module:
    return train(wrap(Checkpointed(), attach))


def test_gradient_checkpointing_trains_as_gloo_does(ranks: Ranks) -> None:
    check(ranks, with_gradient_checkpointing)


def with_tied_and_frozen_weights(attach: Attach) -> nn.Module:
    model = net()
    model.add_module("5", nn.Linear(8, 40, bias=False))
    model.add_module("6", nn.Linear(40, 8))
    model.get_submodule("6").weight = model.get_submodule("4").weight  # type: ignore[assignment]
    model.get_submodule("5").requires_grad_(False)
    return train(wrap(model, attach))


def test_tied_and_frozen_weights_train_as_gloo_does(ranks: Ranks) -> None:
    check(ranks, with_tied_and_frozen_weights)


def with_clipping(attach: Attach) -> nn.Module:
    model = wrap(net(), attach)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        (100 * model(batch_of(step)).square().mean()).backward()
        assert nn.utils.clip_grad_norm_(model.parameters(), 1.0) > 1
        optimizer.step()
    return model


def test_gradient_clipping_sees_the_mean(ranks: Ranks) -> None:
    check(ranks, with_clipping)


def with_sharded_optimizer(attach: Attach) -> nn.Module:
    model = wrap(net(), attach)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
    for step in range(STEPS):
        model.zero_grad()
        model(batch_of(step)).square().mean().backward()
        optimizer.step()
    return model


def test_zero_redundancy_optimizer_trains_as_gloo_does(ranks: Ranks) -> None:
    check(ranks, with_sharded_optimizer)
