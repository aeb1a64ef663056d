# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors that every process of a benchmark can make for any worker, and what their sum must be."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Codec
from lanesum_lab.codec_simulation import simulate

Vector = NDArray[np.float32]

# Vectors are made and summed a piece at a time. A multiple of the block of `fixed`, which knows no more of a vector.
TILE = 1 << 20


def tile(worker: int, start: int, size: int) -> Vector:
    """``size`` values from ``start`` on, a multiple of ``TILE``, of a worker's vector."""
    count = min(TILE, size - start)
    values: Vector = np.random.default_rng((worker, start)).standard_normal(count, np.float32)
    return values


def vector(worker: int, size: int) -> Vector:
    """A worker's vector: normally distributed, another one for every worker."""
    values = np.empty(size, np.float32)
    for start in range(0, size, TILE):
        values[start : start + TILE] = tile(worker, start, size)
    return values


@dataclass(frozen=True, slots=True)
class Sparse:
    """Where workers have values: whole numbers, so that their sum is exact in whatever order.

    Attributes:
        density: share of places where some worker has one.
        overlap: share of a worker's places where all workers have one; at its other places nobody else has.
    """

    density: float
    overlap: float


def sparse_vector(worker: int, workers: int, size: int, sparse: Sparse) -> Vector:
    """A worker's vector with few values; the places of all workers come from the same numbers."""
    each = sparse.density / (sparse.overlap + workers * (1 - sparse.overlap))
    common, alone = each * sparse.overlap, each * (1 - sparse.overlap)
    values = np.empty(size, np.float32)
    for start in range(0, size, TILE):
        part = values[start : start + TILE]
        place = np.random.default_rng(start).random(part.size)
        first = common + worker * alone
        there = (place < common) | ((place >= first) & (place < first + alone))
        generator = np.random.default_rng((worker, start))
        part[:] = there * generator.integers(1, 1000, part.size) * generator.choice([-1, 1], part.size)
    return values


def fixed_sum(codec: Codec, workers: int, size: int) -> str:
    """Digest of what ``fixed`` must make of all workers' vectors, by the codec alone, without any network."""
    digest = hashlib.blake2b(digest_size=16)
    for start in range(0, size, TILE):
        tiles = [tile(worker, start, size) for worker in range(workers)]
        digest.update(simulate(codec, tiles, average=False, complete=True).values.data)
    return digest.hexdigest()


def digest_of(values: Vector) -> str:
    """Equal where all bits are."""
    return hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=16).hexdigest()


def error_of(values: Vector, workers: int) -> float:
    """Squared error of a sum over the squared sum, in the first values (at most ``TILE``)."""
    size = values.size
    right = sum(tile(worker, 0, size).astype(np.float64) for worker in range(workers))
    return float(np.sum((values[:TILE] - right) ** 2) / np.sum(np.square(right)))
