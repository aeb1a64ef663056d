# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""FSDP2 over a CPU mesh of two replicas with two shards each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch import nn
from torch._dynamo.utils import counters
from torch.distributed import checkpoint
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.fsdp._fully_shard._fsdp_collectives import DefaultAllGather
from torch.torch_version import TorchVersion

import lanesum.torch
from lanesum.errors import ConfigurationError
from tests.host.torch.controllers import controlled, environment
from tests.host.torch.ranks import Ranks

RANKS = 4
STEPS = 5


def net(seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(32, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 8))


def sharded(model: nn.Sequential, mesh: Any) -> nn.Module:
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def train(model: nn.Module, rank: int) -> torch.Tensor:
    """Return all weights of this rank after a few steps on data of its own."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(STEPS):
        batch = torch.randn(16, 32, generator=torch.Generator().manual_seed(100 * rank + step))
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    return torch.cat([one.to_local().detach().view(-1) for one in model.parameters()])


def train_both(rank: int, variables: dict[str, str], options: dict[str, Any], factor: float | None) -> Any:
    """Train with FSDP's own all-reduce over gloo, and with lanesum; return both weights of this rank."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    plain, own = sharded(net(1), mesh), sharded(net(1 + rank // 2), mesh["shard"])
    for model in (plain, own):
        for module in model.modules():
            if hasattr(module, "set_gradient_divide_factor"):
                module.set_force_sum_reduction_for_comms(True)  # gloo has no PREMUL_SUM
                if factor is not None:
                    module.set_gradient_divide_factor(factor)
    expected = train(plain, rank)
    with environment(variables):
        state = lanesum.torch.attach(own, replicas=mesh["replicate"], **options)
    got = train(own, rank)
    memory = sorted(state.state_dict()["memory"])
    assert state.stats.buckets == 3 * STEPS, "one all-reduce for each layer"
    state.leave()
    return expected, got, memory


@pytest.mark.parametrize("factor", [None, 6.0], ids=["mean", "divide-factor"])
def test_replicas_train_as_with_gloo(four_ranks: Ranks, factor: float | None) -> None:
    """The second replica begins with other weights, which it takes over from the first one."""
    with controlled(RANKS) as (controller, variables):
        outcomes = four_ranks.run(train_both, list(range(RANKS)), variables, {"codec": "fixed"}, factor)
        assert {"train.0-2", "train.1-3"} <= {event.whom for event in controller.events.since(0)}
    for expected, got, _ in outcomes:
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)
    for shard in (0, 1):
        assert torch.equal(outcomes[shard][1], outcomes[shard + 2][1]), "replicas are equal, bit for bit"


def test_thc_keeps_error_feedback_by_parameter(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        outcomes = four_ranks.run(
            train_both, list(range(RANKS)), variables, {"codec": "thc", "error_feedback": True}, None
        )
    for expected, got, memory in outcomes:
        assert memory == ["0.bias", "0.weight", "2.bias", "2.weight", "4.bias", "4.weight"]
        assert 0 < (got - expected).norm() < 0.1 * expected.norm()
    for shard in (0, 1):
        assert torch.equal(outcomes[shard][1], outcomes[shard + 2][1])


class Branches(nn.Module):
    """Uses one of three layers, which are not modules of FSDP by themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, size, bias=False) for size in (16, 16, 8))

    def forward(self, x: torch.Tensor, number: int) -> torch.Tensor:
        result: torch.Tensor = self.layers[number](x)
        return result


def alternate(rank: int, variables: dict[str, str]) -> tuple[float, list[float]]:
    """Use a layer with large gradients, then others with small ones.

    Return the sum of the weights at the begin, and the norms of the small gradients.
    """
    torch.manual_seed(rank // 2)  # the replicas begin with different weights
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    model = fully_shard(Branches(), mesh=mesh["shard"])
    model.set_force_sum_reduction_for_comms(True)
    norms = []
    model(torch.randn(4, 16), 0)  # it leaves the parameters unsharded
    with environment(variables):
        state = lanesum.torch.attach(model, replicas=mesh["replicate"], codec="thc", error_feedback=True)
    total = sum(float(one.to_local().sum()) for one in model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    for number, scale in ((0, 1e6), (1, 1.0), (2, 1.0)):
        (model(torch.randn(4, 16), number).sum() * scale).backward()
        norms.append(float(model.layers[number].weight.grad.to_local().norm()))
        optimizer.step()
    model.set_reduce_scatter_unused_params(True)
    model(torch.randn(4, 16), 1).sum().backward()
    assert sorted(state.state_dict()["memory"]) == [f"layers.{number}.weight" for number in range(3)]
    state.leave()
    return total, norms[1:]


def test_error_feedback_of_unused_parameters_stays_with_them(four_ranks: Ranks) -> None:
    """FSDP reduces only the parameters with a gradient, so the same vector may be another layer's in the next step."""
    with controlled(RANKS) as (_, variables):
        outcomes = four_ranks.run(alternate, list(range(RANKS)), variables)
    assert all(norm < 100 for _, norms in outcomes for norm in norms), outcomes
    assert [total for total, _ in outcomes[:2]] == [total for total, _ in outcomes[2:]], "attach copies the weights"


def native_mesh_of_backend(rank: int, variables: dict[str, str]) -> tuple[torch.Tensor, torch.Tensor]:
    names = ("replicate", "shard")
    expected = train(sharded(net(1), init_device_mesh("cpu", (2, 2), mesh_dim_names=names)), rank)
    with environment(variables):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=names, backend_override={"replicate": "lanesum"})
        got = train(sharded(net(1), mesh), rank)
        state = mesh["replicate"].get_group().state
        assert state is not None and state.stats.buckets == 3 * STEPS
        state.leave()
    return expected, got


