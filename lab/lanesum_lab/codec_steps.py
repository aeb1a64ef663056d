# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of codecs: checks of vectors, gathered messages, random rounding, steps of another codec, and bit fields.

Fields that are wide enough for a sum are added by one 32-bit addition, without a carry between fields.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecContext, CodecError, Result, Round, Steps, Vector, Words, never
from lanesum.codecs.checks import checked_vector, refuse_not_finite, summed
from lanesum.codecs.gathered import gathered_shape, gathering
from lanesum.codecs.kernels.dispatch import kernels
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import WORD_BITS
from lanesum.protocol.spec import MAX_RACKS, MAX_WORKERS

#: Positions and counts are 32-bit integers.
MAX_VALUES = 2**31 - 1


def checked_workers(name: str, workers: int) -> int:
    """Return ``workers``. Raises ConfigurationError if no job can have so many."""
    if not 1 <= workers <= MAX_WORKERS * MAX_RACKS:
        raise ConfigurationError(
            f"Invalid workers={workers} for codec {name}: expected an integer from 1 to {MAX_WORKERS * MAX_RACKS}."
        )
    return workers


def finite_vector(x: Vector, context: CodecContext, workers: int) -> Vector:
    """Return ``x`` as a contiguous vector of finite values.

    Raises CodecError as :meth:`lanesum.codecs.base.Codec.all_reduce` does, and for too many values.
    """
    if isinstance(x, np.ndarray) and x.size > MAX_VALUES:
        raise CodecError(
            f"{x.size:,} values are more than the {MAX_VALUES:,} of one vector.", "Reduce the tensor in pieces."
        )
    vector = checked_vector(x, context, workers)
    if not np.isfinite(vector).all():
        refuse_not_finite(vector, context)
    return vector


def gather(
    message: Words, workers: int, context: CodecContext, label: str = "values", last: Callable[[], bool] = never
) -> Generator[Round, Any, Words]:
    """Send ``message`` (uint32), and return the messages of all workers, shape (workers, message.size).

    All messages have the same length. ``workers``: of the codec. ``last``: see :class:`lanesum.codecs.base.Round`.
    Raises CodecError if a worker is missing in the sum.
    """
    reply = yield gathering(message, workers, context, label, last)
    return summed(reply, gathered_shape(message.size, workers), context).reshape(workers, -1)


def sum_in_order(vectors: NDArray[np.float32], context: CodecContext) -> Vector:
    """Return the sum or mean of the rows of ``vectors``, added in float64 in order, and rounded once to float32."""
    values = np.empty(vectors.shape[1], np.float32)
    if values.size:
        kernels().sum_rows(vectors[: context.workers].reshape(-1), context.divisor, values)
    return values


def rounded(total: NDArray[np.float64], context: CodecContext) -> Vector:
    """Return a sum (float64, may be overwritten) as float32, or the mean if the context asks for it."""
    total /= context.divisor
    # A sum (not a mean) can leave the range of float32; infinity is then its correct rounding.
    with np.errstate(over="ignore"):
        return total.astype(np.float32)


def watched(steps: Steps, look: Callable[[Round], None]) -> Steps:
    """Run ``steps``, and call ``look`` with every round before it is yielded."""
    try:
        yielded = next(steps)
        while True:
            for one in yielded.rounds:
                look(one)
            yielded = steps.send((yield yielded))
    except StopIteration as stop:
        result: Result = stop.value
        return result


def followed(steps: Steps) -> Steps:
    """Run the ``steps`` of an inner codec whose rounds are followed by others: none of them is the last."""

    def mark(round_: Round) -> None:
        round_.last = never

    return watched(steps, mark)


def uniforms(words: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Map words to float32 in [0, 1): the upper 24 bits, which are exact, in steps of 2**-24."""
    return (words >> np.uint32(8)).astype(np.float32) * np.float32(2**-24)


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
