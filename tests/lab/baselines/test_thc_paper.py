# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""THC as published: reference error figures, unbiasedness, agreement of all workers, lanes, extreme magnitudes."""

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

from lanesum import codecs
from lanesum.codecs import Aggregate, CodecContext, CodecError
from lanesum.codecs.kernels.packing import lane_contribution, unpack_lanes
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.baselines.thc_paper import PaperTHC
from lanesum_lab.codec_simulation import simulate
from tests.host.codecs.samples import gaussian, nmse, rotate_orthonormally, signs
from tests.host.codecs.thc_vectors import check_sum, finite, vectors_of_scales
from tests.lab.baselines.published_tables import PUBLISHED
from tests.paths import ROOT

D = 65_536
FLOAT32_MAX = np.finfo(np.float32).max
DEFAULT = PUBLISHED[4, 30, 32]


def mean_nmse(codec: PaperTHC, vectors: list[list[np.ndarray]]) -> float:
    runs = [simulate(codec, job, seed=seed).values for seed, job in enumerate(vectors)]
    return float(np.mean([nmse(run, np.mean(job, axis=0)) for run, job in zip(runs, vectors, strict=True)]))


def test_error_of_one_worker() -> None:
    codec = PaperTHC(workers=1, table=DEFAULT)
    assert mean_nmse(codec, [[gaussian(s)] for s in range(6)]) == pytest.approx(0.0203, abs=0.0005)


def test_error_of_identical_vectors_keeps_clamping_bias() -> None:
    codec = PaperTHC(workers=8, table=DEFAULT)
    assert mean_nmse(codec, [[gaussian(s)] * 8 for s in range(6)]) == pytest.approx(0.0088, abs=0.0005)


def test_error_of_eight_independent_vectors() -> None:
    codec = PaperTHC(workers=8, table=DEFAULT)
    vectors = [[gaussian(100 * s + w) for w in range(8)] for s in range(2)]
    assert mean_nmse(codec, vectors) == pytest.approx(0.0203, abs=0.0005)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [({"table": PUBLISHED[4, 30, 512], "p": 1 / 512}, 0.00323), ({"codes": "uniform", "p": 1 / 64}, 0.00529)],
)
def test_error_with_a_wider_support_when_workers_agree(parameters: dict[str, object], expected: float) -> None:
    codec = PaperTHC(workers=8, **parameters)  # type: ignore[arg-type]
    assert mean_nmse(codec, [[gaussian(s)] * 8 for s in range(3)]) == pytest.approx(expected, rel=0.05)


