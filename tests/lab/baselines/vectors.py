# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors of known distributions, one of each for every seed."""

from __future__ import annotations

import numpy as np

NAMES = ("none", "fp16", "bf16", "topk", "dgc", "eden", "powersgd")


def drawn(kind: str, size: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([seed, size])
    if kind == "Gaussian":
        values = rng.normal(size=size)
    elif kind == "Laplace":
        values = rng.laplace(size=size)
    else:
        values = rng.lognormal(size=size) * rng.choice([-1.0, 1.0], size)
    return values.astype(np.float32)
