# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``attach``: admission by the process group, choice of the codec, and refused models. Two ranks over gloo."""

from __future__ import annotations

import copy
import dataclasses
import io
import os
import pickle
import socket
import sys
import types
import unittest.mock
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.optim import _apply_optimizer_in_backward
from torch.nn.parallel import DistributedDataParallel

import lanesum.torch
from lanesum import codecs
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.rpc import controller as rpc
from lanesum.server import AggregationServer
from lanesum.torch import admission
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.controller.service import ControllerService
from lanesum_control.planner.network import Network
from lanesum_fabric.topology import load
from tests.host.torch.controllers import environment
from tests.host.torch.ranks import Ranks

RUN = {"TORCHELASTIC_RUN_ID": "run7"}
_ERROR = "thc error=0.02"


@dataclasses.dataclass(frozen=True)
class Site:
    controller: Controller
    address: str

    def jobs(self) -> list[str]:
        return [job.request.name for job in self.controller.jobs()]


@pytest.fixture
def site() -> Iterator[Site]:
    with AggregationServer(("127.19.0.97", 0)) as server:
        network = dataclasses.replace(Network.of(load("star4"), loopback=True), servers=(server.address,))
        controller = Controller(network, server)
        with ControllerService(controller, "127.0.0.1:0") as service:
            yield Site(controller, f"127.0.0.1:{service.port}")


def wrapped() -> DistributedDataParallel:
    torch.manual_seed(3)
    return DistributedDataParallel(nn.Linear(8, 4))


def gradient(model: DistributedDataParallel, rank: int) -> torch.Tensor:
    model.zero_grad()
    model(torch.full((1, 8), 1.0 + rank)).sum().backward()
    weight = model.module.weight.grad
    assert weight is not None
    return weight.clone()


def loaded(model: DistributedDataParallel) -> DistributedDataParallel:
    stored = io.BytesIO()
    torch.save(model, stored)
    stored.seek(0)
    return torch.load(stored, weights_only=False)


def copies(variables: dict[str, str], with_lanesum: bool) -> list[float]:
    """Return means of gradients of 1 + rank: of copies of a model, and of the model itself."""
    means = []
    with environment(variables):
        rank, model = int(os.environ["RANK"]), wrapped()
        state = lanesum.torch.attach(model, codec="fixed", deadline_s=200.0) if with_lanesum else None
        for made in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), loaded(model)):
            assert all(torch.equal(*pair) for pair in zip(made.parameters(), model.parameters(), strict=True))
            means.append(gradient(made, rank).mean().item())
        means.append(gradient(model, rank).mean().item())
        if state is not None:
            assert state.stats.buckets == 1, "the process group averages the copies"
            with pytest.raises(ConfigurationError, match=r"State\.submit is not available: this State was copied"):
                lanesum.torch.hook(copy.copy(state), None)
            state.leave()
            state = lanesum.torch.attach(made, codec="fixed", deadline_s=200.0)
            assert gradient(made, rank).mean() == 1.5 and state.stats.buckets == 1
            state.leave()
    return means


def test_copies_of_model_train_as_with_gloo(ranks: Ranks, site: Site) -> None:
    variables = {"LANESUM_CONTROLLER": site.address}
    for with_lanesum in (False, True):
        own = [variables | RUN | {"RANK": str(rank)} for rank in range(2)]
        assert ranks.run(copies, own, with_lanesum) == [[1.5] * 4] * 2


def train(variables: dict[str, str], options: dict[str, object]) -> tuple[str, float, tuple[int, int]]:
    """Return the description of the codec, mean of a gradient of 1 + rank, and (job, tag)."""
    with environment(variables):
        model = wrapped()
        state = lanesum.torch.attach(model, deadline_s=200.0, **options)
        mean = gradient(model, int(os.environ["RANK"])).mean().item()
        state.leave()
        return state.codec.describe(), mean, (state.session.ticket.job, state.session.ticket.tag)


