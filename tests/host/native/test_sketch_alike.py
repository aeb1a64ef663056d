# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled loops of the sparse codecs have the bits of NumPy's, and refuse arrays that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lanesum.codecs import Auto
from lanesum.codecs.sparse import all_reduce
from lanesum.codecs.sparse import reference as sketch_reference
from lanesum.codecs.sparse.hashing import Cells
from lanesum.codecs.sparse.plan import cells_for
from lanesum.codecs.sparse.tensor_stats import nonzero_counts
from lanesum_lab.codec_simulation import simulate

SEED = 0xFEDC_BA98_7654_3210


@pytest.fixture
def compiled(native: Any) -> Any:
    return native.SketchKernels()


def both(compiled: Any, work: Callable[[Any], Any]) -> Any:
    here, there = work(compiled), work(sketch_reference)
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one, other)
    return here


def values(size: int, density: float) -> np.ndarray:
    generator = np.random.default_rng(size)
    x = (generator.normal(size=size) * (generator.random(size) < density)).astype(np.float32)
    x[generator.random(size) < 0.1] = -0.0
    return x


def some_keys(count: int, below: int) -> np.ndarray:
    return np.sort(np.random.default_rng(count).choice(below, count, replace=False)).astype(np.uint32)


@pytest.mark.parametrize("block", [1, 2, 8, 1024])
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 1023, 5000])
@pytest.mark.parametrize("density", [0.0, 0.02, 1.0])
def test_blocks_and_their_integers(compiled: Any, block: int, size: int, density: float) -> None:
    x = values(size, density)

    def work(of: Any) -> Any:
        keys = np.full(-(-size // block), 7, np.uint32)
        count, largest = of.nonzero_blocks(x, block, keys)
        integers = np.full(count * block, 9, np.uint32)
        of.gather_integers(x, keys[:count], block, -20, 2**21, integers)
        return keys[:count], largest, integers

    both(compiled, work)


@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf, -np.inf])
def test_largest_magnitude_shows_non_finite_values(compiled: Any, bad: float) -> None:
    x = values(100, 0.5)
    x[37] = bad
    keys = np.empty(100, np.uint32)
    (largest,) = both(compiled, lambda of: of.nonzero_blocks(x, 1, keys)[1:])
    assert largest >= 0x7F800000


@pytest.mark.parametrize("exponent", [-149, -30, 0, 96])
def test_integers_of_all_magnitudes(compiled: Any, exponent: int) -> None:
    generator = np.random.default_rng(1)
    x = generator.integers(0, 2**32, 4000, dtype=np.uint32).view(np.float32)
    x = np.where(np.isfinite(x), x, np.float32(0))
    x[:6] = [0.5, 1.5, 2.5, -0.5, -1.5, 3.4e38]

    def work(of: Any) -> Any:
        integers = np.empty(4000, np.uint32)
        of.gather_integers(x, np.arange(4000, dtype=np.uint32), 1, exponent, 2**31 - 1, integers)
        return (integers,)

    both(compiled, work)


@pytest.mark.parametrize("block", [1, 8])
@pytest.mark.parametrize("cells", [Cells(3), Cells(100), Cells(1300), Cells(3 << 9, 512), Cells(40 << 5, 32)])
def test_sketches_and_what_can_be_read_from_them(compiled: Any, block: int, cells: Cells) -> None:
    for count in (0, 1, 2, 60, 1000):
        keys = some_keys(count, 50_000)
        integers = np.random.default_rng(3).integers(0, 2**32, count * block, dtype=np.uint32)

        def work(of: Any, keys: np.ndarray = keys, integers: np.ndarray = integers) -> Any:
            sketch = np.zeros(cells.count * block, np.uint32)
            of.insert(integers, keys, block, SEED, cells, sketch)
            summed = sketch.copy()
            found, left = np.full_like(integers, 5), np.empty_like(keys)
            order, number = of.peeling_order(keys, SEED, cells, left)
            of.peel(found, order, block, sketch)
            return summed, found, left[:number], sketch

        _, found, left, _ = both(compiled, work)
        there = np.ones(count, np.bool_)
        there[left] = False
        assert (found.reshape(count, block)[there] == integers.reshape(count, block)[there]).all()
        assert not found.reshape(count, block)[left].any()
        assert left.size < count or count == 0 or cells.count == 3 or count > cells.count * 0.7