def test_backend_of_replicas_trains_as_with_gloo(four_ranks: Ranks) -> None:
    """FSDP2 averages the replicas itself, by a process group of the backend."""
    with controlled(RANKS) as (_, variables):
        outcomes = four_ranks.run(native_mesh_of_backend, list(range(RANKS)), variables)
    for expected, got in outcomes:
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)
    for shard in (0, 1):
        assert torch.equal(outcomes[shard][1], outcomes[shard + 2][1])


def refusal(model: nn.Module, replicas: Any, **options: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        lanesum.torch.attach(model, replicas=replicas, **options)
    return str(caught.value)


def of_two_meshes(model: nn.Sequential, mesh: Any) -> nn.Module:
    fully_shard(model[0], mesh=mesh["replicate"])
    return fully_shard(model, mesh=mesh["shard"])


def refusals(_: int) -> list[str]:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    cases = [
        (sharded(net(1), mesh), None),
        (sharded(net(1), mesh), mesh["replicate"]),
        (sharded(net(1), mesh["shard"]), mesh),
        (net(1), mesh["replicate"]),
        (of_two_meshes(net(1), mesh), None),
    ]
    texts = [refusal(model, replicas) for model, replicas in cases]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "__version__", TorchVersion("2.12.1"))
        return [*texts, refusal(*cases[0])]


def test_models_that_fit_no_job_are_refused(four_ranks: Ranks) -> None:
    for texts in four_ranks.run(refusals, list(range(RANKS))):
        full, native, both, plain, several, older = texts
        assert "sharded over 2 meshes, and a job has the ranks of one" in several
        assert "FSDP2 averages the replicas itself" in full
        assert "FSDP2 averages the replicas itself" in native and "backend_override" in native
        assert "replicas has 2 dimensions, not 1" in both
        assert "fully_shard has not sharded this Sequential" in plain
        assert "FSDP2 needs PyTorch 2.13 or newer, not 2.12.1" in older


def accumulate(rank: int, variables: dict[str, str]) -> tuple[list[torch.Tensor], list[torch.Tensor], int]:
    """Accumulate gradients over two backward passes, of which the second one is reduced.

    Return those of FSDP over gloo, those by lanesum, and the number of all-reduces.
    """
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    plain, own = sharded(net(1), mesh), sharded(net(1), mesh["shard"])
    for model in (plain, own):
        for module in model.modules():
            if hasattr(module, "set_force_sum_reduction_for_comms"):
                module.set_force_sum_reduction_for_comms(True)  # gloo has no PREMUL_SUM
    with environment(variables):
        state = lanesum.torch.attach(own, replicas=mesh["replicate"], codec="fixed")
    found: tuple[list[torch.Tensor], list[torch.Tensor]] = ([], [])
    for model, gradients in zip((plain, own), found, strict=True):
        for step in range(4):
            model.set_requires_all_reduce(step % 2 == 1)
            batch = torch.randn(16, 32, generator=torch.Generator().manual_seed(100 * rank + step))
            model(batch).square().mean().backward()
        gradients += [one.grad.to_local() for one in model.parameters()]
    buckets = state.stats.buckets
    state.leave()
    return *found, buckets


