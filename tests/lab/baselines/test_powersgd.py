# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``powersgd``: the steps of PyTorch's hook, and the best matrix of a rank in the end."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from lanesum.codecs import Aggregate, CodecContext, CodecError, ErrorFeedback, Part, Round
from lanesum_lab.baselines import PowerSGD
from lanesum_lab.baselines.powersgd import orthonormal
from lanesum_lab.bench.comparison import join_alone
from lanesum_lab.codec_simulation import simulate
from tests.host.codecs.samples import nmse
from tests.lab.baselines.vectors import drawn

has_torch = importlib.util.find_spec("torch") is not None


def test_powersgd_repeated_converges_to_best_matrix_of_rank() -> None:
    rng = np.random.default_rng(0)
    matrix = (rng.normal(size=(50, 50)) * np.exp(-np.arange(50) / 2)).astype(np.float32)
    _, values, _ = np.linalg.svd(matrix.astype(np.float64))
    vectors = [(matrix + share).reshape(-1) for share in (np.float32(1), np.float32(-1))]
    for rank in (1, 2, 4):
        codec = PowerSGD(workers=2, rank=rank)
        for number in range(30):
            run = simulate([codec, codec], vectors, tensor="t", round=number)
        tail = float(np.sum(values[rank:] ** 2) / np.sum(values**2))
        assert nmse(run.values, matrix.reshape(-1)) == pytest.approx(tail, rel=0.01)


@pytest.mark.skipif(not has_torch, reason="PyTorch is not installed.")
def test_process_group_of_pytorchs_hook_is_kept() -> None:
    """A thread of gloo that were the last to hold it would wait for itself, and abort the process."""
    import torch.distributed as dist

    test_it_takes_the_steps_of_pytorchs_hook(rank=1)
    first = dist.group.WORLD
    test_it_takes_the_steps_of_pytorchs_hook(rank=1)
    assert first is not None and dist.group.WORLD is first


@pytest.mark.skipif(not has_torch, reason="PyTorch is not installed.")
@pytest.mark.parametrize("rank", [1, 2, 4])
def test_it_takes_the_steps_of_pytorchs_hook(rank: int) -> None:
    """Four workers here, one process with their mean there: both are linear in the gradient."""
    import torch
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as hooks
    from torch.nn.parallel import DistributedDataParallel

    side, steps = 40, 6
    gradients = [[drawn("Gaussian", side**2, 10 * step + worker) for worker in range(4)] for step in range(steps)]

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(side, side))

        def forward(self, gradient: Any) -> Any:
            return (self.weight * gradient).sum()

    join_alone()
    model = DistributedDataParallel(Model())
    state = hooks.PowerSGDState(None, matrix_approximation_rank=rank, start_powerSGD_iter=2, random_seed=3)
    model.register_comm_hook(state, hooks.powerSGD_hook)
    found = []
    for step in range(-2, steps):  # two are summed as they are
        model.zero_grad()
        mean = np.mean(gradients[max(step, 0)], axis=0, dtype=np.float64).astype(np.float32)
        model(torch.from_numpy(mean).reshape(side, side)).backward()
        found.append(model.module.weight.grad.numpy().reshape(-1).copy())
    torch.manual_seed(np.random.RandomState(3).randint(1_000_000_000))
    start = torch.randn(side, rank)
    job = []
    for _ in range(4):
        codec = PowerSGD(workers=4, rank=rank)
        codec.load_state_dict({"codec": "powersgd", "rank": rank, "factors": {"t": start.numpy().reshape(-1)}})
        job.append(ErrorFeedback(codec))
    for step in range(steps):
        run = simulate(job, gradients[step], tensor="t", round=step)
        np.testing.assert_allclose(run.values, found[step + 2], atol=1e-4 * np.abs(found[step + 2]).max())


def test_small_parameters_are_summed_as_they_are() -> None:
    parts = (Part("weight", 0, 6400), Part("bias", 6400, 6450), Part("thin", 6450, 6510))
    vectors = [drawn("Gaussian", 6510, worker) for worker in range(2)]
    mean = np.mean(vectors, axis=0, dtype=np.float64)
    job = [PowerSGD(workers=2, rank=2) for _ in vectors]
    run = simulate(job, vectors, tensor="bucket", parts=parts, average=False, keep_residual=True)
    np.testing.assert_allclose(run.values[6400:], 2 * mean[6400:], rtol=1e-5, atol=1e-6)
    assert np.linalg.matrix_rank(run.values[:6400].reshape(80, 80), tol=1e-3) == 2
    for result, x in zip(run.results, vectors, strict=True):
        assert result.residual is not None
        np.testing.assert_allclose(result.residual, x - run.values / 2, atol=1e-6)
    assert sum(words.size for words in run.aggregates) == (2 * 80 + 110 + 1) + (2 * 80 + 1)


def test_columns_become_orthonormal_and_dependent_ones_zero() -> None:
    matrix = drawn("Gaussian", 400).reshape(100, 4)
    matrix[:, 2] = 2 * matrix[:, 0] - matrix[:, 1]
    basis = orthonormal(matrix)
    np.testing.assert_allclose(basis.T @ basis, np.diag([1, 1, 0, 1]), atol=1e-6)
    assert not orthonormal(np.zeros((5, 2), np.float32)).any()


def test_values_beyond_the_factors_are_refused_before_sending() -> None:
    x = np.full(2500, 3e38, np.float32)
    with pytest.raises(
        CodecError,
        match=r"The norm of parameter 't' is 1.5e\+40: its factors would exceed float32.* Nothing of it was sent",
    ):
        next(PowerSGD(workers=2).all_reduce(x, CodecContext(workers=2, worker=0, tensor="t")))
    x = np.full(2500, 3e36, np.float32)  # a norm of 1.5e38
    np.testing.assert_allclose(simulate(PowerSGD(workers=1), [x], tensor="t").values, x, rtol=1e-5)


def test_checkpoints_and_what_does_not_fit() -> None:
    x = drawn("Gaussian", 2500)
    codec = PowerSGD(workers=1)
    simulate([codec], [x], tensor="t")
    later = PowerSGD(workers=1)
    later.load_state_dict(codec.state_dict())
    one, other = (simulate([some], [x], tensor="t", round=1).values for some in (codec, later))
    assert (one == other).all()
    with pytest.raises(CodecError, match="This is not a state of codec 'powersgd' of rank 2"):
        PowerSGD(workers=1, rank=2).load_state_dict(codec.state_dict())
    with pytest.raises(CodecError, match="60 columns, but its last factor"):
        simulate(later, [drawn("Gaussian", 3600)], tensor="t")


def test_only_what_follows_nothing_is_the_last_round() -> None:
    """The first factor's sum is followed by the second's; small parameters' alone are followed by nothing."""
    for size, expected in ((2500, [False, False, False, True]), (9, [False, True])):
        codec = PowerSGD(workers=1)
        steps = codec.all_reduce(drawn("Gaussian", size), CodecContext(workers=1, worker=0, complete=True))
        said, made = [], next(steps)
        try:
            while True:
                assert isinstance(made, Round)
                said.append(made.last())
                made = steps.send(Aggregate(made.words.copy(), 1))
        except StopIteration:
            assert said == expected
