# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Small whole numbers side by side in 32-bit words.

A *field* has the same width everywhere, and as many as fit are in a word. Fields that are wide enough for a sum are
added by an ordinary 32-bit addition without a carry from one into the next.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Words
from lanesum.protocol.lanes import WORD_BITS


def field_words(count: int, bits: int) -> int:
    """Words that ``count`` fields of ``bits`` bits take."""
    return -(-count // (WORD_BITS // bits))


def pack_fields(numbers: NDArray[np.uint32], bits: int) -> Words:
    """Put ``numbers`` (below ``2**bits``) into words; number i is in word i // (32 // bits), low bits first."""
    each = WORD_BITS // bits
    words = np.zeros(field_words(numbers.size, bits), np.uint32)
    for place in range(each):
        some = numbers[place::each]
        words[: some.size] |= some << np.uint32(place * bits)
    return words


def unpack_fields(words: Words, bits: int, count: int) -> NDArray[np.uint32]:
    """The first ``count`` numbers of ``words``."""
    each = WORD_BITS // bits
    mask = np.uint32((1 << bits) - 1)
    numbers = np.empty(words.size * each, np.uint32)
    for place in range(each):
        numbers[place::each] = words >> np.uint32(place * bits) & mask
    return numbers[:count]


def pack_bits(numbers: NDArray[np.uint32], bits: int) -> NDArray[np.uint8]:
    """``numbers`` (below ``2**bits``) one right after the other, as bits (uint8, 0 or 1): nothing is left over."""
    return (numbers[:, None] >> np.arange(bits, dtype=np.uint32) & np.uint32(1)).astype(np.uint8).reshape(-1)


def unpack_bits(stream: NDArray[np.uint8], bits: int) -> NDArray[np.uint32]:
    """The numbers of :func:`pack_bits`."""
    places = stream.reshape(-1, bits).astype(np.uint32) << np.arange(bits, dtype=np.uint32)
    return np.bitwise_or.reduce(places, axis=1)


def bits_to_words(stream: NDArray[np.uint8]) -> Words:
    """Bits as words, the last one filled up with zeros."""
    words = np.zeros(-(-stream.size // WORD_BITS) * (WORD_BITS // 8), np.uint8)
    packed = np.packbits(stream, bitorder="little")
    words[: packed.size] = packed
    return words.view("<u4").astype(np.uint32)


def words_to_bits(words: Words, count: int) -> NDArray[np.uint8]:
    """The first ``count`` bits of :func:`bits_to_words`."""
    return np.unpackbits(words.astype("<u4").view(np.uint8), count=count, bitorder="little")