def test_steps_without_all_reduce_are_accumulated(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        for expected, got, buckets in four_ranks.run(accumulate, list(range(RANKS)), variables):
            assert buckets == 2 * 3, "one all-reduce for each layer and second step"
            for one, other in zip(expected, got, strict=True):
                torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-6)


def change_branch(rank: int, variables: dict[str, str]) -> str:
    """Return the refusal of a step that lacks a parameter of the step before, which was not reduced."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    model = fully_shard(Branches(), mesh=mesh["shard"])
    model.set_force_sum_reduction_for_comms(True)
    with environment(variables):
        state = lanesum.torch.attach(model, replicas=mesh["replicate"], codec="fixed")
    model.set_requires_all_reduce(False)
    model(torch.randn(4, 16), 0).sum().backward()
    model.set_requires_all_reduce(True)
    with pytest.raises(ConfigurationError) as caught:
        model(torch.randn(4, 16), 1).sum().backward()
    state.leave()
    return str(caught.value)


def test_step_without_accumulated_parameter_is_refused(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        for said in four_ranks.run(change_branch, list(range(RANKS)), variables):
            assert "Parameter layers.0.weight has a gradient of steps without an all-reduce, but none in this" in said


def wide(seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(32, 120), nn.Tanh(), nn.Linear(120, 120), nn.Tanh(), nn.Linear(120, 7))


GATHERED_BY_GROUP: list[str] = []
_gather_by_group = DefaultAllGather.__call__


def _counted(comm: DefaultAllGather, *tensors: Any, **options: Any) -> Any:
    GATHERED_BY_GROUP.append(type(comm).__name__)
    return _gather_by_group(comm, *tensors, **options)


def train_shards(rank: int, variables: dict[str, str], codec: str, precision: dict[str, Any], gather: Any) -> Any:
    """Train without replicas by gloo and by lanesum.

    Return losses and weights of both, and of lanesum the reduce-scatters, and the all-gathers of the process group.
    """
    mesh = init_device_mesh("cpu", (RANKS,))
    DefaultAllGather.__call__ = _counted  # type: ignore[method-assign]
    outcomes = []
    for own in (False, True):
        model = wide(1)
        policy = MixedPrecisionPolicy(**precision)
        for layer in model:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh, mp_policy=policy)
        fully_shard(model, mesh=mesh, mp_policy=policy)
        for module in model.modules():
            if hasattr(module, "set_force_sum_reduction_for_comms"):
                module.set_force_sum_reduction_for_comms(not own)  # gloo has no average
        state = None
        if own:
            with environment(variables):
                state = lanesum.torch.attach(model, codec=codec, gather=gather)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        losses = []
        before = len(GATHERED_BY_GROUP)
        for step in range(12):
            batch = torch.randn(16, 32, generator=torch.Generator().manual_seed(100 * rank + step))
            for module in model.modules():
                if hasattr(module, "set_requires_gradient_sync"):
                    module.set_requires_gradient_sync(step % 3 != 1)  # else gradients are accumulated
            loss = (model(batch).float() - batch[:, :7].sin()).square().mean()
            loss.backward()
            if step % 3 != 1:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            total = loss.detach().clone()
            dist.all_reduce(total)
            losses.append(float(total) / RANKS)
        by_group = len(GATHERED_BY_GROUP) - before
        weights = torch.cat([one.full_tensor().detach().view(-1) for one in model.parameters()])
        outcomes.append((losses, weights))
        if state is None:
            assert by_group > 0
        else:
            outcomes.append((state.stats.buckets, by_group))
            state.leave()
            model(batch)  # by the process group
            assert len(GATHERED_BY_GROUP) - before > by_group
    return outcomes


def test_shards_train_as_with_gloo(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        outcomes = four_ranks.run(
            train_shards,
            list(range(RANKS)),
            variables,
            "fixed block=64 gathered=0",
            {"reduce_dtype": torch.float32},
            True,
        )
    for (expected, by_gloo), (losses, weights), (buckets, by_group) in outcomes:
        assert losses == pytest.approx(expected, rel=1e-4)
        torch.testing.assert_close(weights, by_gloo, rtol=1e-3, atol=1e-4)
        assert torch.equal(weights, outcomes[0][1][1]), "all ranks gather the same weights"
        assert buckets == 3 * 8, "one reduce-scatter for each layer and step"
        assert by_group == 0, "lanesum gathers the parameters"


def test_shards_by_thc_train_in_mixed_precision(four_ranks: Ranks) -> None:
    precision = {"param_dtype": torch.bfloat16, "reduce_dtype": torch.float32}
    with controlled(RANKS) as (_, variables):
        outcomes = four_ranks.run(train_shards, list(range(RANKS)), variables, "thc bits=8 block=64", precision, False)
    for (expected, _), (losses, weights), (_, by_group) in outcomes:
        assert by_group > 0, "the process group gathers the parameters"
        assert losses[-1] == pytest.approx(expected[-1], rel=0.02)
        assert torch.equal(weights, outcomes[0][1][1])


@pytest.mark.parametrize("precision", [{}, {"param_dtype": torch.bfloat16, "reduce_dtype": torch.float32}])
def test_shards_train_with_parameters_in_int8(four_ranks: Ranks, precision: dict[str, Any]) -> None:
    with controlled(RANKS) as (_, variables):
        codec = "fixed block=64 gathered=0"
        outcomes = four_ranks.run(train_shards, list(range(RANKS)), variables, codec, precision, "int8")
    for (expected, by_gloo), (losses, weights), (_, by_group) in outcomes:
        assert by_group == 0
        assert losses[-1] == pytest.approx(expected[-1], rel=0.02)
        assert losses != expected and not torch.equal(weights, by_gloo), "the parameters are rounded"
        assert torch.equal(weights, outcomes[0][1][1])


class Layer(nn.Module):
    """A linear layer and a tanh; torch.compile does not compile PyTorch's own modules."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.linear(batch).tanh()


