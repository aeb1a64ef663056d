# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Hash functions and checksums of v1model."""

from __future__ import annotations

import binascii
import random
import zlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lanesum_switch.runtime.hashes import CRC32, Crc, csum16, hash_functions, identity, xor16
from tests.softswitch.ipv4_packets import plain_checksum

CHECK = b"123456789"


def test_hashes_give_check_values_of_crc_catalogue() -> None:
    functions = hash_functions(random.Random(0))
    checks = {"crc8_custom": 0xF4, "crc16": 0xBB3D, "crc32": 0xCBF43926, "crcCCITT": 0x29B1}
    assert {name: functions[name](CHECK) for name in checks} == checks
    assert identity(CHECK) == int.from_bytes(CHECK[:8], "big")
    assert xor16(b"\x12\x34\x01") == 0x1334


@pytest.mark.parametrize(
    ("crc", "check"),
    [
        (Crc(8, 0x07), 0xF4),
        (Crc(16, 0x8005, True), 0xBB3D),
        (Crc(16, 0x1021, False, 0xFFFF), 0x29B1),
        (Crc(32, 0x04C11DB7, True, 0xFFFFFFFF, 0xFFFFFFFF), 0xCBF43926),
        (Crc(32, 0x1EDC6F41, True, 0xFFFFFFFF, 0xFFFFFFFF), 0xE3069283),
        (Crc(64, 0x42F0E1EBA9EA3693), 0x6C40DF5F0B497347),
        (Crc(64, 0x1B, True, (1 << 64) - 1, (1 << 64) - 1), 0xB90956C775A41001),
        (Crc(3, 0x3, False, 0, 0x7), 0x4),
        (Crc(5, 0x05, True, 0x1F, 0x1F), 0x19),
    ],
)
def test_crcs_have_the_catalogues_check_values(crc: Crc, check: int) -> None:
    assert crc(CHECK) == check
    assert Crc(16, 0x1021, False, 0xFFFF)(b"lanesum") == binascii.crc_hqx(b"lanesum", 0xFFFF)
    assert CRC32(b"lanesum") == zlib.crc32(b"lanesum")


@given(st.binary(max_size=64))
@example(b"\xff\xff")
def test_csum16_equals_sum_of_words(data: bytes) -> None:
    assert csum16(data) == plain_checksum(data)
