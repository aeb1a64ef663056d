# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Names of parameters under wrappers, and checkpoints of other models."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

import lanesum.torch
from lanesum.errors import ConfigurationError
from lanesum.session import Session
from lanesum.torch.parameters import parameter_names
from tests.host.torch.buckets import FakeBucket, average
from tests.host.torch.ranks import served_job


class Wrapped(nn.Module):
    """A wrapper with one child, as DDP has it."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 2)))


def compiled_child(model: nn.Module) -> nn.Module:
    model[1] = torch.compile(model[1])  # type: ignore[index,operator]
    return model


def checkpointed_child(model: nn.Module) -> nn.Module:
    model[1] = checkpoint_wrapper(model[1])  # type: ignore[index,operator]
    return model


@pytest.mark.parametrize(
    "wrap",
    [
        Wrapped,
        torch.compile,
        lambda model: Wrapped(torch.compile(model)),
        lambda model: torch.compile(Wrapped(model)),
        compiled_child,
        checkpointed_child,
        lambda model: Wrapped(compiled_child(model)),
    ],
    ids=["ddp", "compile", "ddp(compile)", "compile(ddp)", "compiled child", "checkpointed child", "ddp, child"],
)
def test_parameter_names_under_wrappers_are_those_of_model(wrap: Callable[[nn.Module], nn.Module]) -> None:
    expected = ["0.weight", "0.bias", "1.0.weight", "1.0.bias"]
    assert list(parameter_names(net()).values()) == expected
    assert list(parameter_names(wrap(net())).values()) == expected


def test_parameter_names_that_would_collide_are_kept() -> None:
    model = nn.Module()
    model.add_module("module", nn.Linear(1, 1, bias=False))
    model.register_parameter("weight", nn.Parameter(torch.ones(1)))
    assert sorted(parameter_names(model).values()) == ["module.weight", "weight"]


@pytest.fixture
def session() -> Iterator[Session]:
    with served_job(1, "thc") as (ticket,), Session(ticket, codec="thc", deadline_s=200.0) as session:
        yield session


def saved(session: Session, model: nn.Module | None, *, codec: str = "thc") -> dict[str, object]:
    """Return the state of a worker after one bucket of ``net()``."""
    shown = list((model or net()).parameters())
    state = lanesum.torch.State(session, model=model, codec=codec)
    average(state, FakeBucket(torch.randn(sum(one.numel() for one in shown)), shown))
    return state.state_dict()


@pytest.mark.parametrize("codec", ["thc", "policy"])
def test_checkpoint_of_wrapped_model_fits_the_bare_one(session: Session, codec: str) -> None:
    checkpoint = saved(session, Wrapped(net()), codec=codec)
    later = lanesum.torch.State(session, model=net(), codec=codec)
    later.load_state_dict(checkpoint)
    assert repr(later.state_dict()) == repr(checkpoint)


@pytest.mark.parametrize("codec", ["thc", "fixed", "policy"])
def test_checkpoint_of_another_model_is_refused_by_parameter(session: Session, codec: str) -> None:
    """Also without error feedback, and with error feedback that the codec keeps."""
    checkpoint = saved(session, net(), codec=codec)
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2))
    model[0].bias = nn.Parameter(torch.zeros(5))
    later = lanesum.torch.State(session, model=model, codec=codec)
    before = repr(later.state_dict())
    with pytest.raises(lanesum.torch.ForeignCheckpointError) as raised:
        later.load_state_dict(checkpoint)
    assert set(raised.value.parameters) == {"0.bias", "1.0.weight", "1.0.bias", "1.weight", "1.bias"}
    message = str(raised.value)
    assert "This is the lanesum state of another model: " in message
    assert "'0.bias' has 2 elements in the checkpoint and 5 in the model" in message
    assert "'1.0.weight' is not in the model" in message and "'1.weight' is not in the checkpoint" in message
    assert repr(later.state_dict()) == before


def test_checkpoint_error_names_at_most_five_parameters(session: Session) -> None:
    checkpoint = saved(session, nn.Sequential(*(nn.Linear(1, 1) for _ in range(4))))
    later = lanesum.torch.State(session, model=nn.Linear(1, 1))
    with pytest.raises(lanesum.torch.ForeignCheckpointError, match="; and 5 more") as raised:
        later.load_state_dict(checkpoint)
    assert len(raised.value.parameters) == 10


def test_numbered_checkpoint_fits_only_numbered_state(session: Session) -> None:
    checkpoint = saved(session, None)
    lanesum.torch.State(session).load_state_dict(checkpoint)
    with pytest.raises(lanesum.torch.ForeignCheckpointError, match=r"'0\.weight' is not in the checkpoint"):
        lanesum.torch.State(session, model=net()).load_state_dict(checkpoint)
    with pytest.raises(lanesum.torch.ForeignCheckpointError, match=r"'0\.weight' is not in the model.* State\(model="):
        lanesum.torch.State(session).load_state_dict(saved(session, net()))


def test_checkpoint_with_invalid_parameters_is_refused(session: Session) -> None:
    state = lanesum.torch.State(session)
    for parameters in ([], {"weight": "many"}):
        with pytest.raises(ConfigurationError, match="not the state of a lanesum hook: it has no 'parameters'"):
            state.load_state_dict({"codec": "thc", "memory": {}, "parameters": parameters})
