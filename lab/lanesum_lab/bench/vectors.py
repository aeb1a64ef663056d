# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors of any worker that every process of a benchmark can compute, and their sums."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Codec
from lanesum_lab.codec_simulation import simulate

Vector = NDArray[np.float32]

# Vectors are made and summed in tiles: a multiple of the block of `fixed`, which treats blocks independently.
TILE = 1 << 20


def tile(worker: int, start: int, size: int) -> Vector:
    """Return ``size`` values of a worker's vector from ``start`` on, a multiple of ``TILE``."""
    count = min(TILE, size - start)
    values: Vector = np.random.default_rng((worker, start)).standard_normal(count, np.float32)
    return values


def vector(worker: int, size: int) -> Vector:
    """Return a worker's vector: normally distributed, different for every worker."""
    values = np.empty(size, np.float32)
    for start in range(0, size, TILE):
        values[start : start + TILE] = tile(worker, start, size)
    return values


@dataclass(frozen=True, slots=True)
class Sparse:
    """Positions of values: integers, so that their sum is exact in any order.

    Attributes:
        density: fraction of positions where some worker has a value.
        overlap: fraction of a worker's positions that all workers share; no other worker has its other positions.
    """

    density: float
    overlap: float


def sparse_vector(worker: int, workers: int, size: int, sparse: Sparse) -> Vector:
    """Return a worker's sparse vector; the positions of all workers derive from the same numbers."""
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
    """Return the digest of the result of ``fixed`` for all workers' vectors, computed without any network."""
    digest = hashlib.blake2b(digest_size=16)
    for start in range(0, size, TILE):
        tiles = [tile(worker, start, size) for worker in range(workers)]
        digest.update(simulate(codec, tiles, average=False, complete=True).values.data)
    return digest.hexdigest()


def digest_of(values: Vector) -> str:
    """Return a digest that is equal if all bits are."""
    return hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=16).hexdigest()


def error_of(values: Vector, workers: int) -> float:
    """Return the squared error of a sum over the squared sum, in the first values (at most ``TILE``)."""
    size = values.size
    right = sum(tile(worker, 0, size).astype(np.float64) for worker in range(workers))
    return float(np.sum((values[:TILE] - right) ** 2) / np.sum(np.square(right)))
