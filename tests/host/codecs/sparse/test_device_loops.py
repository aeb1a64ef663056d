# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Triton loops of the sparse codecs have the bits of the NumPy loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="needs Triton: pip install 'lanesum[gpu]'")

from lanesum.codecs.sparse import device as loops  # noqa: E402
from lanesum.codecs.sparse import reference  # noqa: E402
from lanesum.codecs.sparse.hashing import Cells  # noqa: E402
from lanesum.codecs.sparse.plan import BLOCKS, cells_for  # noqa: E402

pytestmark = pytest.mark.usefixtures("interpreted")

seeds = st.integers(0, 2**64 - 1)
blocks = st.sampled_from([1, 2, 16, 1024])
few = settings(max_examples=25, deadline=None)


def tensor(array: np.ndarray) -> torch.Tensor:
    """Return words as int32 with the same bits."""
    return torch.from_numpy(array.view(np.int32) if array.dtype == np.uint32 else array.copy())


def words(of: torch.Tensor) -> np.ndarray:
    return of.numpy().view(np.uint32)


def sparse(seed: int, size: int, density: float) -> np.ndarray:
    """Return floats of all magnitudes, zeros of both signs, and halves of units."""
    generator = np.random.default_rng(seed)
    x = generator.integers(0, 2**32, size, dtype=np.uint32).view(np.float32)
    x = np.where(np.isfinite(x), x, np.float32(0.5))
    return np.where(generator.random(size) < density, x, np.copysign(np.float32(0), x)).astype(np.float32)


def moderate(seed: int, size: int) -> np.ndarray:
    """Return floats of few digits, so that many lie half way between two units."""
    generator = np.random.default_rng(seed)
    return (generator.integers(-40, 40, size) / np.float32(8)).astype(np.float32)


def some_keys(generator: np.random.Generator, count: int, below: int) -> np.ndarray:
    return np.sort(generator.choice(below, min(count, below), replace=False)).astype(np.uint32)


@few
@given(seeds, st.integers(1, 5000), blocks, st.sampled_from([0.0, 0.01, 0.5, 1.0]))
def test_nonzero_blocks_equal_reference(seed: int, size: int, block: int, density: float) -> None:
    x = sparse(seed, size, density)
    keys = np.empty(-(-size // block), np.uint32)
    count, largest = reference.nonzero_blocks(x, block, keys)
    found, largest_found = loops.nonzero_blocks(tensor(x), block)
    np.testing.assert_array_equal(words(found), keys[:count])
    assert largest_found == largest


def test_nonzero_blocks_beyond_limit_of_pytorch_equal_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "_MAX_NONZERO", 300)
    x = moderate(3, 1001)
    x[x < 2] = 0
    found, _ = loops.nonzero_blocks(tensor(x), 1)
    assert found.tolist() == np.flatnonzero(x).tolist() and found[-1] > 3 * 300


@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf, -np.inf])
def test_nonzero_blocks_report_non_finite_values(bad: float) -> None:
    x = moderate(1, 100)
    x[37] = bad
    assert loops.nonzero_blocks(tensor(x), 1)[1] >= 0x7F800000


