# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of ``thc``: the native extension where it is installed, else :mod:`lanesum.codecs.thc.reference`.

The conventions are those of :mod:`lanesum.codecs.kernels.dispatch`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from lanesum.aggregation.combine import Words
from lanesum.codecs.kernels.dispatch import chosen, threads
from lanesum.codecs.kernels.interface import Doubles, Floats, Rotation
from lanesum.codecs.thc import reference
from lanesum.codecs.thc.dither import DitherSum, Rounding, SharedDithers


class BlockKernels(NamedTuple):
    """Kernels on runs of blocks; :mod:`lanesum.codecs.thc.reference` documents each of them and its arguments."""

    encode_factors: Callable[[Floats, Floats, float, Doubles, Doubles, Floats, Floats], None]
    decode_factors: Callable[[Floats, float, int, int, float, Floats], None]
    encode_blocks: Callable[[Floats, Floats, Floats, Rotation, SharedDithers, Rounding, Words, Words | None], None]
    estimate_blocks: Callable[[Words, int, int, SharedDithers, DitherSum, Floats], None]
    restore_blocks: Callable[[Floats, Floats, Rotation, Floats], None]
    decode_blocks: Callable[[Words, int, Floats, Rotation, SharedDithers, DitherSum, Floats, Words | None], None]
    residual_blocks: Callable[[Floats, Words, Floats, Rotation, SharedDithers, Rounding, Floats, Words | None], None]
    pack_digits: Callable[[Words, int, int, Words], None]
    unpack_digits: Callable[[Words, int, int, int, Words], None]


_REFERENCE = BlockKernels(*(getattr(reference, name) for name in BlockKernels._fields))


def block_kernels() -> BlockKernels:
    """Return the kernels to use; see :func:`lanesum.codecs.kernels.dispatch.chosen`."""
    return chosen(_REFERENCE, "BlockKernels", threads=threads())
