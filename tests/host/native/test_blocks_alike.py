# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled loops of thc have the bits of NumPy's, at every level of vector instructions that the processor has."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanesum._internal.native import VARIABLE
from lanesum.codecs import THC, CodecContext
from lanesum.codecs.kernels import dispatch
from lanesum.codecs.kernels.hadamard import hadamard_transform
from lanesum.codecs.kernels.interface import Rotation
from lanesum.codecs.kernels.packing import lane_contribution
from lanesum.codecs.kernels.philox import sign_words
from lanesum.codecs.kernels.reference import FLOAT32_MAX
from lanesum.codecs.thc import reference as thc_reference
from lanesum.codecs.thc.blocks import Run, block_kernels
from lanesum.codecs.thc.dither import Rounding, SharedDithers, dither_sum
from lanesum.codecs.thc.grid import RATIOS
from lanesum_lab.codec_simulation import simulate
from tests.host.codecs.samples import (
    PACKINGS,
    Packing,
    check_alike,
    packed_as,
    sample,
    simulation_options,
    three_vectors,
)


@pytest.fixture(scope="module")
def level(level_name: str, native: Any) -> Any:
    """Return the kernels of one level."""
    return native.BlockKernels(level_name)


def alike(level: Any, name: str, arguments: tuple[Any, ...], result: np.ndarray) -> np.ndarray:
    """Call both; ``result``: an array of the result's size and type, which is the last argument."""
    outcomes = []
    for loops in (thc_reference, level):
        # Elements that are not written would differ.
        filled = np.full_like(result, 3)
        copies = [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
        getattr(loops, name)(*copies, filled)
        outcomes.append(filled)
    assert outcomes[0].tobytes() == outcomes[1].tobytes()
    return outcomes[1]


SIZES = [1, 31, 32, 33, 64, 65, 100, 128, 1000, 1024, 4095, 4096, 4097, 4128, 5000, 8192, 12_345, 70_000]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("block", [32, 64, 1024, 4096, 1 << 15])
def test_blocks_of_any_length_in_every_packing(level: Any, size: int, block: int) -> None:
    values = sample(size)
    context = CodecContext(workers=5, worker=3, seed=2**63 + 5, round=9)
    for width in PACKINGS:
        codec = packed_as(width, workers=5, block=block)
        coder, run = codec.coder, Run(0, -(-size // block), size, block)
        rotation = Rotation(sign_words(block, context.seed, context.round), block)
        norms = np.array([np.linalg.norm(values[at : at + block]) for at in range(0, size, block)], dtype=np.float32)
        powers = np.tile(np.array([0.25, 2.0], dtype=np.float32), norms.size)
        rotated = np.empty(run.padded.stop, dtype=np.float32)
        factors = (np.float32(2 * 65536 * 2.5) / norms * np.float32(1.1)).astype(np.float32)
        factors[1::7] = 0
        rounding, dithers = coder._rounding(context), SharedDithers(context.seed, context.round, 7)
        lanes = coder.unpacked_bits
        words = np.empty(run.words(coder.op.shape.code_bits).stop, dtype=np.uint32)
        words = alike(level, "encode_blocks", (values, powers, factors, rotation, dithers, rounding), words)
        sums = lane_contribution(coder.op, words, codec.code_table) * np.uint32(3)
        if coder.per_word:
            digits = np.empty(run.words(coder.code_bits).stop, dtype=np.uint32)
            digits = alike(level, "pack_digits", (words, block, coder.per_word), digits)
            alike(level, "unpack_digits", (digits, block, coder.per_word, 8), words)
            sums = np.empty(run.words(lanes).stop, dtype=np.uint32)
            sums = alike(level, "unpack_digits", (digits * np.uint32(3), block, coder.per_word, lanes), sums)
        back = np.tile(np.array([0.7, 2.0**-9], dtype=np.float32), norms.size)
        back[::6] = 0
        for there in (None, np.arange(5) != 1, np.arange(5) == 4):
            taken = dither_sum(5, codec.grid.granularity, there)
            estimates = alike(level, "estimate_blocks", (sums, lanes, block, dithers, taken), rotated)
            alike(level, "restore_blocks", (estimates, back, rotation), values)
            alike(level, "decode_blocks", (sums, lanes, back, rotation, dithers, taken), values)
        rounding = rounding._replace(offset=40_000)
        alike(level, "residual_blocks", (values, words, back, rotation, dithers, rounding), values)


@pytest.mark.parametrize("size", [65, 1000, 1024, 200_000])
def test_blocks_at_places_have_bits_of_adjacent_ones(level: Any, size: int) -> None:
    block, codec = 64, THC(workers=2, block=64)
    places = np.flatnonzero(np.arange(-(-size // block)) % 3 != 1).astype(np.uint32)
    values = sample(size)
    side_by_side = thc_reference.picked(values, places, block)
    coder, run = codec.coder, Run(0, places.size, side_by_side.size, block)
    rotation, dithers = Rotation(sign_words(block, 5), block), SharedDithers(1, 2, 3)
    rounding, taken = coder._rounding(CodecContext(workers=2, worker=1)), dither_sum(2, codec.grid.granularity)
    powers, factors = np.ones(2 * places.size, np.float32), np.full(places.size, 9000, np.float32)
    back = np.tile(np.array([0.7, 2.0**-9], dtype=np.float32), places.size)
    words = np.zeros(run.words(4).stop, np.uint32)
    thc_reference.encode_blocks(side_by_side, powers, factors, rotation, dithers, rounding, words)
    sums = lane_contribution(codec.op, words, codec.code_table) * np.uint32(2)
    for loops in (level, type(level)(level.level, threads=3), thc_reference):
        found, decoded, residual = np.zeros_like(words), np.full_like(values, 7), np.full_like(values, 7)
        loops.encode_blocks(values, powers, factors, rotation, dithers, rounding, found, places)
        loops.decode_blocks(sums, 8, back, rotation, dithers, taken, decoded, places)
        loops.residual_blocks(values, words, back, rotation, dithers, rounding, residual, places)
        assert found.tobytes() == words.tobytes()
        packed = np.empty_like(side_by_side)
        for out, name, arguments in (
            (decoded, "decode_blocks", (sums, 8, back, rotation, dithers, taken)),
            (residual, "residual_blocks", (side_by_side, words, back, rotation, dithers, rounding)),
        ):
            getattr(thc_reference, name)(*arguments, packed)
            expected = np.full_like(values, 7)
            thc_reference.put(packed, places, block, expected)
            assert out.tobytes() == expected.tobytes()


def norms_of_any_size() -> np.ndarray:
    """Return norms (float32) from zero and the smallest subnormal to the largest float."""
    rng = np.random.default_rng(6)
    random = np.ldexp(rng.random(2000) + 0.5, rng.integers(-149, 128, 2000)).astype(np.float32)
    return np.concatenate(([0, 2.0**-149, 2.0**-126, 1, FLOAT32_MAX], random)).astype(np.float32)


@pytest.mark.parametrize("workers", [1, 4, 200])
def test_factors_of_norms_of_any_size_are_equal(level: Any, workers: int) -> None:
    norms, grid = norms_of_any_size(), THC(workers=workers).grid
    # Equal norms, far smaller and slightly smaller ones, those of an aggregate that is wrong, and zeros.
    for peaks in (norms, np.maximum(norms, norms[::-1]), norms * np.float32(0.9), norms[::-1].copy(), norms * 0):
        for step in (65536 * grid.granularity / (2 * grid.limit), 1e-3):
            arguments = (norms, peaks, step, RATIOS, grid.gains)
            factors = np.empty(norms.size, np.float32)
            powers = np.empty(2 * norms.size, np.float32)
            alike(level, "encode_factors", (*arguments, powers), factors)
            found = powers.copy()
            level.encode_factors(*arguments, found, factors)
            thc_reference.encode_factors(*arguments, powers, factors)
            assert found.tobytes() == powers.tobytes()
            product = powers.astype(np.float64).reshape(-1, 2).prod(axis=1) * norms
            assert ((product >= 0.5) & (product < 1))[norms > 0].all() and not factors[peaks == 0].any()


@pytest.mark.parametrize("rest", [0, 1, 33, 4095])
@pytest.mark.parametrize("divisor", [1.0, 7.0, 1024.0])
def test_factors_of_estimates_are_equal(level: Any, rest: int, divisor: float) -> None:
    peaks = norms_of_any_size()
    size = (peaks.size - (rest > 0)) * 4096 + rest
    factors = alike(level, "decode_factors", (peaks, 4e-6, size, 4096, divisor), np.empty(2 * peaks.size, np.float32))
    expected = peaks[:-1].astype(np.float64) * 4e-6 / (4096 * divisor)
    assert factors.astype(np.float64).reshape(-1, 2).prod(axis=1)[:-1] == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("places", [[2], [1, 0], [0, 2**31]])
def test_places_outside_the_values_are_refused(level: Any, places: list[int]) -> None:
    out, factors = np.empty(100, np.float32), np.ones(2 * len(places), np.float32)
    lanes = np.zeros(64 * len(places) // 4, np.uint32)
    rotation, taken = Rotation(sign_words(64, 42), 64), dither_sum(4, 15)
    with pytest.raises(ValueError, match="blocks inside the values"):
        level.decode_blocks(
            lanes, 8, factors, rotation, SharedDithers(1, 2, 3), taken, out, np.array(places, np.uint32)
        )


@pytest.mark.parametrize("workers", [1, 2, 8, 12, 15, 17])
def test_every_cell_of_every_table(level: Any, workers: int) -> None:
    codec = THC(workers=workers)
    granularity, no_signs = codec.grid.granularity, Rotation(np.zeros(2, dtype=np.uint32), 64)
    # From below the grid to above it, on its integers, and just beside them.
    places = np.linspace(-0.6, granularity + 0.6, 8192)
    integers = np.rint(places)
    for positions in (places, integers, integers - 1e-6, integers + 1e-6):
        # The transform is its own inverse, times the block; multiples of 1/2 stay exact.
        values = (positions - granularity / 2).astype(np.float32)
        hadamard_transform(values, 64)
        powers, factors = np.tile(np.array([1 / 64, 1], dtype=np.float32), 128), np.full(128, 65536, dtype=np.float32)
        for worker in range(min(3, workers)):
            rounding = codec.coder._rounding(CodecContext(workers=workers, worker=worker))
            arguments = (values, powers, factors, no_signs, SharedDithers(0, 0, 0), rounding)
            alike(level, "encode_blocks", arguments, np.empty(1024, dtype=np.uint32))


@pytest.fixture(scope="module")
def chosen(level: Any, native: Any) -> Iterator[Any]:
    """The codec uses the loops of the level; a context in which it uses NumPy's."""
    with pytest.MonkeyPatch.context() as patch:
        found = dispatch.native
        patch.setattr(dispatch, "native", lambda kind, **some: level if kind is type(level) else found(kind, **some))
        patch.delenv(VARIABLE, raising=False)
        assert block_kernels() is level
        yield level


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(PACKINGS), st.sampled_from([32, 64, 128]), three_vectors(300), simulation_options)
def test_sent_words_and_decoded_values_are_equal(
    chosen: Any, width: Packing, block: int, vectors: list[np.ndarray], options: dict[str, Any]
) -> None:
    codec = packed_as(width, workers=3, block=block)
    found = simulate(codec, vectors, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "off")
        expected = simulate(codec, vectors, **options)
    assert all(one.residual is not None for one in expected.results)
    check_alike(found, expected)


def test_several_threads_do_not_disturb_each_other(level: Any) -> None:
    rotation, powers = Rotation(sign_words(4096, 42), 4096), np.ones(8, dtype=np.float32)
    factors = np.full(4, 2000, dtype=np.float32)
    rounding = THC(workers=4).coder._rounding(CodecContext(workers=4, worker=1))

    def encoded(values: np.ndarray) -> bytes:
        words = np.empty(1 << 11, dtype=np.uint32)
        level.encode_blocks(values, powers, factors, rotation, SharedDithers(0, 0, 0), rounding, words)
        return words.tobytes()

    inputs = [sample(1 << 14, seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(encoded, inputs)) == [encoded(values) for values in inputs]


def test_arrays_that_do_not_fit_are_refused(level: Any) -> None:
    signs, values, out = sign_words(64, 42), sample(100), np.empty(128, dtype=np.float32)
    powers, factors, dithers = np.ones(4, dtype=np.float32), np.ones(2, dtype=np.float32), SharedDithers(1, 2, 3)
    rotation, words = Rotation(signs, 64), np.empty(16, dtype=np.uint32)
    cells, levels = np.zeros(16, dtype=np.uint8), np.zeros(256, dtype=np.uint8)
    good = Rounding(15, cells, levels, 4, 0, 1)
    level.encode_blocks(values, powers, factors, rotation, dithers, good, words)
    for arguments in (
        (values, powers, factors, Rotation(signs, 48), dithers, good, words),
        (values, powers, factors, Rotation(signs, 16), dithers, good, words),
        (values, powers, factors, Rotation(signs[:1], 64), dithers, good, words),
        (values, powers[:3], factors, rotation, dithers, good, words),
        (values, powers, factors[:1], rotation, dithers, good, words),
        (values, powers, factors, rotation, dithers, good, words[:15]),
        (values, powers, factors, rotation, dithers, Rounding(16, cells, levels, 4, 0, 1), words),
        (values, powers, factors, rotation, dithers, Rounding(15, cells, levels, 4, 0, 6), words),
        (values, powers, factors, rotation, dithers, Rounding(15, cells[:0], levels, 4, 0, 0), words),
    ):
        with pytest.raises(ValueError, match="block kernel"):
            level.encode_blocks(*arguments)
    for wrong in (
        (values.astype(np.float64), rotation),
        (values, Rotation(signs.astype(np.int64), 64)),
        (values, (signs,)),
        (values, (64, signs)),
        (values, [signs, 64]),
    ):
        with pytest.raises(TypeError):
            level.encode_blocks(wrong[0], powers, factors, wrong[1], dithers, good, words)
    with pytest.raises(ValueError, match="block kernel requires: rotated values with the padding"):
        level.restore_blocks(out[:100], powers, rotation, values)
    with pytest.raises(ValueError, match="a lane for each"):
        level.estimate_blocks(signs, 8, 64, dithers, dither_sum(4, 15), out)
    with pytest.raises(ValueError, match="two powers and a factor for each norm"):
        level.encode_factors(factors, factors, 1.0, RATIOS, RATIOS, powers[:3], factors.copy())
    with pytest.raises(ValueError, match="a gain for each ratio"):
        level.encode_factors(factors, factors, 1.0, RATIOS, RATIOS[1:], powers, factors.copy())
    for size in (64, 129, 0):
        with pytest.raises(ValueError, match="a peak for each block"):
            level.decode_factors(factors, 1.0, size, 64, 1.0, powers)
    with pytest.raises(ValueError, match="two factors for each block"):
        level.decode_factors(factors, 1.0, 65, 64, 1.0, powers[:3])
    with pytest.raises(ValueError, match="Invalid level"):
        type(level)("mmx")
