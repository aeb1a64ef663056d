# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Bit fields of equal width, packed into 32-bit words.

Fields that are wide enough for a sum are added by one 32-bit addition, without a carry between fields.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Words
from lanesum.protocol.lanes import WORD_BITS


def field_words(count: int, bits: int) -> int:
    """Return the number of words of ``count`` fields of ``bits`` bits."""
    return -(-count // (WORD_BITS // bits))


def pack_fields(numbers: NDArray[np.uint32], bits: int) -> Words:
    """Pack ``numbers`` (below ``2**bits``) into words: number i is in word i // (32 // bits), low bits first."""
    each = WORD_BITS // bits
    words = np.zeros(field_words(numbers.size, bits), np.uint32)
    for position in range(each):
        some = numbers[position::each]
        words[: some.size] |= some << np.uint32(position * bits)
    return words


def unpack_fields(words: Words, bits: int, count: int) -> NDArray[np.uint32]:
    """Return the first ``count`` numbers of ``words``."""
    each = WORD_BITS // bits
    mask = np.uint32((1 << bits) - 1)
    numbers = np.empty(words.size * each, np.uint32)
    for position in range(each):
        numbers[position::each] = words >> np.uint32(position * bits) & mask
    return numbers[:count]


def pack_bits(numbers: NDArray[np.uint32], bits: int) -> NDArray[np.uint8]:
    """Return ``numbers`` (below ``2**bits``) as a stream of bits (uint8, 0 or 1) without padding."""
    return (numbers[:, None] >> np.arange(bits, dtype=np.uint32) & np.uint32(1)).astype(np.uint8).reshape(-1)


def unpack_bits(stream: NDArray[np.uint8], bits: int) -> NDArray[np.uint32]:
    """Return the numbers of a stream of :func:`pack_bits`."""
    shifted = stream.reshape(-1, bits).astype(np.uint32) << np.arange(bits, dtype=np.uint32)
    numbers: NDArray[np.uint32] = np.bitwise_or.reduce(shifted, axis=1)
    return numbers


def bits_to_words(stream: NDArray[np.uint8]) -> Words:
    """Pack bits into words, the last one padded with zeros."""
    words = np.zeros(-(-stream.size // WORD_BITS) * (WORD_BITS // 8), np.uint8)
    packed = np.packbits(stream, bitorder="little")
    words[: packed.size] = packed
    return words.view("<u4").astype(np.uint32)


def words_to_bits(words: Words, count: int) -> NDArray[np.uint8]:
    """Return the first ``count`` bits of :func:`bits_to_words`."""
    return np.unpackbits(words.astype("<u4").view(np.uint8), count=count, bitorder="little")
