# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fewest bits with which any code reaches an error on recorded gradients, from the energies of their blocks.

Rotated coordinates of a block are modelled as independent normal values of the block's energy. Two bounds:

- The rate-distortion function, by reverse water-filling over the blocks: of a worker's vector for the uplink, and of
  the mean for the downlink. Codes of single coordinates cannot reach it, because it requires long vectors.
- The best width for each block of codes of single coordinates that a switch can add: dithered uniform grids of any
  number of levels, at their entropy-free bits, log2 of the levels and of the sums. Steps follow the mean energy of the
  workers, and there are no norms. So words are filled without a remainder, and ``thc`` needs more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.thc.grid import best_of

_BLOCK = 512
_LEVELS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256)
# Steps of a bisection in the logarithm of a multiplier.
_STEPS = 100


class Bounds(NamedTuple):
    """Bits of a coordinate. ``rate``: rate-distortion function. ``grid``: best grids with the fewest uplink bits."""

    rate_up: float
    rate_down: float
    grid_up: float
    grid_down: float


def bounds(vectors: list[NDArray[np.float32]], nmse: float) -> Bounds:
    """Return the bounds for the mean of the workers' ``vectors`` with this normalized mean squared error."""
    workers = len(vectors)
    padded = np.zeros((workers, -(-vectors[0].size // _BLOCK) * _BLOCK))
    padded[:, : vectors[0].size] = vectors
    blocks = padded.reshape(workers, -1, _BLOCK)
    own, mean = (blocks**2).sum(axis=2), (blocks.mean(axis=0) ** 2).sum(axis=1)
    target = nmse * float(mean.sum())
    rate_up, rate_down = _rate(own.reshape(-1), target * workers**2), _rate(mean, target)
    grids = [best_of([tuple(range(levels))], workers).error() for levels in _LEVELS]
    up = np.array([0.0, *(math.log2(levels) for levels in _LEVELS)])
    down = np.array([0.0, *(math.log2(workers * (levels - 1) + 1) for levels in _LEVELS)])
    errors = np.stack([mean, *(error * own.sum(axis=0) / workers**2 for error in grids)])
    low, high = 1e-12, 1e6
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        chosen = (errors / target + middle * up[:, None]).argmin(axis=0)
        fits = float(np.take_along_axis(errors, chosen[None], 0).sum()) <= target
        low, high = (middle, high) if fits else (low, middle)
    chosen = (errors / target + low * up[:, None]).argmin(axis=0)
    return Bounds(rate_up, rate_down, float(up[chosen].mean()), float(down[chosen].mean()))


def _rate(energies: NDArray[np.float64], target: float) -> float:
    """Return the bits of a coordinate with which the squared error is ``target``, by reverse water-filling."""
    low, high = 0.0, float(energies.max())
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if np.minimum(energies, middle).sum() > target else (middle, high)
    return float(np.log2(np.maximum(energies / low, 1)).mean() / 2)
