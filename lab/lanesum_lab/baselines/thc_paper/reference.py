# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""NumPy reference of the kernels of ``thc-paper``; the native extension has the same bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.combine import expand
from lanesum.codecs.kernels.hadamard import hadamard_transform
from lanesum.codecs.kernels.interface import Rotation
from lanesum.codecs.kernels.packing import pack, unpack_lanes
from lanesum.codecs.kernels.philox import expand_signs, random_words
from lanesum.codecs.kernels.reference import FLOAT32_MAX
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.codec_steps import uniforms

#: Coordinates in a word of codes, and in one of lanes.
CODES_PER_WORD, LANES_PER_WORD = 8, 4
LANE_MAX = 255


class RandomKey(NamedTuple):
    """Name of a stream of random words; see :mod:`lanesum.codecs.kernels.philox`.

    ``round`` counts modulo 2**32.
    """

    seed: int
    stream: int
    worker: int
    round: int
    chunk: int


class Scale(NamedTuple):
    """Factors that are applied in turn, and the largest magnitude of a result (infinity: no limit)."""

    factors: tuple[float, float, float]
    limit: float


class LaneContributors(NamedTuple):
    """Number of workers in the lanes of a sum.

    Attributes:
        offset: excess of the lanes over the sum of levels around 0, in half steps; of one worker where ``counts`` is
            given, else of all.
        counts: workers in each accumulator word (float32); None where all words have the same.
        average: sums are divided by ``counts``.
    """

    offset: float
    counts: NDArray[np.float32] | None
    average: bool


# Coordinates quantized at once, so that temporary arrays fit the cache.
_TILE = 1 << 16


def rotate(
    values: NDArray[np.float32],
    powers: tuple[float, float],
    rotation: Rotation,
    out: NDArray[np.float32],
) -> None:
    """Rotate ``values``, padded with zeros to ``out.size`` and multiplied by both ``powers`` of two."""
    out[: values.size] = values
    out[values.size :] = 0
    _multiply(out, powers)
    out *= expand_signs(rotation.signs, out.size)
    hadamard_transform(out, rotation.block)


def quantize(
    rotated: NDArray[np.float32],
    factor: float,
    cells: NDArray[np.uint32],
    key: RandomKey,
    words: NDArray[np.uint32],
) -> None:
    """Round ``rotated * factor`` at random to one of the two next levels, without bias, and pack their codes.

    Values are clamped to plus and minus half the granularity first. ``cells``: for every unit cell from 0 to the
    granularity, inclusive, the level below in bits 0 to 7, the gap to the next one in bits 8 to 15, and the code of the
    level below in bits 16 to 23.
    """
    granularity = np.float32(cells.size - 1)
    half = granularity / np.float32(2)
    level_below = (cells & np.uint32(0xFF)).astype(np.float32)
    gap = (cells >> np.uint32(8) & np.uint32(0xFF)).astype(np.float32)
    code_below = (cells >> np.uint32(16)).astype(np.uint8)
    dither = uniforms(random_words(rotated.size, **key._asdict()))
    codes = np.empty(rotated.size, dtype=np.uint8)
    for start in range(0, rotated.size, _TILE):
        tile = slice(start, start + _TILE)
        position = np.clip(rotated[tile] * np.float32(factor) + half, 0, granularity)
        cell = position.astype(np.intp)
        position -= level_below[cell]
        up = position > dither[tile] * gap[cell]
        np.add(code_below[cell], up, out=codes[tile])
    words[...] = pack(LaneOp.EXPAND8, codes)


def decode(
    lanes: NDArray[np.uint32],
    contributors: LaneContributors,
    rotation: Rotation,
    scale: Scale,
    scratch: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """Decode sums of levels to the ``out.size`` values of a chunk.

    The result is twice the lanes, minus the offset of the contributors, rotated back and scaled. ``scratch``: as long
    as the padded chunk. It may be ``out`` where that is as long.
    """
    y = scratch[: lanes.size * LANES_PER_WORD]
    np.multiply(unpack_lanes(lanes), np.float32(2), out=y, dtype=np.float32)
    if contributors.counts is None:
        y -= np.float32(contributors.offset)
    else:
        per_lane = np.repeat(contributors.counts, LANES_PER_WORD)
        y -= per_lane * np.float32(contributors.offset)
        if contributors.average:
            y /= per_lane
    _rotate_back(y, rotation, scale)
    out[...] = y[: out.size]


def residual(
    values: NDArray[np.float32],
    codes: NDArray[np.uint32],
    levels: NDArray[np.float32],
    included: NDArray[np.uint8] | None,
    rotation: Rotation,
    scale: Scale,
    scratch: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """Subtract the decoding of this worker's own codes from ``values``; cut to the range of float32.

    ``levels``: of the 16 codes, in halves of a step around 0. ``included``: for each accumulator word 1 where its codes
    were summed, else 0; None where all were. ``scratch``: as in :func:`decode`.
    """
    y = scratch[: codes.size * 2 * LANES_PER_WORD]
    np.take(levels, unpack_lanes(expand(LaneOp.EXPAND8, codes)), out=y)
    if included is not None:
        y *= np.repeat(included, LANES_PER_WORD)
    _rotate_back(y, rotation, scale)
    with np.errstate(over="ignore"):
        np.subtract(values, y[: values.size], out=out)
    np.clip(out, -FLOAT32_MAX, FLOAT32_MAX, out=out)


def _rotate_back(y: NDArray[np.float32], rotation: Rotation, scale: Scale) -> None:
    hadamard_transform(y, rotation.block)
    y *= expand_signs(rotation.signs, y.size)
    with np.errstate(over="ignore"):
        _multiply(y, scale.factors)
    if np.isfinite(scale.limit):
        np.clip(y, -scale.limit, scale.limit, out=y)


def _multiply(y: NDArray[np.float32], factors: tuple[float, ...]) -> None:
    for factor in factors:
        if factor != 1:
            y *= np.float32(factor)
