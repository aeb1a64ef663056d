# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Memory traffic of the kernels of ``thc`` on a GPU, by arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

from lanesum.codecs.kernels.reference import SUM_BLOCK
from lanesum.codecs.thc.codec import THC

_FLOAT, _DOUBLE = 4, 8


@dataclass(frozen=True)
class Traffic:
    """Bytes per coordinate of a vector of whole blocks."""

    read: float
    written: float

    @property
    def total(self) -> float:
        return self.read + self.written


def traffic(codec: THC, *, error_feedback: bool) -> dict[str, Traffic]:
    """Return the traffic of each kernel by name. ``error_feedback``: with error feedback inside the kernels.

    These are the requested bytes. ``encode`` may find data of ``square_sums`` in the GPU's cache, for vectors that fit
    it.
    """
    shape, block = codec.op.shape, codec.block
    inputs = _FLOAT * (2 if error_feedback else 1)
    # Two powers and one factor for positions, two scales for the residual, two for values.
    for_encoding = _FLOAT * (5 if error_feedback else 3) / block
    return {
        "square_sums": Traffic(inputs, _DOUBLE / min(block, SUM_BLOCK)),
        "encode": Traffic(inputs + for_encoding, shape.code_bits / 8 + (_FLOAT if error_feedback else 0)),
        "decode": Traffic(shape.lane_bits / 8 + 2 * _FLOAT / block, _FLOAT),
    }
