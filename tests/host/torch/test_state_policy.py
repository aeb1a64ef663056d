# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The hook with stateful codecs: policies and sparse codecs."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
import torch

import lanesum.torch
from lanesum.codecs import THC, Codec, ErrorFeedback, Policy, Rule, Sketch, TopK
from lanesum.errors import ConfigurationError
from lanesum.session import Session
from tests.host.torch.buckets import FakeBucket, average, parameters
from tests.host.torch.ranks import served_job


@pytest.fixture
def session() -> Iterator[Session]:
    with served_job(1, "fixed") as (ticket,), Session(ticket, codec="fixed", deadline_s=200.0) as session:
        yield session


def sparse_gradient(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(5000, generator=generator) * (torch.rand(5000, generator=generator) < 0.02)


def policy(**options: object) -> Policy:
    rules = (Rule("sketch", max_density=0.1), Rule(TopK(workers=1, density=0.1), min_size=1000))
    return Policy(workers=1, rules=rules, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("codec", ["sketch", "policy"])
def test_checkpoint_saved_and_loaded_is_unchanged(session: Session, codec: str) -> None:
    def build() -> Codec:
        return Sketch(workers=1) if codec == "sketch" else policy()

    shown = parameters(4000, 1000)
    with lanesum.torch.State(session, codec=build()) as state:
        assert state.error_feedback is None
        for seed in range(3):
            average(state, FakeBucket(sparse_gradient(seed), shown))
        file = io.BytesIO()
        torch.save(state.state_dict(), file)
        file.seek(0)
        saved = torch.load(file)
        fresh = build()
        later = lanesum.torch.State(session, codec=fresh)
        later.load_state_dict(saved)
        again = later.state_dict()
        assert again["codec"] == saved["codec"] and repr(again["state"]) == repr(saved["state"])
        with pytest.raises(ConfigurationError, match="lacks that of codec"):
            later.load_state_dict({**saved, "state": None})


def test_policy_follows_parameters_between_buckets(session: Session) -> None:
    first, second = parameters(4000, 1000)
    chosen = policy()
    with lanesum.torch.State(session, codec=chosen) as state:
        for seed in range(2):
            sent = sparse_gradient(seed)
            average(state, FakeBucket(sent.clone(), [first, second]))
        assert chosen.codec_for("#0", 4000).name == "sketch"
        alone = sparse_gradient(5)[:1000]
        mean = average(state, FakeBucket(alone.clone(), [second]))
        # The second step has sent the residual of the first one, although DDP has rebuilt the buckets since.
        torch.testing.assert_close(mean, alone)


def test_take_skipped_names_parameter_once(session: Session) -> None:
    model = torch.nn.Linear(4, 5)
    shown = list(model.parameters())
    chosen = policy(not_finite="skip")
    with lanesum.torch.State(session, codec=chosen, model=model) as state:
        bad = torch.ones(25)
        bad[22] = torch.nan
        assert not average(state, FakeBucket(bad, shown)).any()
        assert state.take_skipped() == "bias" and state.take_skipped() is None
        assert torch.equal(average(state, FakeBucket(torch.ones(25), shown)), torch.ones(25))
        assert state.take_skipped() is None


@pytest.mark.parametrize("codec", ["fixed", "policy"])
def test_non_finite_gradient_is_named_by_parameter(
    session: Session, codec: str, caplog: pytest.LogCaptureFixture
) -> None:
    model = torch.nn.Linear(40, 50)
    bad = torch.ones(2050)
    bad[2007] = torch.inf
    with lanesum.torch.State(session, codec=policy() if codec == "policy" else codec, model=model) as state:
        assert average(state, FakeBucket(bad, list(model.parameters()))).isnan().all()
    assert "'bias'" in caplog.text or codec == "policy"


def test_policy_keeps_error_feedback_itself(session: Session) -> None:
    with pytest.raises(ConfigurationError, match="itself"):
        lanesum.torch.State(session, codec=policy(), error_feedback=True)


def test_state_adds_no_feedback_around_error_feedback_codec(session: Session) -> None:
    """Two memories of one error would send it twice."""
    with pytest.warns(UserWarning, match="counts at once, also for gradients that no step takes"):
        state = lanesum.torch.State(session, codec=ErrorFeedback(THC(workers=1, lookup=False)))
    assert state.error_feedback is None
    with pytest.raises(ConfigurationError, match=r"Codec thc.* keeps error feedback itself"):
        lanesum.torch.State(session, codec=ErrorFeedback(THC(workers=1, lookup=False)), error_feedback=True)
