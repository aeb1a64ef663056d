# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The fast transform against the matrix, and bit for bit against the plain butterfly loop it stands for."""

from __future__ import annotations

import numpy as np
import pytest

from lanesum.codecs.kernels.hadamard import hadamard_transform
from tests.host.codecs.samples import rotate_orthonormally

scipy_linalg = pytest.importorskip("scipy.linalg")


def plain(x: np.ndarray, block: int) -> np.ndarray:
    y = x.copy()
    span = 1
    while span < block:
        pairs = y.reshape(-1, 2, span)
        y = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        span *= 2
    return y


def sample(size: int) -> np.ndarray:
    return np.random.default_rng(size).normal(size=size).astype(np.float32)


@pytest.mark.parametrize("size", [1, 2, 8, 64, 1024, 2048])
def test_rotation_is_orthonormal_and_its_own_inverse(size: int) -> None:
    x = sample(size)
    y = x.copy()
    rotate_orthonormally(y)
    np.testing.assert_allclose(y, scipy_linalg.hadamard(size) @ x.astype(np.float64) / size**0.5, atol=2e-6)
    rotate_orthonormally(y)
    np.testing.assert_allclose(y, x, atol=2e-6)


@pytest.mark.parametrize(
    ("size", "block"), [(8, 8), (96, 32), (4096, 1024), (1 << 17, 1 << 17), (3 * 4096, 4096), (1 << 20, 1 << 20)]
)
def test_has_the_bits_of_the_plain_butterflies(size: int, block: int) -> None:
    x = sample(size)
    y = x.copy()
    hadamard_transform(y, block)
    assert y.tobytes() == plain(x, block).tobytes()


@pytest.mark.parametrize(("size", "block"), [(12, 12), (8, 16), (12, 8), (8, 0)])
def test_blocks_that_do_not_fit_are_refused(size: int, block: int) -> None:
    with pytest.raises(ValueError, match="Cannot transform"):
        hadamard_transform(np.zeros(size, dtype=np.float32), block)
    with pytest.raises(ValueError, match="Cannot transform"):
        hadamard_transform(np.zeros(16, dtype=np.float32)[::2], 8)
