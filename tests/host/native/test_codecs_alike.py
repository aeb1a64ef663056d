# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The codecs' compiled loops have the bits of NumPy's, at every level of vector instructions that the processor has."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lanesum import codecs
from lanesum._internal.native import VARIABLE
from lanesum.codecs import Aggregate, Codec, CodecContext, CodecError
from lanesum.codecs.kernels import dispatch as kernels
from lanesum.codecs.kernels import reference
from lanesum.codecs.kernels.hadamard import hadamard_transform
from lanesum.codecs.kernels.interface import BlockUnits, Rotation
from lanesum.codecs.kernels.packing import lane_contribution
from lanesum.codecs.kernels.philox import RandomStream, random_words, sign_words
from lanesum.codecs.kernels.reference import FLOAT32_MAX
from lanesum_lab.baselines.thc_paper import PaperTHC
from lanesum_lab.baselines.thc_paper import reference as paper
from lanesum_lab.baselines.thc_paper.reference import LaneContributors, RandomKey, Scale
from lanesum_lab.codec_simulation import simulate
from tests.host.codecs.samples import floats, sample
from tests.lab.baselines.published_tables import PUBLISHED

DENORMAL = 1e-45


def vectors(max_size: int) -> st.SearchStrategy[np.ndarray]:
    return st.integers(1, max_size).flatmap(lambda size: hnp.arrays(np.float32, size, elements=floats))


@pytest.fixture(scope="module")
def level(level_name: str, native: Any) -> Any:
    """Return the kernels of one level."""
    return native.CodecKernels(level_name)


def alike(level: Any, name: str, arguments: tuple[Any, ...], *results: np.ndarray) -> None:
    """Call both; ``results``: arrays of the result's size and type, which are the last arguments."""
    outcomes = []
    for loops in (paper if hasattr(paper, name) else reference, level):
        # Elements that are not written would differ.
        filled = [np.full_like(result, index + 3) for index, result in enumerate(results)]
        getattr(loops, name)(*arguments, *filled)
        outcomes.append(filled[-1].tobytes())
    assert outcomes[0] == outcomes[1], name


@given(st.integers(0, 200), st.integers(0, 2**64 - 1), st.integers(0, 2**24 - 1), st.integers(0, 2**32 - 1))
def test_random_words(level: Any, count: int, seed: int, worker: int, round_: int) -> None:
    words = np.empty(count, dtype=np.uint32)
    level.random_words(RandomKey(seed, RandomStream.ROUNDING, worker, round_, 7), words)
    expected = random_words(count, seed=seed, stream=RandomStream.ROUNDING, worker=worker, round=round_, chunk=7)
    assert words.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("size", "block"),
    [(8, 1), (8, 2), (24, 4), (24, 8), (64, 16), (96, 32), (1024, 64), (4096, 128), (8192, 256), (4096, 512)]
    + [(4096, 1024), (8192, 2048), (8192, 4096), (16384, 8192), (1 << 15, 1 << 14), (1 << 16, 1 << 15)]
    + [(1 << 16, 1 << 16), (1 << 17, 1 << 17), (1 << 18, 1 << 18), (1 << 20, 1 << 20), (1 << 21, 1 << 21)],
)
def test_transform(level: Any, size: int, block: int) -> None:
    expected = sample(size)
    found = expected.copy()
    hadamard_transform(expected, block)
    level.hadamard_transform(found, block)
    assert found.tobytes() == expected.tobytes()