def test_attach_without_job_admits_one_and_removes_it(ranks: Ranks, site: Site) -> None:
    variables = {**RUN, "LANESUM_CONTROLLER": site.address}
    first, second = ranks.run(train, [variables, variables], {"codec": {"name": "fixed", "block": 512}})
    assert first == second
    assert first[:2] == (codecs.get("fixed block=512", workers=2).describe(), pytest.approx(1.5))
    assert site.jobs() == []
    admitted = [event for event in site.controller.events.since(0) if event.what.startswith("admitted")]
    assert [event.whom.rpartition(".")[0] for event in admitted] == ["run7.0"]


def words_of(mtu: int | None, variables: dict[str, str]) -> int:
    """Return the words of a job whose rank measures a path MTU."""
    with environment(variables), pytest.MonkeyPatch.context() as patch:
        patch.setattr(admission, "measured_mtu", lambda _own, _server: mtu)
        state = lanesum.torch.attach(wrapped(), codec="fixed", deadline_s=200.0)
        state.leave()
        return state.session.ticket.accumulator_words


@pytest.mark.parametrize(("mtus", "words"), [((9000, 1420), 336), ((9000, 9000), 2232), ((None, None), 360)])
def test_admitted_job_fills_smallest_path_mtu(
    ranks: Ranks, site: Site, mtus: tuple[int | None, int | None], words: int
) -> None:
    variables = {**RUN, "LANESUM_CONTROLLER": site.address}
    assert ranks.run(words_of, list(mtus), variables) == [words] * 2


@pytest.mark.parametrize(
    ("admitted", "variables", "options", "expected"),
    [
        ("fixed", {"LANESUM_CODEC": "thc"}, {}, "fixed"),
        (None, {"LANESUM_CODEC": "fixed"}, {}, "fixed"),
        (None, {}, {}, "thc lookup=false"),
        ("fixed", {}, {"codec": "thc"}, "thc lookup=false"),
        (_ERROR, {}, {}, _ERROR),
        (None, {"LANESUM_CODEC": _ERROR}, {}, _ERROR),
        ("fixed", {}, {"codec": _ERROR}, _ERROR),
        ("fixed", {}, {"codec": {"name": "thc", "error": 0.02}}, _ERROR),
    ],
    ids=["job", "environment", "default", "argument", "job-error", "environment-error", "argument-error", "mapping"],
)
def test_attach_codec_is_of_argument_job_or_environment(
    ranks: Ranks, site: Site, admitted: str | None, variables: dict[str, str], options: dict[str, object], expected: str
) -> None:
    site.controller.admit(JobRequest("own", ("w1", "w2"), codec=admitted))
    variables = {**variables, "LANESUM_CONTROLLER": site.address, "LANESUM_JOB": "own"}
    for codec, mean, _ in ranks.run(train, [variables, variables], options):
        assert codec == codecs.get(expected, workers=2).describe()
        assert mean == pytest.approx(1.5, rel=0.4)
    assert site.jobs() == ["own"]


@pytest.mark.parametrize("named", [{}, {"LANESUM_JOB": "own"}], ids=["admitted", "named"])
@pytest.mark.parametrize(
    ("codec", "said"),
    [
        ("thc eror=0.02", "Codec 'thc' has no parameter 'eror'. Known parameters: "),
        ({"name": "thc", "error": [1]}, "odec 'thc' "),
        ({"error": 0.02}, "Invalid codec {'error': 0.02}: expected a name, then KEY=VALUE."),
        (7, "Invalid codec 7: expected a name, then KEY=VALUE."),
    ],
    ids=["parameter", "value", "no-name", "number"],
)
def test_attach_wrong_codec_is_refused_on_every_rank(
    ranks: Ranks, site: Site, named: dict[str, str], codec: object, said: str
) -> None:
    site.controller.admit(JobRequest("own", ("w1", "w2")))
    variables = {**RUN, **named, "LANESUM_CONTROLLER": site.address}
    for kind, message in ranks.run(refusal, [variables, variables], {"codec": codec}):
        assert (kind, said in message) == ("ConfigurationError", True), (kind, message)


def test_attach_named_job_is_admitted_only_if_allowed(ranks: Ranks, site: Site) -> None:
    variables = {"LANESUM_CONTROLLER": site.address, "LANESUM_JOB": "named"}
    refusals = ranks.run(refusal, [variables, variables], {})
    assert all("No job 'named' is admitted" in message for _, message in refusals)
    outcomes = ranks.run(train, [{**variables, "LANESUM_ADMIT": "1"}] * 2, {"codec": "fixed"})
    assert outcomes[0] == outcomes[1]


