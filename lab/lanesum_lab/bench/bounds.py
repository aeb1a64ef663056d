# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fewest bits with which any code reaches an error on recorded gradients, from the energies of their blocks.

Rotated coordinates of a block are modelled as independent normal values of the block's energy, and the errors of the
workers as independent. ``docs/codec-thc.md`` has the derivation. Three bounds:

- The rate-distortion function, by reverse water-filling over the blocks: of a worker's vector for the uplink, and of
  the mean for the downlink. Codes of single coordinates cannot reach it, because it requires long vectors.
- Codes of single coordinates, with any levels: those of Lloyd and Max. A switch cannot add their codes.
- Codes of single coordinates that a switch can add: uniform grids, whose codes and sums have log2 of their numbers of
  values. Steps follow the mean energy of the workers, and words are filled without a remainder, so ``thc`` needs more.

The last two choose a number of levels for each block, and the best length of all blocks. A block has a norm of a word.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.spec import WORD_BYTES
from lanesum_lab.baselines.eden import level_error

_Energies = NDArray[np.float64]
# Blocks of the rate-distortion function, and of the other bounds.
_BLOCK, _BLOCKS = 512, (64, 128, 256, 512, 1024, 2048, 4096)
_LEVELS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256)
# Steps of grids that are compared, in standard deviations.
_GRID_STEPS = np.geomspace(0.01, 2, 200)
# Steps of a bisection in the logarithm of a multiplier.
_STEPS = 100


class Bounds(NamedTuple):
    """Bits of a coordinate.

    Attributes:
        rate_up: rate-distortion function of a worker's vector.
        rate_down: rate-distortion function of the mean.
        scalar_up: fewest uplink bits of codes of single coordinates.
        grid_up: fewest uplink bits of uniform grids.
        grid_down: downlink bits of the same grids.
    """

    rate_up: float
    rate_down: float
    scalar_up: float
    grid_up: float
    grid_down: float


def bounds(vectors: list[NDArray[np.float32]], nmse: float) -> Bounds:
    """Return the bounds for the mean of the workers' ``vectors`` with this normalized mean squared error."""
    workers = len(vectors)
    own, mean = _energies(vectors, _BLOCK)
    target = nmse * float(mean.sum())
    rate_up, rate_down = _rate(own.reshape(-1), target * workers**2), _rate(mean, target)
    scalar = _fewest(vectors, target, [level_error(levels) for levels in _LEVELS])
    grid = _fewest(vectors, target, [rounding_error(levels) for levels in _LEVELS])
    return Bounds(rate_up, rate_down, scalar[0], *grid)


@lru_cache(maxsize=len(_LEVELS))
def rounding_error(levels: int) -> float:
    """Return the least squared error of a standard normal value that is rounded to one of equally spaced levels.

    Source: Max, "Quantizing for minimum distortion" (1960), table II.
    """
    normal, errors = NormalDist(), []
    for step in _GRID_STEPS.tolist():
        # A value above the limit of two levels is rounded to the upper one, whose square and product it changes.
        limits = [(number - levels / 2) * step for number in range(1, levels)]
        outermost = (levels - 1) / 2 * step
        squares = outermost**2 + sum(2 * step * limit * normal.cdf(-limit) for limit in limits)
        products = sum(step * normal.pdf(limit) for limit in limits)
        errors.append(1 - 2 * products + squares)
    return min(errors)


def _energies(vectors: list[NDArray[np.float32]], block: int) -> tuple[_Energies, _Energies]:
    """Return the energies of the blocks of each vector, shape (workers, blocks), and of their mean."""
    padded = np.zeros((len(vectors), -(-vectors[0].size // block) * block))
    padded[:, : vectors[0].size] = vectors
    blocks = padded.reshape(len(vectors), -1, block)
    return (blocks**2).sum(axis=2), (blocks.mean(axis=0) ** 2).sum(axis=1)


def _fewest(vectors: list[NDArray[np.float32]], target: float, errors: list[float]) -> tuple[float, float]:
    """Return the fewest uplink bits, and the downlink bits with them, of codes with these errors for ``_LEVELS``."""
    workers, found = len(vectors), []
    up = np.array([0.0, *(math.log2(levels) for levels in _LEVELS)])
    down = np.array([0.0, *(math.log2(workers * (levels - 1) + 1) for levels in _LEVELS)])
    for block in _BLOCKS:
        own, mean = _energies(vectors, block)
        left = np.stack([mean, *(error * own.sum(axis=0) / workers**2 for error in errors)])
        low, high = 1e-12, 1e6
        for _ in range(_STEPS):
            middle = math.sqrt(low * high)
            chosen = (left / target + middle * up[:, None]).argmin(axis=0)
            fits = float(np.take_along_axis(left, chosen[None], 0).sum()) <= target
            low, high = (middle, high) if fits else (low, middle)
        chosen = (left / target + low * up[:, None]).argmin(axis=0)
        norms = 8 * WORD_BYTES / block
        found.append((float(up[chosen].mean()) + norms, float(down[chosen].mean()) + norms))
    return min(found)


def _rate(energies: _Energies, target: float) -> float:
    """Return the bits of a coordinate with which the squared error is ``target``, by reverse water-filling."""
    low, high = 0.0, float(energies.max())
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if np.minimum(energies, middle).sum() > target else (middle, high)
    return float(np.log2(np.maximum(energies / low, 1)).mean() / 2)
