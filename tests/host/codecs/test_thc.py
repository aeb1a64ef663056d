# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""THC: its error, its lanes, agreement of all workers, workers that are missing, extreme magnitudes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lanesum.codecs import THC, Aggregate, CodecContext, CodecError, Members
from lanesum.codecs.kernels.packing import lane_contribution, lanes_of
from lanesum.codecs.thc.blocks import cut
from lanesum.codecs.thc.codec import OPS
from lanesum.codecs.thc.grid import gain
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.codec_simulation import aggregate, simulate
from tests.host.codecs.samples import gaussian, nmse, rotate_orthonormally, signs
from tests.host.codecs.thc_vectors import check_sum, finite, vectors_of_scales
from tests.paths import ROOT

D = 65_536
FLOAT32_MAX = np.finfo(np.float32).max
WIDTHS = list(OPS)


def layers(seed: int) -> np.ndarray:
    """Sixteen layers whose scales are log-normal (sigma 1)."""
    scales = np.exp(np.random.default_rng(1000 + seed).normal(size=16)).repeat(D // 16)
    return (scales * gaussian(seed)).astype(np.float32)


def mean_nmse(codec: THC, jobs: list[list[np.ndarray]]) -> float:
    runs = [simulate(codec, job, seed=9, round=round_).values for round_, job in enumerate(jobs)]
    means = [np.mean(job, axis=0, dtype=np.float64) for job in jobs]
    return float(np.mean([nmse(run, mean) for run, mean in zip(runs, means, strict=True)]))


@pytest.mark.parametrize(
    ("bits", "one", "same", "differing"),
    [(3, 0.041, 0.0045, 0.045), (4, 0.0120, 0.0010, 0.0120), (5, 0.0037, 0.0003, 0.0040), (8, 1e-4, 4e-6, 1e-4)],
)
def test_errors_of_equal_and_different_vectors_are_bounded(
    bits: int, one: float, same: float, differing: float
) -> None:
    assert mean_nmse(THC(workers=1, bits=bits), [[gaussian(s)] for s in range(4)]) < one
    assert mean_nmse(THC(workers=8, bits=bits), [[gaussian(s)] * 8 for s in range(4)]) < same
    assert mean_nmse(THC(workers=8, bits=bits), [[gaussian(10 * s + w) for w in range(8)] for s in (1, 2)]) < differing


def test_error_is_that_of_the_grid() -> None:
    found = mean_nmse(THC(workers=1), [[gaussian(s)] for s in range(8)])
    assert found == pytest.approx(THC(workers=1).grid.error(), rel=0.02)


def test_layers_of_different_scales_have_error_of_gaussian() -> None:
    for codec in (THC(workers=1), THC(workers=1, block=1024)):
        even = mean_nmse(codec, [[gaussian(seed)] for seed in range(4)])
        assert mean_nmse(codec, [[layers(seed)] for seed in range(4)]) < 1.3 * even


@pytest.mark.parametrize(("bits", "lanes"), WIDTHS)
def test_rounding_is_unbiased_inside_the_support(bits: int, lanes: int) -> None:
    # All coordinates of a block are at the same place of the grid; of 65536, the mean is off by 0.003 steps at most.
    workers = 3
    codec = THC(workers=workers, bits=bits, lanes=lanes, block=1 << 16)
    granularity = codec.grid.granularity
    for worker, place in enumerate([0.75, 1.1, granularity / 2, granularity - 1.25, granularity - 1.0]):
        # Only the first coordinate before the rotation, which makes them all the same after it.
        x = np.zeros(1 << 16, dtype=np.float32)
        x[0] = (place - granularity / 2) * codec.grid.step / gain(codec.grid.limit) * signs(1, seed=5, round=worker)[0]
        levels = _levels(codec, x, 1.0, worker % workers, worker)
        assert abs(levels.mean() - place) < 0.02


def _levels(codec: THC, x: np.ndarray, peak: float, worker: int, round_: int) -> np.ndarray:
    """Levels that a worker sends where the largest norm is ``peak``."""
    context = CodecContext(workers=codec.workers, worker=worker, seed=5, round=round_)
    steps = codec.all_reduce(x, context)
    norms = next(steps)
    peaks = np.full(norms.words.size, peak, dtype=np.float32).view(np.uint32)
    codes = steps.send(Aggregate(peaks, codec.workers))
    own = lane_contribution(codes.op, codes.words, codec.code_table)
    return lanes_of(own, codec.lanes).astype(np.int64)


def test_estimates_of_one_vector_are_unbiased_over_rounds() -> None:
    # Flat, so that its rotation is inside the support: 64 values of one magnitude rotate to at most a few deviations.
    x = np.where(gaussian(3, 64) > 0, 1.0, -1.0).astype(np.float32)
    total = np.zeros(64)
    rounds = 400
    for round_ in range(rounds):
        total += simulate(THC(workers=2), [x, 0.5 * x], seed=3, round=round_).values
    # One estimate deviates by about 0.1, the mean of 400 by 0.005; clamping of what is beyond adds less than that.
    assert np.abs(total / rounds - 0.75 * x).max() < 0.025


@pytest.mark.parametrize("scales", [(1.0, 1.0, 1.0), (1.0, 0.7, 0.4)], ids=["equal-norms", "different-norms"])
@pytest.mark.parametrize("bits", [3, 4, 5, 8])
def test_mean_of_rounds_converges_with_their_square_root(bits: int, scales: tuple[float, ...]) -> None:
    vectors = [np.float32(scale) * gaussian(worker, 16_384) for worker, scale in enumerate(scales)]
    truth = np.mean(vectors, axis=0, dtype=np.float64)
    total, errors, rounds = np.zeros(truth.size), {}, (16, 256)
    for number in range(rounds[-1]):
        total += simulate(THC(workers=len(scales), bits=bits), vectors, round=number, alone=True).values
        errors[number + 1] = nmse(total / (number + 1), truth)
    slope = np.log(errors[256] / errors[16]) / 2 / np.log(256 / 16)
    # A bias of 1 % of the vector would bend the slope to -0.4 at 3 bits.
    assert slope == pytest.approx(-0.5, abs=0.01)
    assert total @ truth / rounds[-1] / (truth @ truth) == pytest.approx(1, abs=5e-4)


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 8])
def test_workers_that_agree_equal_one_with_finer_grid(workers: int) -> None:
    # Five bits leave no integer out: the mean is off by at most half a step of a grid n times as fine, and clamping.
    codec = THC(workers=workers, bits=5, block=4096)
    x = gaussian(1, 4096)
    error = simulate(codec, [x] * workers).values.astype(np.float64) - gain(codec.grid.limit) * x
    rotate_orthonormally(y := (error * signs(4096, seed=0)).astype(np.float32))
    step = codec.grid.step * np.linalg.norm(x) / 64
    assert np.quantile(np.abs(y), 0.99) <= 0.5 * step / workers * 1.001