@settings(max_examples=50)
@given(vectors(100), st.integers(1, 40))
def test_sums_of_squares(level: Any, values: np.ndarray, chunk: int) -> None:
    alike(level, "square_sums", (values, chunk), np.empty(-(-values.size // chunk)))


@pytest.mark.parametrize("size", [31, 32, 33, 4095, 4096, 4097, 12_289, 100_003])
def test_sums_of_squares_over_blocks(level: Any, size: int) -> None:
    alike(level, "square_sums", (sample(size), 1 << 20), np.empty(1))
    alike(level, "square_sums", (sample(size), 8192), np.empty(-(-size // 8192)))


@settings(max_examples=50)
@given(vectors(80), st.sampled_from([np.nan, np.inf, -np.inf]), st.data())
def test_non_finite_value_is_found(level: Any, values: np.ndarray, bad: float, data: st.DataObject) -> None:
    values[data.draw(st.integers(0, values.size - 1))] = bad
    for loops in (reference, level):
        sums, largest = np.empty(1), np.empty(1, dtype=np.uint32)
        loops.square_sums(values, 128, sums)
        loops.magnitudes(values, 128, largest)
        assert not np.isfinite(sums[0]) and not np.isfinite(largest.view(np.float32)[0])


@given(st.integers(1, 5), st.integers(1, 1200), st.sampled_from([1, 3]), st.data())
def test_sums_of_rows(level: Any, count: int, size: int, divisor: int, data: st.DataObject) -> None:
    rows = np.resize(data.draw(vectors(60)), count * size)
    rows *= np.random.default_rng(size).choice(np.array([1, -1], np.float32), rows.size)
    alike(level, "sum_rows", (rows, divisor), rows[:size])


def test_rows_that_do_not_fit_are_refused(level: Any) -> None:
    for rows, out in ((7, 2), (0, 2), (2, 0), (2, 4)):
        with pytest.raises(ValueError, match="whole rows"):
            level.sum_rows(np.ones(rows, np.float32), 1, np.ones(out, np.float32))


@settings(max_examples=50)
@given(vectors(100), st.integers(1, 60), st.integers(1, 300), st.data())
def test_fixed_point(level: Any, values: np.ndarray, block: int, workers: int, data: st.DataObject) -> None:
    peak = (2**31 - 1) // workers
    maxima = np.empty(-(-values.size // block), dtype=np.uint32)
    alike(level, "magnitudes", (values, block), maxima)
    reference.magnitudes(values, block, maxima)
    scales = maxima.view(np.float32)
    integers = np.empty(values.size, dtype=np.int32)
    # Also with a maximum that leaves this worker out.
    for known in (scales, (scales * np.float32(0.3)).astype(np.float32)):
        units = BlockUnits(known, peak, block)
        alike(level, "to_integers", (values, units), integers)
        reference.to_integers(values, units, integers)
        alike(level, "integer_residual", (values, integers, units), values)
    sums = data.draw(hnp.arrays(np.int32, values.size))
    counts = data.draw(hnp.arrays(np.float64, values.size, elements=st.integers(1, 300).map(float)))
    units = BlockUnits(scales, peak, block)
    for divisor in ((1, None), (7, None), (1, counts)):
        alike(level, "from_integers", (sums, units, *divisor), values)


def encoded(codec: PaperTHC, size: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes of a sample, and random lanes."""
    words = np.random.default_rng(length).integers(0, 2**32, 3 * length // 8, dtype=np.uint32)
    return words[: length // 8], words[length // 8 :]


@pytest.mark.parametrize("rotation", ["full", "block"])
@pytest.mark.parametrize(
    ("size", "length"),
    [(1, 8), (8, 8), (13, 16), (17, 32), (32, 32), (33, 64), (64, 64), (127, 128), (1000, 1024), (1025, 2048)]
    + [(4096, 4096), (4097, 8192), (8192, 8192), (10_000, 16_384), (32_768, 32_768), (65_536, 65_536)]
    + [(70_000, 131_072), (262_144, 262_144), (1 << 20, 1 << 20), ((1 << 20) + 1, 1 << 21)],
)
def test_every_step_of_a_chunk(level: Any, size: int, length: int, rotation: str) -> None:
    codec = PaperTHC(workers=8)
    block = length if rotation == "full" else min(1024, length)
    values, how = sample(size), Rotation(sign_words(length, 42), block)
    whole, part = np.empty(length, dtype=np.float32), np.empty(size, dtype=np.float32)
    alike(level, "rotate", (values, (1.0, 0.25), how), whole)
    rotated = np.empty_like(whole)
    paper.rotate(values, (1.0, 0.25), how, rotated)
    factor = 20 / np.sqrt(block)
    words = np.empty(length // 8, dtype=np.uint32)
    key = RandomKey(2**63 + 5, RandomStream.ROUNDING, 3, 9, 4)
    alike(level, "quantize", (rotated, factor, codec.coder._cells, key), words)
    codes, lanes = encoded(codec, size, length)
    counts = (1 + lanes % 8).astype(np.float32)
    scale = Scale((0.7, 1.0, 2.0**-9), np.inf)
    for contributors in ((210.0, None, True), (30.0, counts, True), (30.0, counts, False)):
        alike(level, "decode", (lanes, LaneContributors(*contributors), how, scale), whole, part)
    for included in (None, (lanes % 3 > 0).astype(np.uint8)):
        alike(level, "residual", (values, codes, codec.coder._halves, included, how, scale), whole, part)
    # Estimates beyond float32 are cut.
    scale = Scale((0.9, 2.0**60, 2.0**64), FLOAT32_MAX)
    alike(level, "decode", (lanes, LaneContributors(30.0, None, True), how, scale), whole, part)


@pytest.mark.parametrize(
    "parameters",
    [{"bits": bits, "codes": codes} for bits in (2, 3, 4) for codes in ("table", "uniform")]
    + [{"granularity": granularity} for granularity in (15, 17, 31, 32, 63, 64, 127, 128, 254, 255)]
    + [{"table": table, "p": 1 / inverse} for (bits, _, inverse), table in PUBLISHED.items() if bits == 4],
)
def test_every_table(level: Any, parameters: dict[str, Any]) -> None:
    codec = PaperTHC(workers=1, **parameters)
    positions = np.linspace(-0.6, 0.6, 4096).astype(np.float32) * codec.granularity
    words = np.empty(positions.size // 8, dtype=np.uint32)
    for round_ in range(3):
        key = RandomKey(1, RandomStream.ROUNDING, 0, round_, 0)
        for rotated in (positions, np.rint(positions)):
            alike(level, "quantize", (rotated, 1.0, codec.coder._cells, key), words)


@pytest.fixture(scope="module")
def chosen(level: Any, native: Any) -> Iterator[Any]:
    """Codecs use the loops of the level; a context in which they use NumPy's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "native", lambda core, threads: level)
        patch.delenv(VARIABLE, raising=False)
        assert kernels.kernels() is level
        yield level


def driven(codec: Codec, x: np.ndarray, context: CodecContext, uneven: int) -> bytes:
    """All that a worker sends and decodes, or the error that it raises, from its own contribution alone; ``uneven``:
    accumulator words that have two of it, all others have one and lack the worker itself."""
    seen = b""
    steps = codec.all_reduce(x, context)
    try:
        round_ = next(steps)
        while True:
            seen += round_.words.tobytes()
            own = lane_contribution(round_.op, round_.words, codec.code_table)
            counts = np.where(np.arange(own.size) < uneven, 2, 1)
            doubled = own if round_.op.name == "MAX" else (own * counts.astype(np.uint32)).astype(np.uint32)
            even = round_.op.name == "MAX" or uneven == 0
            round_ = steps.send(Aggregate(doubled, 1 if even else counts, True if even else counts == 2))
    except StopIteration as stop:
        result = stop.value
        return seen + result.values.tobytes() + (b"" if result.residual is None else result.residual.tobytes())
    except CodecError as error:
        return seen + str(error).encode()


@st.composite
def built(draw: st.DrawFn) -> Codec:
    name = draw(st.sampled_from(["thc-paper", "thc-uniform", "fixed"]))
    if name == "fixed":
        return codecs.get(name, workers=8, block=draw(st.sampled_from([1, 5, 16, 1024])))
    rotation = draw(st.sampled_from(["full", "block"]))
    return codecs.get(name, workers=8, chunk=draw(st.sampled_from([8, 32, 64, 1024])), rotation=rotation)


@settings(max_examples=80)
@given(
    built(),
    vectors(150),
    st.sampled_from([1.0, 1e-30, 1e-42]),
    st.integers(0, 2**64 - 1),
    st.integers(0, 60),
    st.booleans(),
)
def test_sent_words_and_decoded_values_are_equal(
    chosen: Any, codec: Codec, x: np.ndarray, scale: float, seed: int, uneven: int, average: bool
) -> None:
    x = x * np.float32(scale)
    context = CodecContext(workers=8, worker=5, seed=seed, round=3, tensor="w", average=average, keep_residual=True)
    found = driven(codec, x, context, uneven)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "off")
        assert driven(codec, x, context, uneven) == found


@pytest.mark.parametrize("size", [64, 65, 192, 5000])
@pytest.mark.parametrize("name", ["thc-paper", "thc-uniform"])
def test_workers_with_and_without_the_extension_agree(chosen: Any, name: str, size: int) -> None:
    codec = codecs.get(name, workers=3, chunk=64)
    jobs = [sample(size, seed) for seed in range(3)]
    found = simulate(codec, jobs, seed=4, keep_residual=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "off")
        expected = simulate(codec, jobs, seed=4, keep_residual=True)
    assert [one.tobytes() for one in found.aggregates] == [one.tobytes() for one in expected.aggregates]
    for mine, other in zip(found.results, expected.results, strict=True):
        assert mine.values.tobytes() == other.values.tobytes()
        assert mine.residual is not None and other.residual is not None
        assert mine.residual.tobytes() == other.residual.tobytes()


def test_several_threads_do_not_disturb_each_other(level: Any) -> None:
    rotation = Rotation(sign_words(1 << 14, 42), 1 << 14)
    inputs = [sample(1 << 14, seed) for seed in range(8)]

    def rotated(values: np.ndarray) -> bytes:
        out = np.empty_like(values)
        level.rotate(values, (1.0, 1.0), rotation, out)
        return out.tobytes()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(rotated, inputs)) == [rotated(values) for values in inputs]


@given(vectors(300), st.floats(0, 1), st.integers(0, 2**31 - 1))
def test_largest_values_are_equal(level: Any, values: np.ndarray, share: float, least: int) -> None:
    mask = np.empty(values.size, np.uint8)
    alike(level, "largest", (values, round(share * values.size)), mask)
    alike(level, "not_below", (values, least), mask)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 5003, 200_000])
def test_largest_of_many_values_are_equal(level: Any, size: int) -> None:
    """Ranks at both ends and in between; neighbours, ties and zeros among them, and values of every magnitude."""
    generator = np.random.default_rng(size)
    normal = sample(size)
    every = generator.integers(0, 2**32, size, dtype=np.uint32).view(np.float32)
    mask = np.empty(size, np.uint8)
    for values in (
        normal,
        np.round(normal * 4),
        every,
        np.where(normal > 1, normal, np.float32(0)),
        np.zeros_like(normal),
    ):
        for wanted in {0, 1, size // 100, size // 2, size - 1, size}:
            alike(level, "largest", (values, wanted), mask)
            level.largest(values, wanted, mask)
            assert np.count_nonzero(mask) == min(wanted, np.count_nonzero(values))
    alike(level, "not_below", (normal, int(np.float32(0.5).view(np.uint32))), mask)


def test_arrays_that_do_not_fit_are_refused(level: Any) -> None:
    signs, values, out = sign_words(64, 42), sample(64), np.empty(64, dtype=np.float32)
    for arguments in (
        (values, (1.0, 1.0), Rotation(signs, 128), out),
        (values, (1.0, 1.0), Rotation(signs, 48), out),
        (values, (1.0, 1.0), Rotation(signs[:1], 64), out),
        (values, (1.0, 1.0), Rotation(signs, 32), out[:32]),
        (values[:20], (1.0, 1.0), Rotation(signs, 8), out[:24]),
    ):
        with pytest.raises(ValueError, match="codec kernel"):
            level.rotate(*arguments)
    mask = np.empty(64, np.uint8)
    for call in (
        lambda: level.largest(values, 65, mask),
        lambda: level.largest(values, 64, mask[1:]),
        lambda: level.not_below(values, 1, mask[1:]),
        lambda: level.not_below(values, 1 << 31, mask),
    ):
        with pytest.raises(ValueError, match="codec kernel"):
            call()
    rotation = Rotation(signs, 64)
    with pytest.raises(TypeError):
        level.rotate(values.astype(np.float64), (1.0, 1.0), rotation, out)
    with pytest.raises(TypeError):
        level.rotate(np.empty(128, dtype=np.float32)[::2], (1.0, 1.0), rotation, out)
    with pytest.raises(TypeError):
        level.rotate(values, (1.0, 1.0), Rotation(signs.astype(np.int32), 64), out)
    with pytest.raises(TypeError):
        level.from_integers(signs.view(np.int32), BlockUnits(values[:2].astype(np.float64), 9, 1), 1, None, out[:2])
    locked = np.empty(64, dtype=np.float32)
    locked.flags.writeable = False
    with pytest.raises(TypeError):
        level.rotate(values, (1.0, 1.0), rotation, locked)
    with pytest.raises(ValueError, match="scratch"):
        lanes = np.zeros(16, dtype=np.uint32)
        contributors, scale = LaneContributors(0.0, None, True), Scale((1.0, 1.0, 1.0), np.inf)
        level.decode(lanes, contributors, rotation, scale, out[:8], np.empty(50, dtype=np.float32))
    with pytest.raises(ValueError, match="Invalid level"):
        type(level)("mmx")
