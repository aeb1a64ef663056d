# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The table solver against published tables, quadrature and brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from lanesum.errors import ConfigurationError
from lanesum_lab.baselines.thc_paper.codec import (
    best_table,
    clamping_error,
    rounding_variance,
    support_limit,
)
from tests.lab.baselines.published_tables import PUBLISHED

LIMITS = {16: 1.862732, 32: 2.153875, 64: 2.417559, 128: 2.660067, 256: 2.885635, 512: 3.097269, 1024: 3.297193}

# Granularity, 1/p, an optimal table (its mirror image is as good), its rounding variance.
OPTIMAL = [
    (15, 48, tuple(range(16)), 0.015498),
    (16, 64, (*range(15), 16), 0.016191),
    (20, 64, (0, 2, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20), 0.016104),
    (20, 512, (0, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20), 0.021187),
    (30, 32, (0, 3, 5, 7, 9, 11, 13, 14, 15, 17, 19, 21, 23, 25, 27, 30), 0.013063),
    (30, 64, (0, 3, 5, 7, 9, 11, 13, 14, 15, 17, 19, 21, 23, 25, 27, 30), 0.016200),
    (30, 128, (0, 4, 6, 8, 10, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 30), 0.019110),
    (30, 256, (0, 4, 7, 9, 11, 13, 14, 15, 16, 17, 18, 20, 22, 24, 26, 30), 0.021228),
    (30, 512, (0, 4, 7, 9, 11, 13, 14, 15, 16, 17, 18, 19, 21, 23, 26, 30), 0.022906),
    (34, 1024, (0, 5, 8, 10, 12, 14, 15, 16, 17, 18, 20, 22, 24, 26, 29, 34), 0.023566),
    (42, 1024, PUBLISHED[4, 42, 1024], 0.021332),
]

# Bits, granularity, 1/p, rounding variance and squared clamping error of a published table.
PUBLISHED_ERRORS = [
    (4, 30, 32, 0.013075, 0.007267),
    (4, 30, 64, 0.01622, 0.00315),
    (4, 30, 128, 0.019245, 0.00139),
    (4, 30, 256, 0.02144, 0.00062),
    (4, 30, 512, 0.02351, 0.00028),
    (4, 34, 32, 0.012125, 0.00727),
    (4, 34, 1024, 0.02378, 0.00013),
    (4, 42, 1024, 0.02133, 0.00013),
    (3, 16, 32, 0.0555, 0.0073),
    (3, 42, 1024, 0.0991, 0.0001),
    (2, 34, 512, 0.574, 0.0003),
]


@pytest.mark.parametrize(("inverse_p", "limit"), LIMITS.items())
def test_support_limits(inverse_p: int, limit: float) -> None:
    assert support_limit(1 / inverse_p) == pytest.approx(limit, abs=1e-6)
    # The definition itself, to more digits than the printed table has.
    assert math.erfc(support_limit(1 / inverse_p) / math.sqrt(2)) * inverse_p == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize(("granularity", "inverse_p", "table", "variance"), OPTIMAL)
def test_optimal_tables(granularity: int, inverse_p: int, table: tuple[int, ...], variance: float) -> None:
    found = best_table(4, granularity, 1 / inverse_p)
    mirror = tuple(granularity - value for value in reversed(table))
    assert found in (table, mirror)
    assert rounding_variance(found, 1 / inverse_p) == pytest.approx(variance, abs=1e-6)
    assert rounding_variance(table, 1 / inverse_p) == pytest.approx(rounding_variance(mirror, 1 / inverse_p))


@pytest.mark.parametrize("key", PUBLISHED)
def test_optimum_is_never_worse_than_a_published_table(key: tuple[int, int, int]) -> None:
    bits, granularity, inverse_p = key
    published = PUBLISHED[key]
    assert len(published) == 2**bits and published[-1] == granularity
    found = best_table(bits, granularity, 1 / inverse_p)
    assert rounding_variance(found, 1 / inverse_p) <= rounding_variance(published, 1 / inverse_p) + 1e-11


@pytest.mark.parametrize(("bits", "granularity", "inverse_p", "rounding", "clamping"), PUBLISHED_ERRORS)
def test_errors_of_published_tables(
    bits: int, granularity: int, inverse_p: int, rounding: float, clamping: float
) -> None:
    values = PUBLISHED[bits, granularity, inverse_p]
    digits = 5e-5 if bits < 4 else 6e-6
    assert rounding_variance(values, 1 / inverse_p) == pytest.approx(rounding, abs=max(digits, rounding * 6e-4))
    assert clamping_error(1 / inverse_p) == pytest.approx(clamping, abs=digits)


def test_closed_forms_agree_with_quadrature() -> None:
    values, p = PUBLISHED[3, 16, 32], 1 / 32
    limit = support_limit(p)
    y = np.linspace(-limit, limit, 2_000_001)
    density = np.exp(-y * y / 2) / math.sqrt(2 * math.pi)
    levels = (np.array(values) - 8) * limit / 8
    low = np.clip(np.searchsorted(levels, y, side="right") - 1, 0, 6)
    integrand = (y - levels[low]) * (levels[low + 1] - y) * density
    assert np.trapezoid(integrand, y) == pytest.approx(rounding_variance(values, p), rel=1e-6)
    tail = np.linspace(limit, 12, 2_000_001)
    beyond = (tail - limit) ** 2 * np.exp(-tail * tail / 2) / math.sqrt(2 * math.pi)
    assert 2 * np.trapezoid(beyond, tail) == pytest.approx(clamping_error(p), rel=1e-6)


@pytest.mark.parametrize(("bits", "granularity"), [(2, 11), (2, 12), (3, 12)])
def test_brute_force_finds_nothing_better(bits: int, granularity: int) -> None:
    inner = itertools.combinations(range(1, granularity), 2**bits - 2)
    least = min(rounding_variance((0, *middle, granularity), 1 / 64) for middle in inner)
    assert rounding_variance(best_table(bits, granularity, 1 / 64), 1 / 64) == pytest.approx(least, abs=1e-11)


def test_width_without_a_table_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="too small for 16"):
        best_table(4, 14, 1 / 32)
    with pytest.raises(ConfigurationError, match="for codec thc-paper: expected 2, 3 or 4"):
        best_table(5, 64, 1 / 32)
    with pytest.raises(ConfigurationError, match=r"Invalid support parameter p=.*: expected 0 < p < 1"):
        support_limit(0)