@pytest.mark.parametrize("block", [1, 4, 1024])
@pytest.mark.parametrize("exponent", [-149, -20, 97])
@pytest.mark.parametrize("divisor", [1, 3])
def test_sums_as_floats_in_their_places(compiled: Any, block: int, exponent: int, divisor: int) -> None:
    for size in (1, 1023, 5001):
        keys = some_keys(-(-size // block) // 3 + 1, -(-size // block))
        integers = np.random.default_rng(size).integers(0, 2**32, keys.size * block, dtype=np.uint32)
        integers[:3] = (0, 2**31, 2**31 - 1)[: integers.size]

        def work(of: Any, size: int = size, keys: np.ndarray = keys, integers: np.ndarray = integers) -> Any:
            values = np.zeros(size, np.float32)
            of.scatter_floats(integers, keys, block, exponent, divisor, values)
            return (values,)

        (values,) = both(compiled, work)
        assert np.count_nonzero(values) <= keys.size * block and (values.any() or exponent == -149 or size == 1)


@pytest.mark.parametrize("block", [1, 8, 1024])
@pytest.mark.parametrize("density", [0.0, 0.01, 1.0])
def test_blocks_of_all_lengths_are_counted(compiled: Any, block: int, density: float) -> None:
    size = 20_000
    x = (values(size, density) != 0).astype(np.float32)
    keys = np.empty(-(-size // block), np.uint32)

    def work(of: Any) -> Any:
        count, _ = of.nonzero_blocks(x, block, keys)
        integers = np.empty(count * block, np.uint32)
        of.gather_integers(x, keys[:count], block, 0, 1, integers)
        counts = np.full(11, -1, np.int64)
        of.count_blocks(integers, keys[:count], block, counts)
        return (counts,)

    (levels,) = both(compiled, work)
    assert tuple(levels.tolist()) == nonzero_counts(x)


@pytest.mark.parametrize("blocks", [1, 31, 32, 33, 5000])
def test_bitmaps(compiled: Any, blocks: int) -> None:
    keys = some_keys(blocks // 3, blocks)

    def work(of: Any) -> Any:
        words = np.zeros(-(-blocks // 32), np.uint32)
        of.set_bits(keys, words)
        found = np.empty(blocks, np.uint32)
        count = of.keys_of_bits(words, found)
        # Bits beyond the last block belong to no worker.
        beyond = of.keys_of_bits(np.full_like(words, 0xFFFFFFFF), found.copy())
        return words, found[:count], beyond

    _, found, beyond = both(compiled, work)
    assert (found == keys).all() and beyond == blocks


@pytest.mark.parametrize("hashes", [1, 2, 3, 9, 24])
def test_filters(compiled: Any, hashes: int) -> None:
    blocks, count = 100_000, 500
    keys = some_keys(count, blocks)

    def work(of: Any) -> Any:
        words = np.zeros(round(count * hashes / np.log(2) / 64) * 2, np.uint32)
        of.fill_filter(keys, SEED, hashes, words)
        found = np.empty(blocks, np.uint32)
        number = of.keys_of_filter(words, SEED, hashes, found)
        return words, found[:number]

    _, found = both(compiled, work)
    assert np.isin(keys, found).all()
    # Half of the bits are set: every further bit halves the false positives.
    assert found.size - count == pytest.approx((blocks - count) * 2.0**-hashes, rel=0.2, abs=30)


def test_job_of_both_implementations_agrees(native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(8)
    vectors = [(generator.normal(size=30_000) * (generator.random(30_000) < 0.02)).astype(np.float32) for _ in range(2)]
    outcomes = []
    for loops in (native.SketchKernels(), sketch_reference):
        monkeypatch.setattr(all_reduce, "chosen", lambda *_, loops=loops: loops)
        job = [Auto(workers=2) for _ in range(2)]
        runs = [simulate(job, vectors, tensor="t", round=number) for number in range(3)]
        outcomes.append([words.tobytes() for run in runs for words in [*run.aggregates, run.values]])
    assert outcomes[0] == outcomes[1]


def test_arrays_that_do_not_fit_are_refused(compiled: Any) -> None:
    words = np.zeros(8, np.uint32)
    keys = np.array([1, 2], np.uint32)
    order, _ = compiled.peeling_order(keys, 0, Cells(8), words)
    wrong: list[Callable[[], Any]] = [
        lambda: compiled.nonzero_blocks(np.zeros(9, np.float32), 1, words),
        lambda: compiled.nonzero_blocks(np.zeros(9, np.float32), 0, words),
        lambda: compiled.gather_integers(np.zeros(2, np.float32), keys, 1, 0, 1, words[:2]),
        lambda: compiled.gather_integers(np.zeros(3, np.float32), keys, 1, 0, 1, words),
        lambda: compiled.insert(words[:2], keys, 1, 0, Cells(9), words),
        lambda: compiled.insert(words[:2], keys, 1, 0, Cells(2), words[:2]),
        lambda: compiled.insert(words[:2], keys, 1, 0, Cells(8, 4), words),
        lambda: compiled.insert(words[:2], keys, 1, 0, Cells(8, 3), words),
        lambda: compiled.insert(words, keys, 1, 0, Cells(8), words),
        lambda: compiled.peeling_order(keys, 0, Cells(8), words[:1]),
        lambda: compiled.peeling_order(keys, 0, Cells(2), words),
        lambda: compiled.peel(words[:1], order, 1, words),
        lambda: compiled.peel(words[:2], order, 1, words[:7]),
        lambda: compiled.peel(words[:2], order, 0, words),
        lambda: compiled.scatter_floats(words[:1], keys, 1, 0, 1, np.zeros(3, np.float32)),
        lambda: compiled.scatter_floats(words[:2], keys, 1, 0, 1, np.zeros(2, np.float32)),
        lambda: compiled.count_blocks(words[:3], keys, 1, np.zeros(3, np.int64)),
        lambda: compiled.count_blocks(words[:2], keys, 1, np.zeros(65, np.int64)),
        lambda: compiled.set_bits(np.array([256], np.uint32), words),
        lambda: compiled.keys_of_bits(words[:1], np.zeros(33, np.uint32)),
        lambda: compiled.keys_of_filter(words[:0], 0, 1, words),
        lambda: compiled.keys_of_filter(words[:7], 0, 1, words),
        lambda: compiled.fill_filter(keys, 0, 1, words[:1]),
    ]
    for one in wrong:
        with pytest.raises(ValueError, match="sketch kernel"):
            one()
    with pytest.raises(TypeError):
        compiled.set_bits(keys.astype(np.int64), words)


@pytest.mark.parametrize("placement", ["uniform", "coupled"])
def test_sketches_of_the_planned_size_can_be_read(compiled: Any, placement: Any) -> None:
    """Also at loads up to the thresholds: about one sketch in a hundred leaves keys over, small coupled ones more."""
    failures = 0
    for number in range(60):
        count = (20, 300, 4000)[number % 3]
        cells = cells_for(count, placement)
        keys = some_keys(count, 1_000_000)
        failures += compiled.peeling_order(keys, number, cells, np.empty_like(keys))[1] > 0
    assert failures <= (4 if placement == "uniform" else 12)
