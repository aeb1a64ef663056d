# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of vectorized lookups."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lanesum_switch.compiler.lane_code import shift_table


@given(st.integers(0, 2**128 - 1), st.integers(0, 255))
def test_shift_table_equals_plain_shifts(number: int, mask: int) -> None:
    assert list(shift_table(number, mask)) == [number >> i & mask for i in range(256)]
