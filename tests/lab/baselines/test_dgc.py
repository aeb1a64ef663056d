# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``dgc``: the paper's update rules, value by value; its warm-up; what it remembers and for how long."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lanesum.codecs import CodecError, Part
from lanesum_lab.baselines import DGC
from lanesum_lab.codec_simulation import simulate
from tests.lab.baselines.vectors import drawn

SIZE, WORKERS = 300, 3


class Paper:
    """One worker, in plain Python, after the paper's Algorithm 4."""

    def __init__(self, density: float, momentum: float, nesterov: bool) -> None:
        self.u, self.v = [0.0] * SIZE, [0.0] * SIZE
        self.density, self.momentum, self.nesterov = density, momentum, nesterov

    def step(self, gradient: np.ndarray) -> list[float]:
        g = [float(one) for one in gradient]
        for i in range(SIZE):
            if self.nesterov:
                self.u[i] = self.momentum * (self.u[i] + g[i])
                self.v[i] += self.u[i] + g[i]
            else:
                self.u[i] = self.momentum * self.u[i] + g[i]
                self.v[i] += self.u[i]
        chosen = sorted(range(SIZE), key=lambda i: -abs(self.v[i]))[: math.ceil(SIZE * self.density)]
        sent = [0.0] * SIZE
        for i in chosen:
            sent[i], self.v[i], self.u[i] = self.v[i], 0.0, 0.0
        return sent


@pytest.mark.parametrize("nesterov", [False, True])
def test_it_is_the_algorithm_of_the_paper(nesterov: bool) -> None:
    options: dict[str, Any] = {"density": 0.05, "momentum": 0.9, "nesterov": nesterov}
    job = [DGC(workers=WORKERS, **options) for _ in range(WORKERS)]
    papers = [Paper(**options) for _ in range(WORKERS)]
    for number in range(12):
        gradients = [drawn("Laplace", SIZE, 100 * number + worker) for worker in range(WORKERS)]
        run = simulate(job, gradients, tensor="t", round=number)
        mean = np.mean([paper.step(gradient) for paper, gradient in zip(papers, gradients, strict=True)], axis=0)
        np.testing.assert_allclose(run.values, mean, rtol=1e-4, atol=1e-5)


def test_densities_fall_during_the_warm_up() -> None:
    codec = DGC(workers=1, density=0.001, warm_up=8)
    found = [codec.density_at(step) for step in range(10)]
    assert found[::2] == pytest.approx([0.2512, 0.0631, 0.01585, 0.00398, 0.001], rel=1e-3)
    assert found[1::2] == found[::2]
    x = drawn("Gaussian", 10_000)
    counts = [np.count_nonzero(simulate([codec], [x], tensor="t", round=number).values) for number in range(9)]
    assert counts == [math.ceil(10_000 * codec.density_at(step)) for step in range(9)]
    assert DGC(workers=1).density_at(0) == 0.001


def test_memory_by_parameter_survives_checkpoint() -> None:
    parts = (Part("a", 0, 100), Part("b", 100, SIZE))
    swapped = (Part("b", 0, SIZE - 100), Part("a", SIZE - 100, SIZE))
    vectors = [drawn("Gaussian", SIZE, worker) for worker in range(2)]
    job = [DGC(workers=2, density=0.05) for _ in vectors]
    for number in range(3):
        simulate(job, vectors, tensor="t", round=number, parts=parts)
    later = [DGC(workers=2, density=0.05) for _ in vectors]
    for one, before in zip(later, job, strict=True):
        one.load_state_dict(before.state_dict())
    here = simulate(job, vectors, tensor="t", round=3, parts=parts)
    turned = [np.concatenate((x[100:], x[:100])) for x in vectors]
    there = simulate(later, turned, tensor="t", round=3, parts=swapped)
    assert (here.values[:100] == there.values[SIZE - 100 :]).all()
    assert (here.values[100:] == there.values[: SIZE - 100]).all()
    with pytest.raises(CodecError, match=r"Parameter 'a' has 99 values, its memory 100.*same model"):
        simulate(job, vectors, tensor="t", round=4, parts=(Part("a", 0, 99), Part("b", 99, SIZE)))


def test_states_of_others_change_nothing() -> None:
    codec = DGC(workers=1)
    simulate([codec], [drawn("Gaussian", SIZE)], tensor="t")
    state = codec.state_dict()
    wrong: list[dict[str, Any]] = [
        {},
        {"codec": "topk"},
        {**state, "codec": "topk"},
        {**state, "velocity": None},
        {**state, "unsent": {"t": [np.nan]}},
        {**state, "counts": {"t": -1}},
        {**state, "inner": {}},
    ]
    for one in wrong:
        with pytest.raises(CodecError) as caught:
            codec.load_state_dict(one)
        if one.get("codec") != "dgc":
            assert str(caught.value).startswith("This is not the state of codec 'dgc'. Load a state_dict")
    again = codec.state_dict()
    assert (again["unsent"]["t"] == state["unsent"]["t"]).all() and again["counts"] == state["counts"]


def test_failed_all_reduce_can_be_tried_again() -> None:
    codec, x = DGC(workers=1, density=0.1), drawn("Gaussian", SIZE)
    from lanesum.codecs import CodecContext

    next(codec.all_reduce(x, CodecContext(workers=1, worker=0, tensor="t")))
    fresh = DGC(workers=1, density=0.1)
    one, other = (simulate([some], [x], tensor="t").values for some in (codec, fresh))
    assert (one == other).all()
    with pytest.raises(CodecError, match="without error feedback"):
        simulate([codec], [x], tensor="t", keep_residual=True)
    with pytest.raises(CodecError, match=r"The unsent values of tensor .* exceed float32"):
        for _ in range(3):
            simulate([codec], [np.full(SIZE, 3e38, np.float32)], tensor="t")
