# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The hook with learned compression and DGC: phases by parameter, types of buckets, checkpoints of other models."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import lanesum.torch
from lanesum import codecs
from lanesum.codecs import CodecError
from lanesum.errors import ConfigurationError
from lanesum.session import Session
from lanesum_lab.lgc import Phase
from tests.host.torch.buckets import FakeBucket, average, parameters, take_step
from tests.host.torch.ranks import served_job

OPTIONS: dict[str, Any] = {"density": 0.05, "warm_up": 1, "training": 3, "passes": 5, "guard": 1.0}


@pytest.fixture
def session() -> Iterator[Session]:
    with served_job(1, "fixed") as (ticket,), Session(ticket, codec="fixed", deadline_s=200.0) as session:
        yield session


def learned(session: Session, name: str) -> lanesum.torch.State:
    return lanesum.torch.State(session, codec=codecs.get(name, workers=1, **OPTIONS))


def gradient(seed: int, kind: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(5000, generator=torch.Generator().manual_seed(seed)).to(kind)


@pytest.mark.parametrize("name", ["lgc", "lgc-server"])
def test_checkpoint_resumes_with_same_bits(session: Session, name: str) -> None:
    shown = parameters(4000, 1000)
    for stop in (2, 5):  # while the autoencoder learns, and after
        state = learned(session, name)
        for seed in range(stop):
            average(state, FakeBucket(gradient(seed), shown))
            take_step(shown)
        file = io.BytesIO()
        torch.save(state.state_dict(), file)
        file.seek(0)
        later = learned(session, name)
        later.load_state_dict(torch.load(file))
        for seed in range(stop, 7):
            one, other = (average(each, FakeBucket(gradient(seed), shown)) for each in (state, later))
            take_step(shown)
            assert torch.equal(one, other) and one.any()
        # A model with other parameters: its first bucket raises.
        wrong = learned(session, name)
        wrong.load_state_dict({**later.state_dict(), "memory": {}})
        assert wrong.codec.phase("#0") is Phase.COMPRESSED  # type: ignore[attr-defined]
    with pytest.raises(CodecError, match="trained on another model"):
        average(wrong, FakeBucket(gradient(0), parameters(3000, 2000)))


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_buckets_of_any_type_and_order_are_averaged(session: Session, kind: torch.dtype) -> None:
    first, second = parameters(4000, 1000)
    state = learned(session, "lgc")
    for seed in range(6):
        vector = gradient(seed, kind)
        order = [first, second] if seed == 0 else [second, first]  # as DDP rebuilds its buckets
        mean = average(state, FakeBucket(vector.clone(), order))
        assert mean.dtype == kind and mean.isfinite().all() and mean.any()
        if seed == 0:
            torch.testing.assert_close(mean, vector)
    counts = {phase: one.all_reduces for phase, one in state.codec.bytes.items()}  # type: ignore[attr-defined]
    assert counts == {Phase.DENSE: 1, Phase.TRAINING: 3, Phase.COMPRESSED: 2}


def test_dgc_keeps_error_feedback_itself(session: Session) -> None:
    with pytest.raises(ConfigurationError, match=r"Codec dgc keeps error feedback itself\. Configure it in the codec"):
        lanesum.torch.State(session, codec="dgc", error_feedback=True)
    state = lanesum.torch.State(session, codec=codecs.get("dgc", workers=1, density=0.1, momentum=0.0))
    assert state.error_feedback is None
    total, shown = torch.zeros(5000), parameters(4000, 1000)
    for _ in range(40):
        total += average(state, FakeBucket(gradient(1), shown))
    assert torch.linalg.norm(total / 40 - gradient(1)) < 0.3 * torch.linalg.norm(gradient(1))