def test_block_rotation_clamps_where_layers_differ_in_scale() -> None:
    def layers(seed: int) -> np.ndarray:
        scales = np.exp(np.random.default_rng(1000 + seed).normal(size=16)).repeat(D // 16)
        return (scales * gaussian(seed)).astype(np.float32)

    jobs = [[layers(seed)] for seed in range(4)]
    assert mean_nmse(PaperTHC(workers=1), jobs) == pytest.approx(0.0203, abs=0.0015)
    assert 0.1 < mean_nmse(PaperTHC(workers=1, rotation="block"), jobs) < 0.4
    # On a vector of one scale, blocks are as good.
    assert mean_nmse(PaperTHC(workers=1, rotation="block"), [[gaussian(s)] for s in range(3)]) < 0.022


@pytest.mark.parametrize("name", ["thc-paper", "thc-uniform"])
def test_rounding_is_unbiased_inside_the_support(name: str) -> None:
    # A vector whose rotation stays well inside the support, so that nothing is clamped.
    x = np.array([0.8, -0.9, 1.3, -1.1, 0.7, 1.25, -0.95, 0.85], dtype=np.float32)
    rotate_orthonormally(x)
    x *= signs(8, seed=42)
    codec = codecs.get(name, workers=1)
    rounds = 4000
    total = np.zeros(8)
    for round_ in range(rounds):
        total += simulate(codec, [x], seed=3, round=round_).values
    # One estimate deviates by about 0.2 here, the mean of 4000 by 0.0032.
    assert np.abs(total / rounds - x).max() < 0.014


def test_codes_are_neighbouring_levels_with_right_probability() -> None:
    codec = PaperTHC(workers=1, table=DEFAULT, rotation="full")
    rotated = np.full(1 << 16, 0, dtype=np.float32)
    # Positions on the grid [0, 30]: inside a gap of 3, of 2, of 1, on a level, at the ends and beyond them.
    wanted = np.array([1.2, 10.5, 13.25, 14.0, 0.0, 30.0, -4.0, 33.0], dtype=np.float32)
    chunk = codec.chunks(rotated.size)[0]
    steps = 30 / (2 * codec.limit) * 2
    rotated[:] = np.tile((wanted - 15) / np.float32(steps), 1 << 13)
    words = np.empty(chunk.length // 8, dtype=np.uint32)
    codec.coder.quantize(rotated, chunk, 1.0, 1.0, CodecContext(workers=1, worker=0, seed=9), words)
    levels = np.array(DEFAULT)[unpack_lanes(lane_contribution(LaneOp.EXPAND8, words))].reshape(-1, 8)
    for column, (low, high) in enumerate([(0, 3), (9, 11), (13, 14), (14, 14), (0, 0), (30, 30), (0, 0), (30, 30)]):
        assert set(levels[:, column].tolist()) <= {low, high}
    expected = np.clip(wanted, 0, 30)
    assert np.abs(levels.mean(axis=0) - expected).max() < 0.06


@st.composite
def jobs(draw: st.DrawFn) -> tuple[str, list[np.ndarray], int]:
    vectors = draw(vectors_of_scales(70))
    return draw(st.sampled_from(["thc-paper", "thc-uniform"])), vectors, draw(st.integers(0, 2**64 - 1))


@settings(deadline=None, max_examples=100)
@given(jobs(), st.sampled_from(["full", "block"]))
def test_all_workers_decode_same_bits_of_exact_sums(job: tuple[str, list[np.ndarray], int], rotation: str) -> None:
    name, vectors, seed = job
    codec = codecs.get(name, workers=8, rotation=rotation, chunk=32)
    run = simulate(codec, vectors, seed=seed, keep_residual=True)
    # The error can never exceed what the levels can express: T times the largest norm per chunk and worker.
    check_sum(run, vectors, 32, 3.2)


@settings(deadline=None, max_examples=25)
@given(hnp.arrays(np.float32, st.integers(1, 100), elements=finite))
def test_residual_is_the_error_of_the_own_words(x: np.ndarray) -> None:
    codec = PaperTHC(workers=1, chunk=64)
    result = simulate(codec, [x], keep_residual=True).results[0]
    # With one worker the aggregate is the own contribution, so value plus residual is the input.
    np.testing.assert_array_equal(result.residual, x - result.values)


def test_eight_workers_fit_lane_and_nine_are_refused() -> None:
    top = PaperTHC(workers=8)
    assert top.granularity * 8 == 240
    with pytest.raises(ConfigurationError) as refusal:
        codecs.get("thc-paper", workers=9)
    assert str(refusal.value) == (
        "g=30 x 9 workers = 270 exceeds the 8-bit lane's 255: use at most 8 workers, or granularity at most 28, "
        "or thc-uniform (g=15, up to 17 workers)."
    )
    assert isinstance(codecs.get("thc-paper", workers=9, granularity=28), PaperTHC)
    assert isinstance(codecs.get("thc-uniform", workers=17), PaperTHC)
    with pytest.raises(ConfigurationError, match="15 x 18 workers = 270"):
        codecs.get("thc-uniform", workers=18)
    with pytest.raises(ConfigurationError, match="use fewer workers"):
        codecs.get("thc-paper", workers=20, granularity=256)


@pytest.mark.parametrize(("name", "workers", "top"), [("thc-paper", 8, 240), ("thc-uniform", 17, 255)])
def test_largest_lane_sum_does_not_carry(name: str, workers: int, top: int) -> None:
    # A norm of 1 that is all in one coordinate of the rotated domain: its lane holds the largest code of everyone.
    codec = codecs.get(name, workers=workers)
    assert isinstance(codec, PaperTHC)
    rotated = np.zeros(4096, dtype=np.float32)
    rotated[5] = 1.0
    rotate_orthonormally(rotated)
    rotated *= signs(4096, seed=42)
    run = simulate(codec, [rotated] * workers)
    lanes = unpack_lanes(run.aggregates[1])
    assert lanes[5] == top
    contributions = [_own_lanes(codec, rotated, workers, worker) for worker in range(workers)]
    assert (np.sum(contributions, axis=0) == lanes).all()


def _own_lanes(codec: PaperTHC, x: np.ndarray, workers: int, worker: int) -> np.ndarray:
    steps = codec.all_reduce(x, CodecContext(workers=workers, worker=worker))
    norms = next(steps)
    codes = steps.send(Aggregate(norms.words, workers))
    return unpack_lanes(lane_contribution(codes.op, codes.words, codec.code_table)).astype(np.int64)


def test_zeros_give_zeros() -> None:
    zeros = np.zeros(300, dtype=np.float32)
    run = simulate(PaperTHC(workers=3), [zeros] * 3, keep_residual=True)
    assert not run.values.any() and not run.aggregates[1].any()
    assert run.results[0].residual is not None and not run.results[0].residual.any()


def test_one_worker_a_hundred_times_larger() -> None:
    vectors = [gaussian(s, 4096) * np.float32(100 if s == 0 else 1) for s in range(4)]
    assert nmse(simulate(PaperTHC(workers=4), vectors).values, np.mean(vectors, axis=0)) < 0.05


@pytest.mark.parametrize("scale", [1e-43, 1e-37, 1e-20, 1e20, 1e36])
def test_any_magnitude_is_coded_as_well(scale: float) -> None:
    x = (gaussian(1, 1000).astype(np.float64) * scale).astype(np.float32)
    values = simulate(PaperTHC(workers=2), [x, x]).values
    # Denormals are multiples of 1.4e-45, which at 1e-43 is itself an error of 1e-4.
    assert nmse(values, x) < 0.035


def test_largest_norms_stay_finite_and_larger_are_refused() -> None:
    peak = np.zeros(8, dtype=np.float32)
    peak[3] = FLOAT32_MAX
    result = simulate(PaperTHC(workers=2), [peak, peak], keep_residual=True, average=False).results[0]
    assert np.isfinite(result.values).all() and np.isfinite(result.residual).all()  # type: ignore[arg-type]
    with pytest.raises(CodecError, match=r"norm of elements 0 to 7 of tensor 'w' is 9\.62e"):
        simulate(PaperTHC(workers=1), [np.full(8, FLOAT32_MAX)], tensor="w")


@pytest.mark.parametrize("bits", [2, 3])
def test_fewer_bits_use_fewer_levels(bits: int) -> None:
    codec = PaperTHC(workers=2, bits=bits)
    assert len(codec.values) == 2**bits and codec.code_table is not None
    assert (codec.code_table[2**bits :] == 0).all()
    uniform = PaperTHC(workers=2, bits=bits, codes="uniform")
    assert uniform.granularity == 2**bits - 1 and uniform.code_table is None
    for one in (codec, uniform):
        run = simulate(one, [gaussian(1, 1024)] * 2)
        assert nmse(run.values, gaussian(1, 1024)) < (0.5 if bits == 2 else 0.1)


def test_chunks_and_shapes() -> None:
    codec = PaperTHC(workers=2, chunk=64)
    assert [(c.start, c.stop, c.offset, c.length) for c in codec.chunks(64 + 33)] == [(0, 64, 0, 64), (64, 97, 64, 64)]
    assert [c.length for c in codec.chunks(65)] == [64, 8]
    assert [(s.op, s.words, s.result_words) for s in codec.shapes(65)] == [
        (LaneOp.MAX, 2, 2),
        (LaneOp.TABLE8, 9, 18),
    ]
    assert codec.shapes(0) == () and simulate(codec, [np.zeros(0, dtype=np.float32)] * 2).values.size == 0
    assert codec.chunk == 64 and PaperTHC(workers=1).chunk == 1 << 20


def test_quorum_decodes_the_mean_of_the_contributors() -> None:
    vectors = [gaussian(s, 2048) for s in range(4)]
    run = simulate(PaperTHC(workers=4), vectors, contributors=[0, 1, 3], keep_residual=True)
    assert nmse(run.values, np.mean([vectors[0], vectors[1], vectors[3]], axis=0)) < 0.03
    np.testing.assert_allclose(run.results[2].residual, vectors[2], atol=1e-6)


def test_counts_may_differ_from_word_to_word() -> None:
    x = gaussian(1, 2048)
    codec = PaperTHC(workers=2)
    steps = codec.all_reduce(x, CodecContext(workers=2, worker=0, keep_residual=True))
    norms = next(steps)
    codes = steps.send(Aggregate(norms.words, 2))
    own = lane_contribution(codes.op, codes.words, codec.code_table)
    counts = np.where(np.arange(own.size) < 300, 2, 1)
    with pytest.raises(StopIteration) as stop:
        steps.send(Aggregate(np.where(counts == 2, 2 * own, own).astype(np.uint32), counts))
    same = simulate(PaperTHC(workers=1), [x], keep_residual=True).results[0]
    np.testing.assert_allclose(stop.value.value.values, same.values, atol=1e-5)
    np.testing.assert_allclose(stop.value.value.residual, same.residual, atol=1e-5)


@pytest.mark.parametrize("words", [np.array([0x7F800000]), np.array([0x7FC00000]), np.array([0xBF800000])])
def test_invalid_norm_is_refused(words: np.ndarray) -> None:
    steps = PaperTHC(workers=1).all_reduce(gaussian(1, 8), CodecContext(workers=1, worker=0))
    next(steps)
    with pytest.raises(CodecError, match="norm round"):
        steps.send(Aggregate(words.astype(np.uint32), 1))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"workers": 0}, "Invalid workers=0 for codec thc-paper: expected an integer from 1"),
        ({"bits": 5}, "Invalid bits=5 for codec thc-paper: expected 2, 3 or 4"),
        ({"codes": "gray"}, "Invalid codes='gray' for codec thc-paper: expected table or uniform"),
        ({"rotation": "half"}, "Invalid rotation='half' for codec thc-paper: expected full or block"),
        ({"chunk": 1000}, "Invalid chunk=1000 for codec thc-paper: expected a power of two from 8"),
        ({"chunk": 4}, "Invalid chunk=4 for codec thc-paper: expected a power of two from 8"),
        ({"p": 0.0}, r"Invalid support parameter p=0\.0: expected 0 < p < 1"),
        ({"granularity": 14}, "too small for 16"),
        ({"granularity": 1 << 40}, "g=1099511627776 x 2 workers = 2199023255552 exceeds the 8-bit lane's 255"),
        ({"diagonal_seed": -1}, r"Invalid diagonal_seed=-1 for codec thc-paper: expected an integer below 2\*\*64"),
        ({"diagonal_seed": 2**64}, "Invalid diagonal_seed=18446744073709551616"),
        ({"table": (0, 1, 2)}, r"The table \[0, 1, 2\] is not 16 increasing integers from 0 to the granularity"),
        ({"table": tuple(range(15, -1, -1))}, "is not 16 increasing integers from 0 to the granularity"),
        ({"table": DEFAULT, "granularity": 31}, "is not 16 increasing integers from 0 to the granularity 31"),
        ({"codes": "uniform", "granularity": 30}, "Uniform codes of 4 bits have granularity 15"),
        ({"codes": "uniform", "bits": 7}, "bits=7"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        PaperTHC(**{"workers": 2, **parameters})  # type: ignore[arg-type]


def _digest() -> str:
    vectors = [gaussian(s, 5000) for s in range(3)]
    run = simulate(PaperTHC(workers=3, chunk=4096), vectors, seed=11, keep_residual=True)
    bits = run.values.tobytes() + b"".join(one.tobytes() for one in run.aggregates)
    return hashlib.sha256(bits + run.results[1].residual.tobytes()).hexdigest()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "environment",
    [
        {"OPENBLAS_NUM_THREADS": "1"},
        {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL", "LANESUM_NATIVE": "off"},
        {"LANESUM_NATIVE": "off"},
    ],
)
def test_bits_are_equal_across_threads_vectors_and_implementations(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", __name__],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=250,
    )
    assert done.stdout.strip() == _digest()


if __name__ == "__main__":
    print(_digest())
