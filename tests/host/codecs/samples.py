# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Values and vectors that the tests of several codecs use, and the error of a sum."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lanesum.codecs import THC
from lanesum.codecs.kernels.hadamard import hadamard_transform
from lanesum.codecs.kernels.philox import expand_signs, sign_words
from lanesum.codecs.kernels.reference import FLOAT32_MAX
from lanesum.codecs.thc.codec import OPS, DigitTHC
from lanesum_lab.codec_simulation import Simulation

Packing = tuple[int, int] | int
#: Bits of codes and lanes of every operation of thc, and numbers of digits of a word, in lanes of 16 and 8 bits.
PACKINGS: list[Packing] = [*OPS, 3, 7]

#: All finite float32 values, with many of the same magnitude and some at the ends of the range.
floats = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.floats(-1, 1, width=32),
    st.sampled_from([0.0, -0.0, 1e-45, -1e-45, 1.17549435e-38, FLOAT32_MAX, -FLOAT32_MAX]).map(np.float32).map(float),
)


def three_vectors(max_size: int) -> st.SearchStrategy[list[np.ndarray]]:
    """Vectors of three workers, of any magnitude; their norms fit float32."""
    return st.builds(
        lambda x, scale: [
            (x / np.float32(64) * np.float32(scale)).astype(np.float32),
            np.roll(x, 1) / np.float32(1000),
            -x / np.float32(99),
        ],
        st.integers(1, max_size).flatmap(lambda size: hnp.arrays(np.float32, size, elements=floats)),
        st.sampled_from([1.0, 1e-30, 1e-42]),
    )


#: Arguments of ``simulate`` for three workers: any seed, and a quorum.
simulation_options = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**64 - 1),
        "keep_residual": st.just(True),
        "contributors": st.sampled_from([None, [0, 2], [1]]),
        "average": st.booleans(),
    }
)


def check_alike(found: Simulation, expected: Simulation) -> None:
    """Check that two simulations have the same bits: sums, values and residuals."""
    assert [one.tobytes() for one in found.aggregates] == [one.tobytes() for one in expected.aggregates]
    for mine, other in zip(found.results, expected.results, strict=True):
        for one, reference in ((mine.values, other.values), (mine.residual, other.residual)):
            if reference is None:
                assert one is None
            else:
                assert np.asarray(one).tobytes() == reference.tobytes()


def sample(size: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng([seed, size]).normal(size=size).astype(np.float32)


def packed_as(packing: Packing, *, workers: int, block: int) -> THC:
    if isinstance(packing, int):
        return DigitTHC(workers=workers, per_word=packing, block=block)
    return THC(workers=workers, bits=packing[0], lanes=packing[1], block=block)


def gaussian(seed: int, size: int = 1 << 16) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=size).astype(np.float32)


def signs(count: int, *, seed: int, round: int = 0) -> np.ndarray:
    """Return the diagonal of the randomized transform: 1 or -1 (float32)."""
    return expand_signs(sign_words(count, seed, round), count)


def rotate_orthonormally(x: np.ndarray, block: int = 0) -> None:
    """Transform each ``block`` of ``x`` (default: all of it) in place by the orthonormal Hadamard matrix."""
    hadamard_transform(x, block or x.size)
    x *= np.float32((block or x.size) ** -0.5)


def nmse(values: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sum((values - truth.astype(np.float64)) ** 2) / np.sum(truth.astype(np.float64) ** 2))