def shards_of_layers(kind: str, seed: int) -> Any:
    """Return a model whose layers are compiled, or recompute their activations, or neither."""
    torch.manual_seed(seed)
    layers: list[nn.Module] = [Layer(32, 120), Layer(120, 120), Layer(120, 7)]
    if kind == "recomputed":
        layers = [checkpoint_wrapper(layer) for layer in layers]
    mesh = init_device_mesh("cpu", (RANKS,))
    for layer in layers:
        if kind == "compiled":
            layer.compile(backend="aot_eager")
        fully_shard(layer, mesh=mesh)
    return fully_shard(nn.Sequential(*layers), mesh=mesh)


def resume_shards(rank: int, variables: dict[str, str], kind: str, folder: str) -> Any:
    """Train, and again from a checkpoint in the middle; return all weights after both, and the reduce-scatters."""

    def train_steps(model: Any, optimizer: torch.optim.Optimizer, steps: range) -> torch.Tensor:
        for step in steps:
            batch = torch.randn(16, 32, generator=torch.Generator().manual_seed(100 * rank + step))
            optimizer.zero_grad()
            (model(batch) - batch[:, :7].sin()).square().mean().backward()
            optimizer.step()
        return torch.cat([one.full_tensor().detach().view(-1) for one in model.parameters()])

    weights, buckets = [], []
    counters["stats"].clear()
    for seed in (1, 2):
        model = shards_of_layers(kind, seed)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        with environment(variables):
            state = lanesum.torch.attach(model, codec="fixed block=64 gathered=0")
        if seed == 1:
            train_steps(model, optimizer, range(3))
            own = state.state_dict()
        of_model, of_optimizer = get_state_dict(model, optimizer)
        saved = {"model": of_model, "optimizer": of_optimizer}
        if seed == 1:
            checkpoint.save(saved, checkpoint_id=folder)
        else:
            checkpoint.load(saved, checkpoint_id=folder)
            set_state_dict(model, optimizer, model_state_dict=of_model, optim_state_dict=of_optimizer)
            state.load_state_dict(own)
        weights.append(train_steps(model, optimizer, range(3, 6)))
        buckets.append(state.stats.buckets)
        state.leave()
    assert (counters["stats"]["unique_graphs"] > 0) == (kind == "compiled")
    return weights, buckets


def test_shards_resume_from_checkpoint(four_ranks: Ranks, tmp_path: Path) -> None:
    """Also with recomputed activations and compiled layers, with the same weights."""
    plain = None
    for kind in ("plain", "recomputed", "compiled"):
        with controlled(RANKS) as (_, variables):
            outcomes = four_ranks.run(resume_shards, list(range(RANKS)), variables, kind, str(tmp_path / kind))
        (first, _), _ = outcomes[0]
        plain = first if plain is None else plain
        torch.testing.assert_close(first, plain, rtol=1e-4, atol=1e-5)
        for (whole, resumed), buckets in outcomes:
            assert torch.equal(whole, first) and torch.equal(resumed, first)
            assert buckets == [3 * 6, 3 * 3], "one reduce-scatter for each layer and step"


