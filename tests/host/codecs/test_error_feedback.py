# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Error feedback: nothing is lost over rounds, the memory is transactional, and it survives a checkpoint."""

from __future__ import annotations

import numpy as np
import pytest

from lanesum.codecs import (
    THC,
    Aggregate,
    Codec,
    CodecContext,
    CodecError,
    ErrorFeedback,
    FixedPoint,
)
from lanesum_lab.baselines.thc_paper import PaperTHC
from lanesum_lab.codec_simulation import simulate


def gaussian(seed: int, size: int = 4096) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=size).astype(np.float32)


def test_error_of_the_running_mean_vanishes() -> None:
    x = gaussian(1)
    policies = [ErrorFeedback(PaperTHC(workers=2)) for _ in range(2)]
    plain = PaperTHC(workers=2)
    kept, lost = np.zeros(x.size), np.zeros(x.size)
    rounds = 30
    for round_ in range(rounds):
        kept += simulate(policies, [x, x], round=round_, tensor="w").values
        lost += simulate(plain, [x, x], round=round_).values
    power = np.sum(x.astype(np.float64) ** 2)
    assert np.sum((kept / rounds - x) ** 2) / power < 0.0015
    # Without memory the clamping bias stays: 0.007 of the power.
    assert np.sum((lost / rounds - x) ** 2) / power > 0.006


def test_running_mean_error_vanishes_sooner_with_feedback() -> None:
    # New signs in every round make an error of each that is independent of the others', so it falls without memory too.
    x = gaussian(1)
    policies = [ErrorFeedback(THC(workers=2)) for _ in range(2)]
    kept, lost = np.zeros(x.size), np.zeros(x.size)
    for round_ in range(20):
        kept += simulate(policies, [x, x], round=round_, tensor="w").values
        lost += simulate(THC(workers=2), [x, x], round=round_).values
    power = np.sum(x.astype(np.float64) ** 2)
    errors = [np.sum((total / 20 - x) ** 2) / power for total in (kept, lost)]
    assert errors[0] < 0.0114 / 20**2 and errors[1] > 3 * errors[0]


def test_sent_plus_remembered_is_what_was_given() -> None:
    x = gaussian(2, 500)
    policy = ErrorFeedback(THC(workers=1))
    first = simulate([policy], [x], tensor="w").values
    np.testing.assert_allclose(first + policy.memory("w"), x, atol=1e-6)
    second = simulate([policy], [x], tensor="w", round=1).values
    np.testing.assert_allclose(first + second + policy.memory("w"), 2 * x, atol=2e-6)
    assert policy.memory("other") is None


def test_tensors_have_separate_memory_that_can_be_forgotten() -> None:
    policy = ErrorFeedback(FixedPoint(workers=1))
    for name, size in (("a", 3), ("b", 5)):
        simulate([policy], [gaussian(3, size)], tensor=name)
    assert policy.memory("a").size == 3 and policy.memory("b").size == 5  # type: ignore[union-attr]
    with pytest.raises(CodecError, match=r"has shape \(4,\), but its error-feedback memory has \(.*forget\('a'\)"):
        simulate([policy], [gaussian(3, 4)], tensor="a")
    policy.forget("a")
    simulate([policy], [gaussian(3, 4)], tensor="a")
    policy.forget()
    assert policy.memory("b") is None
    with pytest.raises(CodecError, match="requires the name of the tensor"):
        simulate([policy], [gaussian(3, 4)])


def test_failed_all_reduce_leaves_the_error_feedback_unchanged() -> None:
    policy = ErrorFeedback(THC(workers=1))
    simulate([policy], [gaussian(4, 64)], tensor="w")
    before = policy.memory("w")
    steps = policy.all_reduce(gaussian(5, 64), CodecContext(workers=1, worker=0, tensor="w"))
    codes = steps.send(Aggregate(next(steps).words, 1))
    assert codes.result_words == 16
    steps.close()
    assert (policy.memory("w") == before).all()


def test_contribution_outside_the_quorum_is_added_next_time() -> None:
    vectors = [gaussian(s, 256) for s in (6, 7)]
    policies = [ErrorFeedback(THC(workers=2)) for _ in vectors]
    simulate(policies, vectors, tensor="w", contributors=[0])
    np.testing.assert_allclose(policies[1].memory("w"), vectors[1], atol=1e-6)


def test_state_survives_a_checkpoint() -> None:
    x = gaussian(8, 100)
    policy = ErrorFeedback(THC(workers=1))
    simulate([policy], [x], tensor="w")
    state = policy.state_dict()
    fresh = ErrorFeedback(THC(workers=1))
    fresh.load_state_dict(state)
    state["memory"]["w"][:] = 0
    one, two = (simulate([p], [x], tensor="w", round=1).values for p in (policy, fresh))
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float64"])
def test_state_of_tensors_of_any_float_is_loaded(kind: str) -> None:
    torch = pytest.importorskip("torch")
    policy = ErrorFeedback(THC(workers=1))
    policy.load_state_dict({"codec": "thc", "memory": {"w": torch.tensor([0.5, -2], dtype=getattr(torch, kind))}})
    np.testing.assert_array_equal(policy.memory("w"), np.array([0.5, -2], np.float32))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({}, "This is not an error-feedback state: it has no 'memory'"),
        ({"codec": "fixed", "memory": {}}, "This error-feedback state is of codec 'fixed', not 'thc'"),
        ({"codec": "thc", "memory": {"w": [[1.0]]}}, "memory of 'w' is not a vector of finite numbers"),
        ({"codec": "thc", "memory": {"w": [float("nan")]}}, "memory of 'w' is not a vector of finite numbers"),
    ],
)
def test_invalid_state_is_refused(state: dict[str, object], message: str) -> None:
    policy = ErrorFeedback(THC(workers=1))
    simulate([policy], [gaussian(9, 8)], tensor="w")
    with pytest.raises(CodecError, match=message):
        policy.load_state_dict(state)
    assert policy.memory("w") is not None


def test_it_is_a_codec_itself() -> None:
    policy = ErrorFeedback(THC(workers=3))
    assert isinstance(policy, Codec)
    assert (policy.name, policy.workers) == ("thc", 3)
    assert policy.shapes(100) == policy.codec.shapes(100)
    assert (policy.code_table == policy.codec.code_table).all()
