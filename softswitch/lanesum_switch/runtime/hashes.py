# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Hash and checksum algorithms of v1model's ``HashAlgorithm``, bit for bit as in BMv2.

Docstrings name each CRC as in the "Catalogue of parametrised CRC algorithms" (reveng.sourceforge.io/crc-catalogue).
"""

from __future__ import annotations

import binascii
import itertools
import random
import zlib
from collections.abc import Callable

HashFunction = Callable[[bytes], int]


def ones_complement_sum(number: int) -> int:
    """Return the RFC 1071 checksum of a whole number of 16-bit words, given as one int.

    2**16 is 1 modulo 65535, so the sum of the words with end-around carry is the int modulo 65535.
    """
    if number == 0:
        return 0xFFFF
    return 0xFFFE - (number - 1) % 0xFFFF


def csum16(data: bytes) -> int:
    """Return the RFC 1071 checksum; an odd last byte is the high byte of a word."""
    return ones_complement_sum(int.from_bytes(data + b"\0" if len(data) & 1 else data, "big"))


def _reflect(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2)


def _reflected_table(polynomial: int, bits: int) -> list[int]:
    reversed_polynomial = _reflect(polynomial, bits)
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (reversed_polynomial if byte & 1 else 0)
        table.append(byte)
    return table


_CRC16 = _reflected_table(0x8005, 16)
_CRC64 = _reflected_table(0x1B, 64)
_CRC8: list[int] = []
for _byte in range(256):
    for _ in range(8):
        _byte = (_byte << 1 ^ (0x07 if _byte & 0x80 else 0)) & 0xFF
    _CRC8.append(_byte)


def crc16(data: bytes) -> int:
    """Return the CRC-16/ARC."""
    remainder = 0
    for byte in data:
        remainder = remainder >> 8 ^ _CRC16[(remainder ^ byte) & 0xFF]
    return remainder


def crc32(data: bytes) -> int:
    """Return the CRC-32/ISO-HDLC (Ethernet)."""
    return zlib.crc32(data)


def crc64(data: bytes) -> int:
    """Return the CRC-64/GO-ISO without the final inversion, BMv2's default for crc64_custom."""
    remainder = 0
    for byte in data:
        remainder = remainder >> 8 ^ _CRC64[(remainder ^ byte) & 0xFF]
    return remainder


def crc8(data: bytes) -> int:
    """Return the CRC-8/SMBUS, BMv2's default for crc8_custom."""
    remainder = 0
    for byte in data:
        remainder = _CRC8[remainder ^ byte]
    return remainder


def crc_ccitt(data: bytes) -> int:
    """Return the CRC-16/IBM-3740."""
    return binascii.crc_hqx(data, 0xFFFF)


def _xor(data: bytes, size: int) -> int:
    padded = data + bytes(-len(data) % size)
    result = 0
    for start in range(0, len(padded), size):
        result ^= int.from_bytes(padded[start : start + size], "big")
    return result


def xor16(data: bytes) -> int:
    """Return the XOR of all 16-bit words; zeros pad the last one."""
    return _xor(data, 2)


def identity(data: bytes) -> int:
    """Return the first eight bytes as a big-endian int."""
    return int.from_bytes(data[:8], "big")


ROUND_ROBIN = "round_robin"


class RoundRobin:
    """Numbers from 0, one more for each packet. Each selector has one."""

    def __init__(self) -> None:
        self._next = itertools.count()

    def __call__(self, data: bytes) -> int:
        return next(self._next)


def hash_functions(rng: random.Random) -> dict[str, HashFunction]:
    """Return the functions by their name in the BMv2 JSON; ``random`` draws from ``rng``."""
    return {
        "crc16": crc16,
        "crc16_custom": crc16,
        "crc32": crc32,
        "crc32_custom": crc32,
        "crc64_custom": crc64,
        "crc8_custom": crc8,
        "crcCCITT": crc_ccitt,
        "csum16": csum16,
        "cksum16": csum16,
        "xor16": xor16,
        "xor8": lambda data: _xor(data, 1),
        "xor32": lambda data: _xor(data, 4),
        "xor64": lambda data: _xor(data, 8),
        "identity": identity,
        "random": lambda _: rng.getrandbits(32),
        ROUND_ROBIN: RoundRobin(),
    }
