# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Hash functions and checksums of v1model."""

from __future__ import annotations

import random

from hypothesis import example, given
from hypothesis import strategies as st

from lanesum_switch.runtime.hashes import crc16, crc32, crc_ccitt, csum16, hash_functions, identity, xor16
from tests.softswitch.ipv4_packets import plain_checksum

CHECK = b"123456789"


def test_hashes_give_check_values_of_crc_catalogue() -> None:
    assert crc16(CHECK) == 0xBB3D
    assert crc32(CHECK) == 0xCBF43926
    assert crc_ccitt(CHECK) == 0x29B1
    assert hash_functions(random.Random(0))["crc8_custom"](CHECK) == 0xF4
    assert identity(CHECK) == int.from_bytes(CHECK[:8], "big")
    assert xor16(b"\x12\x34\x01") == 0x1334


@given(st.binary(max_size=64))
@example(b"\xff\xff")
def test_csum16_equals_sum_of_words(data: bytes) -> None:
    assert csum16(data) == plain_checksum(data)