@st.composite
def jobs(draw: st.DrawFn) -> tuple[tuple[int, int], list[np.ndarray], int]:
    vectors = draw(vectors_of_scales(150))
    return draw(st.sampled_from(WIDTHS)), vectors, draw(st.integers(0, 2**64 - 1))


@settings(deadline=None, max_examples=60)
@given(jobs())
def test_all_workers_decode_same_bits_of_exact_sums(job: tuple[tuple[int, int], list[np.ndarray], int]) -> None:
    (bits, lanes), vectors, seed = job
    codec = THC(workers=8, bits=bits, lanes=lanes, block=32)
    run = simulate(codec, vectors, seed=seed, keep_residual=True)
    # Clamped, each coordinate is off by the norm at most; rounded, by a step.
    check_sum(run, vectors, 32, 6)


@settings(deadline=None, max_examples=25)
@given(hnp.arrays(np.float32, st.integers(1, 100), elements=finite), st.sampled_from(WIDTHS))
def test_residual_is_the_error_of_the_own_words(x: np.ndarray, width: tuple[int, int]) -> None:
    result = simulate(THC(workers=1, bits=width[0], lanes=width[1], block=64), [x], keep_residual=True).results[0]
    # With one worker the aggregate is the own contribution, so value plus residual is the input.
    np.testing.assert_array_equal(result.residual, x - result.values)


@pytest.mark.parametrize(
    ("bits", "lanes", "max_workers"), [(3, 8, 36), (4, 8, 17), (4, 16, 1024), (5, 8, 8), (8, 16, 256)]
)
def test_largest_lane_sum_fits_and_more_is_refused(bits: int, lanes: int, max_workers: int) -> None:
    codec = THC(workers=max_workers, bits=bits, lanes=lanes)
    # All of the norm in one rotated coordinate: its lane holds the largest level of everyone.
    x = np.zeros(4096, dtype=np.float32)
    x[77] = 1.0
    rotate_orthonormally(x)
    workers = max_workers if max_workers < 300 else 64
    peak = {worker: _levels_of(codec, x, worker, workers) for worker in (0, workers - 1)}
    for levels in peak.values():
        assert levels[77] == codec.grid.granularity and levels.max() == codec.grid.granularity
    assert codec.grid.granularity * max_workers < 2**lanes
    if max_workers < 300:
        run = simulate(codec, [x * signs(4096, seed=0)] * workers)
        sums = lanes_of(run.aggregates[1], lanes)
        assert sums[77] == codec.grid.granularity * workers
        direct = sum(_levels_of(codec, x, worker, workers) for worker in range(workers))
        assert (direct == sums).all()
    with pytest.raises(ConfigurationError, match=rf"{max_workers + 1} workers|workers={max_workers + 1}"):
        THC(workers=max_workers + 1, bits=bits, lanes=lanes)


