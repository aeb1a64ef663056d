# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``eden``: a rotation and a scale of each worker's own, and the best levels for normal values.

EDEN (Vargaftik et al., ICML 2022) with whole bits. The squared error is D / (1 - D) of the energy of each block, where
D is that of the levels: so its error depends neither on the distribution of the values nor on the length of a block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecContext, Result, RoundShape, Steps, Vector, Words
from lanesum.codecs.gathered import gathered_shape
from lanesum.codecs.kernels.hadamard import hadamard_transform
from lanesum.codecs.kernels.philox import RandomStream, expand_signs, random_words
from lanesum.codecs.norms import non_negative
from lanesum.codecs.registry import register
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import WORD_BITS
from lanesum_lab.codec_steps import (
    checked_workers,
    field_words,
    finite_vector,
    gather,
    pack_fields,
    rounded,
    unpack_fields,
)

_MAX_BITS = 8
# Coordinates of the shortest block: the values of a shorter one are not normal after the rotation.
_MIN_BLOCK = 32
# More iterations change the error of 8 bits by less than a hundredth.
_ITERATIONS = 200


@lru_cache(maxsize=32)
def lloyd_max(count: int) -> tuple[float, ...]:
    """Return the ``count`` levels of least squared error for a standard normal value, in increasing order.

    Lloyd's iteration: a level is the mean of the values that are nearest to it. Source: Lloyd, "Least squares
    quantization in PCM" (1982); it starts from the levels that are best for many bits.
    """
    normal, start = NormalDist(), NormalDist(sigma=math.sqrt(3))
    levels = [start.inv_cdf((number + 0.5) / count) for number in range(count)]
    for _ in range(_ITERATIONS):
        limits = [-math.inf, *((low + high) / 2 for low, high in pairwise(levels)), math.inf]
        tails = [(normal.pdf(limit), normal.cdf(limit)) for limit in limits[1:-1]]
        tails = [(0.0, 0.0), *tails, (0.0, 1.0)]
        levels = [(low[0] - high[0]) / (high[1] - low[1]) for low, high in pairwise(tails)]
    return tuple(levels)


def level_error(count: int) -> float:
    """Return D, the squared error of :func:`lloyd_max` for a standard normal value."""
    normal, levels = NormalDist(), lloyd_max(count)
    shares = [0.0, *(normal.cdf((low + high) / 2) for low, high in pairwise(levels)), 1.0]
    return 1 - sum(level**2 * (high - low) for level, (low, high) in zip(levels, pairwise(shares), strict=True))


class EDEN:
    """Codes of ``bits`` bits of rotated values, and one unbiased scale for each ``block`` coordinates.

    Each worker rotates its blocks with random signs of its own and a Hadamard transform. In units of its standard
    deviation a block is nearly normal, and each coordinate is rounded to the nearest of the best levels. The block is
    restored as the levels, rotated back, times ``|x|**2 / <rotated x, levels>``. That scale removes the bias.

    Rotations and scales of the workers differ, so codes cannot be added. Wire: for n workers, n times a word per block
    and the codes, uplink and downlink.
    """

    name = "eden"
    code_table: NDArray[np.uint8] | None = None

    def __init__(self, *, workers: int, bits: int = 4, block: int = 4096) -> None:
        if not 1 <= bits <= _MAX_BITS:
            raise ConfigurationError(f"Invalid bits={bits} for codec eden: expected an integer from 1 to {_MAX_BITS}.")
        if block < _MIN_BLOCK or block & (block - 1):
            raise ConfigurationError(
                f"Invalid block={block} for codec eden: expected a power of two from {_MIN_BLOCK}."
            )
        self.workers = checked_workers(self.name, workers)
        self.bits = bits
        self.block = block
        self._levels = np.array(lloyd_max(1 << bits), np.float32)
        self._limits = (self._levels[1:] + self._levels[:-1]) / 2
        error = level_error(1 << bits)
        # A tenth more for blocks that are only nearly normal.
        self.traits = CodecTraits(needs_all_workers=True, packs_values=True, max_nmse=1.1 * error / (1 - error))

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        return f"{self.name} workers={self.workers} bits={self.bits} block={self.block}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return one round; none for an empty vector."""
        if not size:
            return ()
        words = -(-size // self.block) + field_words(self._padded(size), self.bits)
        return (gathered_shape(words, self.workers),)

    def _padded(self, size: int) -> int:
        """Return the number of coordinates; the last block is padded to a power of two."""
        rest = size % self.block
        return size - rest + (max(_MIN_BLOCK, 1 << (rest - 1).bit_length()) if rest else 0)

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`: one round, ``values``."""
        vector = finite_vector(x, context, self.workers)
        if vector.size == 0:
            return Result(vector.copy(), vector.copy() if context.keep_residual else None)
        message = self._encoded(vector, context)
        messages = yield from gather(message, self.workers, context)
        total = np.zeros(vector.size)
        for worker, words in enumerate(messages[: context.workers]):
            total += self._decoded(words, vector.size, worker, context)
        residual = None
        if context.keep_residual:
            residual = (vector - self._decoded(message, vector.size, context.worker, context)).astype(np.float32)
        return Result(rounded(total, context), residual)

    def _encoded(self, vector: Vector, context: CodecContext) -> Words:
        values = np.zeros(self._padded(vector.size), np.float32)
        values[: vector.size] = vector
        scales, codes = [], np.empty(values.size, np.uint32)
        signs = self._signs(values.size, context.worker, context)
        for part in self._parts(values.size):
            blocks = values[part].reshape(-1, min(self.block, part.stop - part.start))
            norms = np.sqrt(np.sum(np.square(blocks, dtype=np.float64), axis=1))
            with np.errstate(invalid="ignore"):
                units = np.where(norms[:, None] > 0, blocks / norms[:, None], 0).astype(np.float32)
            rotated = units.reshape(-1) * signs[part]
            hadamard_transform(rotated, blocks.shape[1])
            codes[part] = np.searchsorted(self._limits, rotated)
            levels = self._levels[codes[part]].astype(np.float64)
            scales.append(norms / np.sum((rotated * levels).reshape(blocks.shape), axis=1).clip(1e-30))
        return np.concatenate(
            (np.concatenate(scales).astype(np.float32).view(np.uint32), pack_fields(codes, self.bits))
        )

    def _decoded(self, words: Words, size: int, worker: int, context: CodecContext) -> NDArray[np.float64]:
        scales = non_negative(words[: -(-size // self.block)], "scales").astype(np.float64)
        rotated = self._levels[unpack_fields(words[scales.size :], self.bits, self._padded(size))]
        for part in self._parts(rotated.size):
            hadamard_transform(rotated[part], min(self.block, part.stop - part.start))
        rotated *= self._signs(rotated.size, worker, context)
        return rotated[:size] * np.repeat(scales, min(self.block, size))[:size]

    def _parts(self, padded: int) -> Iterator[slice]:
        """Yield the coordinates of whole blocks, and those of a shorter last one."""
        whole = padded // self.block * self.block
        if whole:
            yield slice(0, whole)
        if padded > whole:
            yield slice(whole, padded)

    @staticmethod
    def _signs(count: int, worker: int, context: CodecContext) -> NDArray[np.float32]:
        # Chunk 1 of the counter: chunk 0 of the first worker is the diagonal that all workers of thc share.
        words = random_words(
            -(-count // WORD_BITS),
            seed=context.seed,
            stream=RandomStream.DIAGONAL,
            worker=worker,
            round=context.round,
            chunk=1,
        )
        return expand_signs(words, count)


register("eden", EDEN)