@few
@given(seeds, st.integers(1, 5000), blocks, st.integers(-149, 97), st.integers(1, 31))
def test_integers_and_residuals_equal_reference(seed: int, size: int, block: int, exponent: int, bits: int) -> None:
    generator = np.random.default_rng(seed)
    x = moderate(seed, size) if exponent % 2 else sparse(seed, size, 0.5)
    exponent, peak = (exponent % 5 - 3, 2**bits - 1) if exponent % 2 else (exponent, 2**bits - 1)
    keys = some_keys(generator, generator.integers(0, size), -(-size // block))
    integers = np.empty(keys.size * block, np.uint32)
    reference.gather_integers(x, keys, block, exponent, peak, integers)
    np.testing.assert_array_equal(
        words(loops.gather_integers(tensor(x), tensor(keys), block, exponent, peak)), integers
    )
    said = np.zeros_like(x)
    reference.scatter_floats(integers, keys, block, exponent, 1, said)
    left = loops.residual(tensor(x), tensor(keys), block, exponent, peak)
    np.testing.assert_array_equal(words(left), np.subtract(x, said).view(np.uint32))


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@few
@given(seeds, st.integers(1, 5000), blocks, st.integers(-149, 120), st.integers(1, 2**31 - 1))
def test_scattered_floats_equal_reference(seed: int, size: int, block: int, exponent: int, divisor: int) -> None:
    generator = np.random.default_rng(seed)
    keys = some_keys(generator, generator.integers(0, size), -(-size // block))
    integers = generator.integers(0, 2**32, keys.size * block, dtype=np.uint32)
    expected = np.zeros(size, np.float32)
    reference.scatter_floats(integers, keys, block, exponent, divisor % (seed % 7 + 1) + 1, expected)
    values = torch.zeros(size)
    loops.scatter_floats(tensor(integers), tensor(keys), block, exponent, divisor % (seed % 7 + 1) + 1, values)
    np.testing.assert_array_equal(words(values), expected.view(np.uint32))


@pytest.mark.long
@settings(max_examples=8, deadline=None)
@given(seeds, st.integers(0, 600), st.sampled_from([1, 4, 1024]), st.sampled_from([0, 4, 8]), st.booleans())
def test_sketch_insertion_and_peeling_equal_reference(
    seed: int, count: int, block: int, segment: int, crowded: bool
) -> None:
    """The cells suffice for nearly all keys, or for half of them: then the same keys cannot be read."""
    generator = np.random.default_rng(seed)
    count = min(count, 60) if block == 1024 else count
    size = 3000 * block // (10 if block == 1024 else 1) - min(block - 1, 5)
    keys = some_keys(generator, count, -(-size // block))
    wanted = max(3, keys.size // 2) if crowded else cells_for(keys.size, "uniform").count
    cells = Cells(max(3, -(-wanted // segment)) * segment, segment) if segment else Cells(wanted)
    x, exponent, peak = (generator.normal(size=size) * 1000).astype(np.float32), -18, 2**31 - 1

    integers = np.empty(keys.size * block, np.uint32)
    reference.gather_integers(x, keys, block, exponent, peak, integers)
    sketch = np.zeros(cells.count * block, np.uint32)
    reference.insert(integers, keys, block, seed, cells, sketch)
    made = loops.insert(tensor(x), tensor(keys), block, exponent, peak, seed, cells)
    np.testing.assert_array_equal(words(made), sketch)

    left = np.empty_like(keys)
    order, number = reference.peeling_order(keys, seed, cells, left)
    found, places = loops.peeling_order(tensor(keys), seed, cells)
    np.testing.assert_array_equal(places.numpy(), left[:number])
    assert found.levels == len(order.levels)

    read = np.empty_like(integers)
    reference.peel(read, order, block, sketch)
    np.testing.assert_array_equal(words(loops.peel(found, block, made)), read)
    np.testing.assert_array_equal(words(made), sketch)
    readable = np.ones(keys.size, np.bool_)
    readable[left[:number]] = False
    np.testing.assert_array_equal(read.reshape(-1, block)[readable], integers.reshape(-1, block)[readable])
    assert crowded or keys.size < 100 or number < keys.size


def test_peeling_order_with_many_levels_equals_reference() -> None:
    """Peeling near its threshold takes many levels."""
    cells = cells_for(3000, "uniform")
    keys = np.arange(3000, dtype=np.uint32)
    order, number = reference.peeling_order(keys, 5, cells, np.empty_like(keys))
    found, places = loops.peeling_order(tensor(keys), 5, cells)
    assert found.levels == len(order.levels) > 8 and places.numel() == number == 0


@few
@given(seeds, st.integers(0, 300), blocks)
def test_block_counts_equal_reference(seed: int, count: int, block: int) -> None:
    generator = np.random.default_rng(seed)
    keys = some_keys(generator, count, 2**32 // block - 1 if seed % 2 else 400)
    integers = (generator.random(keys.size * block) < 0.3).astype(np.uint32) * np.uint32(0x80000001)
    counts = np.empty(len(BLOCKS), np.int64)
    reference.count_blocks(integers, keys, block, counts)
    assert loops.count_blocks(tensor(integers), tensor(keys), block, len(BLOCKS)) == counts.tolist()