def test_attach_after_restart_of_run_renews_incarnation(ranks: Ranks, site: Site) -> None:
    """The job of workers that were killed is still admitted, on all hosts that the topology has."""
    site.controller.admit(JobRequest("run7.0.before", ("w1", "w2", "w3", "w4")))
    site.controller.admit(JobRequest("run7.01", ("w1", "w2", "w3", "w4")))
    variables = {**RUN, "LANESUM_CONTROLLER": site.address}
    ranks.run(train, [variables, variables], {"codec": "fixed"})
    assert site.jobs() == ["run7.01"]


def test_run_without_name_keeps_its_jobs_name(ranks: Ranks, site: Site) -> None:
    """A restart of torchrun may get another port."""
    for port in ("29501", "29502"):
        variables = {"TORCHELASTIC_RUN_ID": "none", "MASTER_PORT": port, "LANESUM_CONTROLLER": site.address}
        ranks.run(train, [variables, variables], {"codec": "fixed"})
    admitted = [event.whom for event in site.controller.events.since(0) if event.what.startswith("admitted")]
    assert len(admitted) == 2 and len({name.rpartition(".")[0] for name in admitted}) == 1, admitted


def train_by_ray(variables: dict[str, str], is_worker: bool) -> float:
    """Train where Ray is imported, and return the lease of the job; ``is_worker``: by a worker of Ray Train."""

    def context() -> types.SimpleNamespace:
        if not is_worker:
            raise RuntimeError("Ray Train function utilities not initialized.")
        return types.SimpleNamespace(get_experiment_name=lambda: "tuned")

    train_module = types.SimpleNamespace(get_context=context)
    cluster = types.SimpleNamespace(gcs_address="10.0.0.1:6379")
    ray = types.SimpleNamespace(train=train_module, get_runtime_context=lambda: cluster)
    modules: dict[str, Any] = {"ray": ray, "ray.train": train_module}
    with environment(variables), unittest.mock.patch.dict(sys.modules, modules):
        state = lanesum.torch.attach(wrapped(), codec="fixed", deadline_s=200.0)
        listed = rpc.call(variables["LANESUM_CONTROLLER"], rpc.JOBS, {})["jobs"]
        state.leave()
        return next(job["lease_s"] for job in listed if job["job"] == state.session.ticket.job)


@pytest.mark.parametrize("is_worker", [True, False])
def test_restart_by_ray_removes_job_of_run(ranks: Ranks, site: Site, is_worker: bool) -> None:
    """Ray starts the workers again at another port. A run of another cluster may have the same name."""
    former, other = "tuned:10.0.0.1:6379.0.0", "tuned:10.0.0.2:6379.0.0"
    for name in (former, other):
        site.controller.admit(JobRequest(name, ("w1", "w2"), slots=40))
    variables = {"LANESUM_CONTROLLER": site.address, "TORCHELASTIC_RUN_ID": "", "LANESUM_LEASE": "30"}
    assert ranks.run(train_by_ray, [variables, variables], is_worker) == [30.0, 30.0]
    assert site.jobs() == ([other] if is_worker else [former, other])


def refusal(variables: dict[str, str], options: dict[str, object]) -> tuple[str, str]:
    """Return type and message of the error."""
    with environment(variables), pytest.raises(LanesumError) as caught:
        lanesum.torch.attach(wrapped(), **options)
    return type(caught.value).__name__, str(caught.value)


def test_attach_job_of_other_size_is_refused_everywhere(ranks: Ranks, site: Site) -> None:
    for workers in (("w1", "w2", "w3"), ("w1",)):
        job = f"of-{len(workers)}"
        site.controller.admit(JobRequest(job, workers))
        variables = {"LANESUM_CONTROLLER": site.address, "LANESUM_JOB": job}
        for kind, message in ranks.run(refusal, [variables, variables], {"admit": True}):
            assert kind == "ConfigurationError"
            assert f"Job {job!r} has {len(workers)} workers, the process group 2 ranks. Remove the job" in message


