# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packet headers: Python and C++ have the same layout."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanesum.protocol.packet import Header
from lanesum.protocol.spec import HEADER, HEADER_BYTES

headers = st.builds(Header, **{field.name: st.integers(0, (1 << field.bits) - 1) for field in HEADER})


@given(header=headers)
def test_header_is_the_same_in_both_languages(native: Any, header: Header) -> None:
    packed = header.pack()
    assert native.header_fields(packed) == dataclasses.asdict(header)
    assert native.repack_header(packed) == packed


def test_header_of_too_few_bytes_raises(native: Any) -> None:
    with pytest.raises(ValueError, match="shorter than a header"):
        native.header_fields(bytes(HEADER_BYTES - 1))