def _levels_of(codec: THC, x: np.ndarray, worker: int, workers: int) -> np.ndarray:
    context = CodecContext(workers=workers, worker=worker)
    steps = codec.all_reduce((x * signs(4096, seed=0)).astype(np.float32), context)
    codes = steps.send(Aggregate(next(steps).words, workers))
    return lanes_of(lane_contribution(codes.op, codes.words, codec.code_table), codec.lanes).astype(np.int64)


def test_lanes_and_operations_follow_from_bits_and_workers() -> None:
    def built(workers: int, bits: int = 4) -> tuple[LaneOp, int]:
        codec = THC(workers=workers, bits=bits)
        return codec.op, codec.lanes

    assert built(8) == (LaneOp.TABLE8, 8) and built(15) == (LaneOp.TABLE8, 8)
    assert built(16) == (LaneOp.EXPAND8, 8) and built(17) == (LaneOp.EXPAND8, 8)
    assert built(18) == (LaneOp.EXPAND16, 16) and built(1024) == (LaneOp.EXPAND16, 16)
    assert built(8, 3) == (LaneOp.EXPAND3TO8, 8) and built(8, 5) == (LaneOp.EXPAND5TO8, 8)
    assert built(8, 8) == (LaneOp.EXPAND8TO16, 16)
    assert THC(workers=18).code_table is None and THC(workers=2).code_table.tolist() == [0, *range(2, 16), 17]  # type: ignore[union-attr]
    with pytest.raises(ConfigurationError) as refusal:
        THC(workers=9, bits=5)
    assert str(refusal.value) == (
        "g=31 x 9 workers = 279 exceeds the 255 of a 8-bit lane: use at most 8 workers, or bits=3 with lanes=8, or "
        "bits=4 with lanes=8, or bits=4 with lanes=16, or bits=8 with lanes=16."
    )


def test_twenty_workers_in_wide_lanes() -> None:
    vectors = [gaussian(s, 2000) for s in range(20)]
    assert nmse(simulate(THC(workers=20), vectors).values, np.mean(vectors, axis=0)) < 0.016
    assert nmse(simulate(THC(workers=20), [vectors[0]] * 20).values, vectors[0]) < 0.002


@pytest.mark.parametrize(("bits", "lanes"), WIDTHS)
def test_zeros_give_zeros(bits: int, lanes: int) -> None:
    zeros = np.zeros(300, dtype=np.float32)
    run = simulate(THC(workers=3, bits=bits, lanes=lanes), [zeros] * 3, keep_residual=True)
    assert not run.values.any() and not np.signbit(run.values).any() and not run.aggregates[1].any()
    assert run.results[0].residual is not None and not run.results[0].residual.any()
    # A block of zeros beside one that is none.
    half = np.concatenate((np.zeros(4096, dtype=np.float32), gaussian(1, 4096)))
    values = simulate(THC(workers=3, bits=bits, lanes=lanes), [half] * 3).values
    assert not values[:4096].any() and nmse(values[4096:], half[4096:]) < 0.02


def test_one_worker_a_hundred_times_larger() -> None:
    vectors = [gaussian(s, 4096) * np.float32(100 if s == 0 else 1) for s in range(4)]
    # The others are far below a step, each as wrong as the large one.
    assert nmse(simulate(THC(workers=4), vectors).values, np.mean(vectors, axis=0)) < 0.04


@pytest.mark.parametrize("scale", [1e-43, 1e-37, 1e-20, 1e20, 1e36])
def test_any_magnitude_is_coded_as_well(scale: float) -> None:
    x = (gaussian(1, 1000).astype(np.float64) * scale).astype(np.float32)
    # Denormals are multiples of 1.4e-45, which at 1e-43 is itself an error of 1e-4.
    assert nmse(simulate(THC(workers=2), [x, x]).values, x) < 0.006
    one, other = x, np.where(np.arange(1000) == 7, np.float32(1e37), np.float32(0)).astype(np.float32)
    assert np.isfinite(simulate(THC(workers=2), [one, other]).values).all()


