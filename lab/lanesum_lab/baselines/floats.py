# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``none``, ``fp16`` and ``bf16``: gathered floats, as of training without a codec or with PyTorch's hooks.

A switch adds integers, so the floats are gathered. Each worker adds them in float64, in the order of the workers, and
rounds once. So ``none`` is the reference for the errors of other codecs, and all three cost as much as an all-gather.
The codec that lets a switch add values of float32 precision is ``fixed``.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecContext, Result, RoundShape, Steps, UnencodableError, Vector, Words
from lanesum.codecs.gathered import gathered_shape
from lanesum.codecs.registry import register
from lanesum.codecs.traits import FLOAT32_NMSE, CodecTraits
from lanesum.errors import ConfigurationError
from lanesum_lab.codec_steps import (
    checked_workers,
    field_words,
    finite_vector,
    gather,
    pack_fields,
    sum_in_order,
    unpack_fields,
)

#: Largest value of bf16.
BF16_MAX = np.uint32(0x7F7F0000).view(np.float32)

FloatFormat = Literal["fp32", "fp16", "bf16"]
_BITS = {"fp32": 32, "fp16": 16, "bf16": 16}
# The square of half a unit in the last place.
_MAX_NMSE = {"fp32": FLOAT32_NMSE, "fp16": 2.0**-22, "bf16": 2.0**-16}
_NAMES = {"fp32": "none", "fp16": "fp16", "bf16": "bf16"}


class GatheredFloats:
    """Values in a floating-point format, gathered, and added by each worker.

    Error of the value of one worker: none for fp32; half a unit in the last place for fp16 (2**-11 of the value, and at
    most 2**-25 below 2**-14) and bf16 (2**-8). A value outside the range of fp16 or bf16 counts as infinite.

    Wire: ``workers`` times the bits of the values, uplink and downlink.
    """

    code_table: NDArray[np.uint8] | None = None

    def __init__(self, *, workers: int, format: FloatFormat = "fp32") -> None:
        if format not in _BITS:
            raise ConfigurationError(f"Invalid format={format!r}: expected one of {', '.join(_BITS)}.")
        self.name = _NAMES[format]
        self.workers = checked_workers(self.name, workers)
        self.format: FloatFormat = format
        # All workers: the words of a missing one are zero, as those of a gradient of zeros are.
        self.traits = CodecTraits(
            needs_all_workers=True, packs_values=True, nearly_exact=format == "fp32", max_nmse=_MAX_NMSE[format]
        )

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        return f"{self.name} workers={self.workers}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return one round; none for an empty vector."""
        return (gathered_shape(field_words(size, _BITS[self.format]), self.workers),) if size else ()

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`: one round, ``values``."""
        vector = finite_vector(x, context, self.workers)
        if vector.size == 0:
            return Result(vector.copy(), vector.copy() if context.keep_residual else None)
        message = self.encoded(vector)
        own = self.decoded(message, vector.size)
        if not np.isfinite(own).all():
            index = int(np.argmin(np.isfinite(own)))
            raise UnencodableError(
                f"Element {index} of tensor {context.tensor!r}, {vector[index]}, is more than {self.format} holds.",
                "Nothing of it was sent: lower the loss scale, or use a codec with scales.",
            )
        sent = yield from gather(message, self.workers, context)
        decoded = np.stack([self.decoded(words, vector.size) for words in sent[: context.workers]])
        return Result(sum_in_order(decoded, context), vector - own if context.keep_residual else None)

    def encoded(self, vector: Vector) -> Words:
        """Return the message of a worker. Raises CodecError if a value exceeds the format."""
        if self.format == "fp32":
            return vector.view(np.uint32)
        if self.format == "fp16":
            with np.errstate(over="ignore"):
                return pack_fields(vector.astype(np.float16).view(np.uint16).astype(np.uint32), 16)
        bits = vector.view(np.uint32)
        # Half to even: what is cut off is compared with half of the last bit that stays.
        return pack_fields(bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)) >> np.uint32(16), 16)

    def decoded(self, words: Words, size: int) -> Vector:
        """Return the ``size`` values of a message (float32)."""
        if self.format == "fp32":
            return words.view(np.float32)
        halves = unpack_fields(words, 16, size)
        if self.format == "fp16":
            return halves.astype(np.uint16).view(np.float16).astype(np.float32)
        return (halves << np.uint32(16)).view(np.float32)


register("none", GatheredFloats, preset={"format": "fp32"})
register("fp16", GatheredFloats, preset={"format": "fp16"})
register("bf16", GatheredFloats, preset={"format": "bf16"})
