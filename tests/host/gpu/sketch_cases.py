# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the sparse codecs to compile, for the shortest and the longest blocks."""

from __future__ import annotations

from tests.host.gpu.compiling import CAPABILITIES, Case

_MODULE = "lanesum.codecs.sparse.device_kernels"
_TYPES = {
    **dict.fromkeys(("values", "residual"), "*fp32"),
    **dict.fromkeys(("largest", "keys", "integers", "sketch", "placed", "degree", "order", "removed"), "*i32"),
    **dict.fromkeys(("count", "exponent", "peak", "cells", "segment", "level", "divisor"), "i32"),
    **dict.fromkeys(("seed_low", "seed_high"), "i32"),
    **dict.fromkeys(("size", "blocks"), "i64"),
    "flags": "*u8",
}
_BLOCKS = (
    "nonzero_blocks", "gather_integers", "insert", "peel", "scatter_floats", "subtract_decoded",
)  # fmt: skip
_SHAPES = ({"KEYS": 1024, "BLOCK": 1}, {"KEYS": 1, "BLOCK": 1024})
CASES = [
    Case(_MODULE, name, _TYPES, shape, capability)
    for capability, shape in zip(CAPABILITIES, _SHAPES, strict=True)
    for name in _BLOCKS
] + [Case(_MODULE, name, _TYPES, {"KEYS": 1024}, 90) for name in ("place", "claim", "remove")]
