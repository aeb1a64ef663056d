# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors of any worker that every process of a benchmark can compute, and their sums."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Codec
from lanesum_lab.codec_simulation import simulate

Vector = NDArray[np.float32]

#: Models whose gradients :func:`record` writes.
MODELS = ("digits", "transformer", "large_transformer", "word_transformer", "words")
# Vectors are made and summed in tiles: a multiple of the block of `fixed`, which treats blocks independently.
TILE = 1 << 20


def record(model: str, workers: int, folder: Path) -> Path:
    """Write the gradients of a model to a file in ``folder``, one row for each worker. Needs PyTorch.

    ``model``: one of ``MODELS``.
    """
    from lanesum_lab.bench import gradients

    path = folder / f"{model}.npy"
    np.save(path, np.array(gradients.recorded(model, workers, 1)[0]))
    return path


def tile(worker: int, start: int, size: int, recorded: Path | None = None) -> Vector:
    """Return values of a worker's vector of ``size`` from ``start`` on, a multiple of ``TILE``.

    They are normally distributed, or ``recorded`` gradients again and again; different for every worker.
    """
    count = min(TILE, size - start)
    if recorded is not None:
        rows = np.load(recorded, mmap_mode="r")
        repeated: Vector = np.take(rows[worker], np.arange(start, start + count), mode="wrap")
        return repeated
    values: Vector = np.random.default_rng((worker, start)).standard_normal(count, np.float32)
    return values


def vector(worker: int, size: int, recorded: Path | None = None) -> Vector:
    """Return a worker's vector (see :func:`tile`)."""
    values = np.empty(size, np.float32)
    for start in range(0, size, TILE):
        values[start : start + TILE] = tile(worker, start, size, recorded)
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


def fixed_sum(codec: Codec, workers: int, size: int, recorded: Path | None = None) -> str:
    """Return the digest of the result of ``fixed`` for all workers' vectors, computed without any network."""
    digest = hashlib.blake2b(digest_size=16)
    for start in range(0, size, TILE):
        tiles = [tile(worker, start, size, recorded) for worker in range(workers)]
        digest.update(simulate(codec, tiles, average=False, complete=True).values.data)
    return digest.hexdigest()


def digest_of(values: Vector) -> str:
    """Return a digest that is equal if all bits are."""
    return hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=16).hexdigest()


def error_of(values: Vector, workers: int, recorded: Path | None = None) -> float:
    """Return the squared error of a sum over the squared sum, in the first values (at most ``TILE``)."""
    size = values.size
    right = sum(tile(worker, 0, size, recorded).astype(np.float64) for worker in range(workers))
    return float(np.sum((values[:TILE] - right) ** 2) / np.sum(np.square(right)))