def test_largest_norms_stay_finite_and_larger_are_refused() -> None:
    peak = np.zeros(32, dtype=np.float32)
    peak[3] = FLOAT32_MAX
    result = simulate(THC(workers=2), [peak, peak], keep_residual=True, average=False).results[0]
    assert np.isfinite(result.values).all() and np.isfinite(result.residual).all()  # type: ignore[arg-type]
    large = np.concatenate((np.zeros(4096, dtype=np.float32), np.full(8, FLOAT32_MAX)))
    with pytest.raises(CodecError, match=r"norm of elements 4096 to 4103 of tensor 'w' is 9\.62e"):
        simulate(THC(workers=1), [large], tensor="w")


def test_runs_and_shapes() -> None:
    codec = THC(workers=2, block=64)
    assert [(s.op, s.words, s.result_words) for s in codec.shapes(65)] == [
        (LaneOp.MAX, 2, 2),
        (LaneOp.TABLE8, 12, 24),
    ]
    assert [s.words for s in THC(workers=2, bits=5).shapes(4097)] == [2, (4096 + 32) * 5 // 32]
    assert codec.shapes(0) == () and simulate(codec, [np.zeros(0, dtype=np.float32)] * 2).values.size == 0
    runs = cut((1 << 18) + 5, 4096, 1 << 17)
    assert [(run.first, run.stop, run.values.stop, run.padded.stop) for run in runs] == [
        (0, 32, 1 << 17, 1 << 17), (32, 64, 1 << 18, 1 << 18), (64, 65, (1 << 18) + 5, (1 << 18) + 32),
    ]  # fmt: skip


def test_every_round_has_its_own_signs_and_dithers() -> None:
    x = gaussian(1, 1000)
    errors = [simulate(THC(workers=1), [x], seed=1, round=round_).values - x for round_ in range(2)]
    correlation = np.dot(*errors) / np.linalg.norm(errors[0]) / np.linalg.norm(errors[1])
    assert abs(correlation) < 0.15


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("there", [[0, 1, 3], [2], [0, 1, 2, 3, 4, 6]])
def test_quorum_decodes_the_contributors(there: list[int], average: bool) -> None:
    vectors = [gaussian(s, 6000) for s in range(7)]
    run = simulate(THC(workers=7), vectors, contributors=there, keep_residual=True, average=average)
    exact = np.sum([vectors[w] for w in there], axis=0) / (len(there) if average else 1)
    # The norm that was left out may have been the largest: a little more is clamped then.
    assert nmse(run.values, exact) < 0.014
    for worker, result in enumerate(run.results):
        assert result.values.tobytes() == run.values.tobytes()
        if worker not in there:
            np.testing.assert_array_equal(result.residual, vectors[worker])


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize(("bits", "lanes"), WIDTHS)
def test_packets_may_lack_different_workers(bits: int, lanes: int, average: bool) -> None:
    workers, size, packet = 3, 9000, 40
    codec = THC(workers=workers, bits=bits, lanes=lanes, block=1024)
    vectors = [gaussian(s, size) for s in range(workers)]
    steps = [
        codec.all_reduce(vector, CodecContext(workers=workers, worker=w, seed=2, average=average, keep_residual=True))
        for w, vector in enumerate(vectors)
    ]
    norms = aggregate(LaneOp.MAX, [next(one).words for one in steps])
    rounds = [one.send(Aggregate(norms, workers)) for one in steps]
    contributions = np.array([lane_contribution(r.op, r.words, codec.code_table) for r in rounds])
    # Everyone in most packets; worker 1 or 2 missing in some; some blocks without worker 0 throughout.
    sets = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 0], [0, 1, 1]], dtype=np.bool_)
    words = np.arange(contributions.shape[1])
    of_word = np.where(words // packet % 5 == 3, 1 + words // packet % 2, 0)
    coordinates = words * (32 // lanes)
    of_word[(coordinates >= 2048) & (coordinates < 5120)] = 3
    counted = sets[of_word]
    sums = (contributions * counted.T).sum(axis=0, dtype=np.uint32)
    results = []
    for worker, one in enumerate(steps):
        members = Members(sets, of_word)
        with pytest.raises(StopIteration) as stop:
            one.send(Aggregate(sums, counted.sum(axis=1), counted[:, worker], members))
        results.append(stop.value.value)
    assert len({result.values.tobytes() for result in results}) == 1
    # The contributors to a coordinate are set by packets of rotated values, so compare rotated values.
    lanes_in = np.repeat(counted, 32 // lanes, axis=0)
    exact = np.zeros(lanes_in.shape[0])
    for worker, vector in enumerate(vectors):
        exact += _rotated(vector, lanes_in.shape[0]) * lanes_in[:, worker]
    if average:
        exact /= lanes_in.sum(axis=1)
    found = _rotated(results[0].values, lanes_in.shape[0])
    assert nmse(found[:8192], exact[:8192]) < {3: 0.07, 4: 0.018, 5: 0.006, 8: 2e-4}[bits]
    # Each keeps what was not in the sum: values and residuals together are what went in.
    said = np.sum([vector - result.residual for vector, result in zip(vectors, results, strict=True)], axis=0)
    summed = _rotated(said.astype(np.float32), lanes_in.shape[0])
    own = summed / lanes_in.sum(axis=1) if average else summed
    np.testing.assert_allclose(own[:8192], found[:8192], atol=1e-3)


def _rotated(values: np.ndarray, length: int) -> np.ndarray:
    """Full blocks of 1024 as the codec rotates them in round 0 with seed 2, orthonormal."""
    padded = np.zeros(length, dtype=np.float32)
    full = values.size // 1024 * 1024
    padded[:full] = values[:full] * np.tile(signs(1024, seed=2), full // 1024)
    rotate_orthonormally(padded[:full], block=1024)
    return padded.astype(np.float64)


def test_sum_without_list_of_missing_workers_is_refused() -> None:
    def decoded(reply: Aggregate) -> None:
        steps = THC(workers=2).all_reduce(gaussian(1, 64), CodecContext(workers=2, worker=0, tensor="w"))
        steps.send(Aggregate(next(steps).words, 2))
        steps.send(reply)

    words = np.zeros(16, dtype=np.uint32)
    with pytest.raises(CodecError, match="'w' lacks some of 2 workers, and does not say which"):
        decoded(Aggregate(words, 1))
    with pytest.raises(
        CodecError, match=r"members of an aggregate of 16 words of 2 workers have shapes \(1, 3\) and \(16,\)"
    ):
        decoded(Aggregate(words, 1, True, Members(np.zeros((1, 3), dtype=np.bool_), np.zeros(16, dtype=np.intp))))


@pytest.mark.parametrize("words", [np.array([0x7F800000]), np.array([0x7FC00000]), np.array([0xBF800000])])
def test_invalid_norm_is_refused(words: np.ndarray) -> None:
    steps = THC(workers=1).all_reduce(gaussian(1, 8), CodecContext(workers=1, worker=0))
    next(steps)
    with pytest.raises(CodecError, match="The aggregate of the norm round is not a list of non-negative floats"):
        steps.send(Aggregate(words.astype(np.uint32), 1))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"workers": 0}, "Invalid workers=0 for codec thc: expected an integer from 1 to 1024"),
        ({"workers": 1025}, "Invalid workers=1025 for codec thc: expected an integer from 1 to 1024"),
        ({"bits": 2}, "Invalid bits=2 for codec thc. Supported: bits=3 with lanes=8"),
        ({"bits": 6}, "Invalid bits=6 for codec thc. Supported: bits=3 with lanes=8"),
        ({"lanes": 12}, "Invalid bits=4 and lanes=12 for codec thc. Supported: bits=3 with lanes=8"),
        ({"bits": 5, "lanes": 16}, "Invalid bits=5 and lanes=16 for codec thc. Supported: bits=3 with lanes=8"),
        ({"block": 16}, "Invalid block=16 for codec thc: expected a power of two from "),
        ({"block": 96}, "Invalid block=96 for codec thc: expected a power of two from "),
        ({"block": 1 << 17}, "Invalid block=131072 for codec thc: expected a power of two from "),
        ({"workers": 37, "bits": 3}, "workers"),
        ({"workers": 18, "lanes": 8}, "workers"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(parameters: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        THC(**{"workers": 2, **parameters})


def _digest() -> str:
    seen = hashlib.sha256()
    for bits, lanes in WIDTHS:
        vectors = [gaussian(s, 5000) for s in range(3)]
        run = simulate(THC(workers=3, bits=bits, lanes=lanes), vectors, seed=11, keep_residual=True)
        for part in (run.values, *run.aggregates, run.results[1].residual):
            seen.update(part.tobytes())  # type: ignore[union-attr]
    return seen.hexdigest()


@pytest.mark.parametrize(
    "environment",
    [
        {"OPENBLAS_NUM_THREADS": "1"},
        {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL", "LANESUM_NATIVE": "off"},
        {"LANESUM_NATIVE": "off"},
    ],
)
def test_bits_are_equal_across_threads_vectors_and_implementations(environment: dict[str, str]) -> None:
    code = "from tests.host.codecs import test_thc; print(test_thc._digest())"
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=True,
    )
    assert found.stdout.strip() == _digest()
