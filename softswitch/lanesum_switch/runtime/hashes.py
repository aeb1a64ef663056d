# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Hash and checksum algorithms of v1model's ``HashAlgorithm``, bit for bit as in BMv2.

CRCs have their names in the "Catalogue of parametrised CRC algorithms" (reveng.sourceforge.io/crc-catalogue).
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


class Crc:
    """A CRC with the parameters of the catalogue, computed byte by byte from a table.

    Args:
        width: bits of the result.
        polynomial: its bits without the highest one.
        reflected: bits are processed from the lowest up.
        initial: remainder before the first byte.
        final: XORed with the last remainder.

    Attributes:
        key: name of the algorithm.
    """

    def __init__(self, width: int, polynomial: int, reflected: bool = False, initial: int = 0, final: int = 0) -> None:
        self.key = f"crc{width}_{polynomial:x}_{reflected:d}_{initial:x}_{final:x}"
        self._reflected, self._final = reflected, final
        # A remainder of less than a byte that is not reflected is kept in the high bits of one.
        self._spare = 0 if reflected else max(0, 8 - width)
        self._width = width + self._spare
        self._initial = _reflect(initial, width) if reflected else initial << self._spare
        polynomial = _reflect(polynomial, width) if reflected else polynomial << self._spare
        self._table = [self._entry(byte, polynomial) for byte in range(256)]

    def _entry(self, byte: int, polynomial: int) -> int:
        remainder = byte if self._reflected else byte << self._width - 8
        for _ in range(8):
            if self._reflected:
                remainder = remainder >> 1 ^ (polynomial if remainder & 1 else 0)
            else:
                carry = remainder >> self._width - 1
                remainder = (remainder << 1 & (1 << self._width) - 1) ^ (polynomial if carry else 0)
        return remainder

    def __call__(self, data: bytes) -> int:
        """Return the CRC of ``data``."""
        remainder, table = self._initial, self._table
        if self._reflected:
            for byte in data:
                remainder = remainder >> 8 ^ table[(remainder ^ byte) & 0xFF]
        else:
            shift, kept = self._width - 8, (1 << self._width - 8) - 1
            for byte in data:
                remainder = (remainder & kept) << 8 ^ table[remainder >> shift ^ byte]
        return remainder >> self._spare ^ self._final


CRC8 = Crc(8, 0x07)  # CRC-8/SMBUS, BMv2's default for crc8_custom
CRC16 = Crc(16, 0x8005, reflected=True)  # CRC-16/ARC
CRC32 = Crc(32, 0x04C11DB7, reflected=True, initial=0xFFFFFFFF, final=0xFFFFFFFF)  # CRC-32/ISO-HDLC
CRC64 = Crc(64, 0x1B, reflected=True)  # CRC-64/GO-ISO without the final inversion, BMv2's default for crc64_custom


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
        "crc16": CRC16,
        "crc16_custom": CRC16,
        "crc32": zlib.crc32,
        "crc32_custom": zlib.crc32,
        "crc64_custom": CRC64,
        "crc8_custom": CRC8,
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