def test_attach_without_controller_fails_within_five_seconds(ranks: Ranks) -> None:
    with socket.socket() as held:  # no server listens at its port, and no other process can take it
        held.bind(("127.0.0.1", 0))
        for named in ({}, {"LANESUM_JOB": "own"}):
            variables = {"LANESUM_CONTROLLER": f"127.0.0.1:{held.getsockname()[1]}", **named}
            for kind, message in ranks.run(refusal, [variables, variables], {}):
                assert kind == "UnreachableError"
                assert "within 4 s" in message and "LANESUM_CONTROLLER names it: unset it" in message


def test_attach_without_environment_names_launch(ranks: Ranks) -> None:
    for kind, message in ranks.run(refusal, [{}, {}], {}):
        assert kind == "ConfigurationError"
        assert "LANESUM_CONTROLLER, LANESUM_JOB must be set" in message
        assert "lanesum launch" in message


def test_admission_without_process_group_is_refused() -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"No job is named, and without a process group lanesum cannot admit one.*\(\"gloo\"\) first",
    ):
        lanesum.torch.State.join(controller="127.0.0.1:1")


def refused_models(variables: dict[str, str]) -> list[str]:
    said = []
    with environment(variables):
        hooked = wrapped()
        state = lanesum.torch.attach(hooked, codec="fixed")
        frozen = wrapped().requires_grad_(False)
        sharded = FullyShardedDataParallel.__new__(FullyShardedDataParallel)  # its constructor requires a GPU
        nn.Module.__init__(sharded)
        sharded._modules["_fsdp_wrapped_module"] = nn.Linear(8, 4)
        mixed, overlapped = wrapped(), wrapped()
        mixed.mixed_precision = object()  # its constructor requires a GPU
        _apply_optimizer_in_backward(torch.optim.SGD, overlapped.module.parameters(), {"lr": 0.1})
        for model in (hooked, frozen, nn.Linear(8, 4), sharded, mixed, overlapped):
            with pytest.raises(ConfigurationError) as caught:
                lanesum.torch.attach(model)
            said.append(str(caught.value))
        state.leave()
        late = wrapped()
        gradient(late, 0)
        with warnings.catch_warnings(record=True) as caught_warnings:
            warnings.simplefilter("always")
            state = lanesum.torch.attach(late, codec="fixed")
        said += [str(one.message) for one in caught_warnings if "lanesum" in str(one.message)]
        for _ in range(3):  # over the rebuild of the buckets
            mean = gradient(late, int(os.environ["RANK"])).mean().item()
        said.append(f"{mean:.4f}")
        state.leave()
        assert any(one.grad is not None for one in late.parameters())
        with warnings.catch_warnings(record=True) as caught_warnings:
            warnings.simplefilter("always")
            lanesum.torch.attach(DistributedDataParallel(late.module), codec="fixed").leave()
        said.append(" ".join(str(one.message) for one in caught_warnings if "attached after" in str(one.message)))
    return said


def test_attach_refuses_models_that_it_cannot_average(ranks: Ranks, site: Site) -> None:
    for said in ranks.run(refused_models, [{**RUN, "LANESUM_CONTROLLER": site.address}] * 2):
        hooked, frozen, bare, sharded, mixed, overlapped, late, mean, anew = said
        assert "does not accept the hook of lanesum: it has lanesum.torch.ddp_hook.hook. Attach once, before" in hooked
        assert "No parameter of the model requires a gradient" in frozen
        assert "takes a DistributedDataParallel, not Linear. Wrap the model" in bare
        assert "attach does not support FullyShardedDataParallel (FSDP1)" in sharded
        assert "has mixed_precision, which casts gradients by a hook of its own. Wrap the model without it" in mixed
        assert "optimizer of the model runs in backward, by a hook of DDP that excludes lanesum's. Leave" in overlapped
        assert "attached after a backward pass" in late
        assert (mean, anew) == ("1.5000", "")


def test_admit_by_addresses_without_list_is_refused(site: Site) -> None:
    with pytest.raises(rpc.ControllerError, match="addresses = 'w1' is no list"):
        rpc.call(site.address, rpc.ADMIT, {"name": "a", "addresses": "w1"})