def shard_refusals(rank: int, variables: dict[str, str]) -> list[str]:
    mesh = init_device_mesh("cpu", (RANKS,))
    with environment(variables):
        texts = []
        for codec in ("topk", "policy"):
            with pytest.raises(ConfigurationError) as caught:
                lanesum.torch.attach(sharded(net(1), mesh), codec=codec)
            texts.append(str(caught.value))
        two = sharded(net(1), mesh)
        state = lanesum.torch.attach(two, codec="fixed")
        texts.append(refusal(two, None))
        for module in two.modules():
            if hasattr(module, "set_gradient_divide_factor"):
                module.set_gradient_divide_factor(3.0)
        with pytest.raises(ConfigurationError) as caught:
            two(torch.ones(2, 32)).sum().backward()
        texts.append(str(caught.value))
        with pytest.raises(ConfigurationError) as caught:
            state.all_reduce(torch.ones(6), output=torch.ones(2))
        state.leave()
        return [*texts, str(caught.value)]


def test_shards_that_cannot_be_summed_are_refused(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (_, variables):
        for biased, keeps, again, divided, uneven in four_ranks.run(shard_refusals, list(range(RANKS)), variables):
            assert "has error feedback here, as large as the whole model" in biased
            assert "has error feedback here, as large as the whole model" in keeps
            assert "The model has the reduce-scatter ShardedSum already. Attach once" in again
            assert "by SUM and AVG, not by" in divided and "set_force_sum_reduction_for_comms(True)" in divided
            assert "has no equal shards for 4 workers" in uneven


def gather_refusals(rank: int, variables: dict[str, str]) -> list[str]:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    ranks = init_device_mesh("cpu", (RANKS,))
    own = sharded(net(1), ranks)
    own[0].set_custom_all_gather(OwnAllGather())
    with environment(variables):
        return [
            refusal(sharded(net(1), ranks), None, gather="int4"),
            refusal(sharded(net(1), mesh["shard"]), mesh["replicate"], gather=True),
            refusal(own, None, codec="fixed", gather=True),
            refusal(sharded(net(1), ranks), None, codec="fixed", gather="int8"),
        ]


class OwnAllGather(DefaultAllGather):
    """All-gather that a user has set."""


def test_gathers_that_would_be_ignored_are_refused(four_ranks: Ranks) -> None:
    with controlled(RANKS, "fixed", quorum=3) as (_, variables):
        for unknown, replicas, set_before, quorum in four_ranks.run(gather_refusals, list(range(RANKS)), variables):
            assert "gather is 'int4'. Pass True for exact parameters, \"int8\" for" in unknown
            assert "gather is True for a model with replicas" in replicas
            assert "The model has the all-gather OwnAllGather already. Attach once" in set_before
            assert "gather is 'int8', and a result of job 'train' needs only 3 of 4 workers" in quorum


def train_hybrid(rank: int, variables: dict[str, str]) -> Any:
    """Train two replicas of two shards by gloo, and by backend ``lanesum`` in both dimensions; return both weights."""
    weights, found = [], []
    with environment(variables):
        for backend in ("gloo", "lanesum"):
            mesh = init_device_mesh(
                "cpu",
                (2, 2),
                mesh_dim_names=(f"replicate_{backend}", f"shard_{backend}"),
                backend_override={f"replicate_{backend}": backend, f"shard_{backend}": backend},
            )
            model = sharded(net(1), mesh)
            for module in model.modules():
                if hasattr(module, "set_force_sum_reduction_for_comms"):
                    module.set_force_sum_reduction_for_comms(True)  # gloo has no average
            weights.append(train(model, rank))
        for name in mesh.mesh_dim_names or ():
            state = lanesum.torch.State.joined(mesh.get_group(name))
            assert state is not None
            found.append(state.session.stats.rounds - state.stats.buckets)
            state.leave()
    return weights, found


def test_both_dimensions_of_hybrid_sharding_by_backend(four_ranks: Ranks) -> None:
    with controlled(RANKS) as (controller, variables):
        outcomes = four_ranks.run(train_hybrid, list(range(RANKS)), variables)
        jobs = {event.whom for event in controller.events.since(0)}
        assert {"train.0-2", "train.1-3", "train.0-1", "train.2-3"} <= jobs
    for (expected, got), (of_replicas, of_shards) in outcomes:
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)
        assert of_shards >= of_replicas + 3 * (STEPS - 1), "the parameters of each layer are gathered"
