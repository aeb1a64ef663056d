# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The autoencoder: what its parameters are, and what it computes, with the same bits on every worker.

The encoder is linear: one convolution over windows of 32 values, every 16, to ``channels`` numbers. So the mean of the
workers' latents *is* the latent of their mean, exactly, and latents can be summed. (The literature's has activations,
and only hopes for it.) The decoder is four transposed convolutions with leaky rectifiers, each of which doubles the
length, and *heads* that make values of them, plus a linear way around all that.

Sums of products are taken of whole numbers: weights and activations are rounded to 20 bits of the largest, so that
every partial sum is a whole number below 2**53, and exact in float64, in whatever order a matrix library adds. What is
left is elementwise, where IEEE arithmetic is the same everywhere.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecError, Vector
from lanesum.codecs.error_feedback import plain_array
from lanesum.errors import ConfigurationError

#: Values for which there are ``channels`` latents.
STRIDE = 16
#: Values that a latent is made of, and by how many they begin before its own.
WINDOW, BEFORE = 32, 8
#: Of the leaky rectifiers, for negative numbers.
SLOPE = 0.01
LAYERS = 4
_BITS = 20

Real = NDArray[np.float64]


@dataclass(frozen=True)
class Architecture:
    """``channels`` latents for 16 values; ``width``: channels of the decoder's second layer, even; ``heads``: of it."""

    channels: int
    width: int
    heads: int

    def __post_init__(self) -> None:
        if not 1 <= self.channels <= STRIDE or not 2 <= self.width <= 64 or self.width % 2:
            raise ConfigurationError(
                f"There is no autoencoder of {self.channels} channels and width {self.width}.",
                f"Give 1 to {STRIDE} channels and an even width from 2 to 64.",
            )

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of all parameters, in their order in a message; kernels of transposed convolutions are (in, out, 3)."""
        widths = (self.channels, self.width // 2, self.width, 2 * self.width, self.width)
        shapes: dict[str, tuple[int, ...]] = {"encoder": (self.channels, 1, WINDOW)}
        for layer in range(LAYERS):
            shapes[f"up{layer}"] = (widths[layer], widths[layer + 1], 3)
            shapes[f"up{layer}.bias"] = (widths[layer + 1],)
        for head in range(self.heads):
            shapes[f"head{head}"] = (self.width,)
            shapes[f"head{head}.bias"] = (1,)
            shapes[f"around{head}"] = (self.channels, 1, WINDOW)
        return shapes

    @property
    def size(self) -> int:
        """Numbers of all parameters together."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def latents(self, size: int) -> int:
        """Of so many values."""
        return -(-size // STRIDE) * self.channels

    def initial(self, seed: int) -> dict[str, Vector]:
        """Parameters to begin with: uniform, as wide as the root of what is summed allows."""
        rng = np.random.default_rng(seed)
        found = {}
        for name, shape in self.shapes.items():
            inputs = {"encoder": WINDOW, "head": self.width, "around": 2 * self.channels}.get(name.rstrip("0123456789"))
            bound = 0.0 if name.endswith(".bias") else 1 / math.sqrt(inputs or 1.5 * shape[0])
            found[name] = rng.uniform(-bound, bound, shape).astype(np.float32)
        return found

    def split(self, flat: Vector) -> dict[str, Vector]:
        """Parameters out of one vector of ``size`` numbers."""
        found, start = {}, 0
        for name, shape in self.shapes.items():
            stop = start + math.prod(shape)
            found[name] = flat[start:stop].reshape(shape)
            start = stop
        return found

    def checked(self, parameters: Any) -> dict[str, Vector]:
        """Copies of a checkpoint's parameters, or the CodecError that says why they are none of this architecture."""
        shapes = self.shapes
        if not isinstance(parameters, Mapping) or set(parameters) != set(shapes):
            raise CodecError(
                "This autoencoder has other parameters than this codec's.",
                "Load the state of a codec with the same channels, width and instance, or start without it.",
            )
        found = {name: plain_array(parameters[name]) for name in shapes}
        for name, shape in shapes.items():
            if found[name].shape != shape:
                raise CodecError(
                    f"Parameter {name!r} of the autoencoder has shape {found[name].shape}, not {shape}.",
                    "Build the codec with the channels and width of the checkpoint, or start without it.",
                )
        return found


class Network:
    """An autoencoder with fixed parameters (float32, by the names of :attr:`Architecture.shapes`)."""

    def __init__(self, architecture: Architecture, parameters: Mapping[str, Vector]) -> None:
        self.architecture = architecture
        self.flat = np.concatenate([parameters[name].reshape(-1) for name in architecture.shapes])
        self.parameters = architecture.split(self.flat)
        #: Whether all its numbers are finite; if not, it computes nothing but NaN.
        self.usable = bool(np.isfinite(self.flat).all())

    @property
    def check(self) -> int:
        """Equal on two workers if their parameters are, 32 bits, never 0."""
        return zlib.crc32(self.flat.tobytes()) | 1

    def encode(self, values: Real) -> Real:
        """Latents of normalized ``values``, flat; channels of one window side by side."""
        blocks = -(-values.size // STRIDE)
        padded = np.zeros(blocks * STRIDE + WINDOW - STRIDE)
        padded[BEFORE : BEFORE + values.size] = values
        windows = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::STRIDE]
        with np.errstate(all="ignore"):
            return (windows @ self.parameters["encoder"][:, 0].T.astype(np.float64)).reshape(-1)

    def decode(self, latents: Real, size: int, head: int = 0) -> Real:
        """``size`` normalized values; NaN where the latents or the parameters are not finite."""
        return self.heads(latents, size, (head,))[0]

    def heads(self, latents: Real, size: int, heads: tuple[int, ...]) -> list[Real]:
        """The same of several heads, which have all but the last step in common."""
        if not self.usable or not np.isfinite(latents).all():
            return [np.full(size, np.nan) for _ in heads]
        rows = latents.reshape(-1, self.architecture.channels)
        deep = rows
        for layer in range(LAYERS):
            kernel = self.parameters[f"up{layer}"]
            later = np.vstack((deep[1:], np.zeros((1, deep.shape[1]))))
            even = product(deep, kernel[:, :, 1])
            odd = product(np.hstack((deep, later)), np.vstack((kernel[:, :, 2], kernel[:, :, 0])))
            deep = np.stack((even, odd), axis=1).reshape(-1, kernel.shape[1]) + self.parameters[f"up{layer}.bias"]
            deep = np.where(deep < 0, deep * SLOPE, deep)
        found = []
        for head in heads:
            values = product(deep, self.parameters[f"head{head}"][:, None])[:, 0] + self.parameters[f"head{head}.bias"]
            found.append(values[:size] + self.around(latents, size, head))
        return found

    def around(self, latents: Real, size: int, head: int = 0) -> Real:
        """The linear part of :meth:`decode`; latents and parameters must be finite."""
        windows = product(latents.reshape(-1, self.architecture.channels), self.parameters[f"around{head}"][:, 0])
        values = np.zeros((windows.shape[0] + 1) * STRIDE)
        values[:-STRIDE] += windows[:, :STRIDE].reshape(-1)
        values[STRIDE:] += windows[:, STRIDE:].reshape(-1)
        return values[BEFORE : BEFORE + size]


def product(left: Real, right: NDArray[Any]) -> Real:
    """``left @ right``, both rounded to 20 bits of their largest: the same bits in whatever order it is added up."""
    a, first = _whole(left)
    b, second = _whole(right.astype(np.float64))
    return np.ldexp(a @ b, -(first + second))


def _whole(numbers: Real) -> tuple[Real, int]:
    """Whole numbers below 2**20 in magnitude, and the exponent of two by which they were multiplied."""
    largest = float(np.max(np.abs(numbers), initial=0))
    exponent = _BITS - math.frexp(largest)[1] if largest else 0
    # Of denormal numbers nothing is left.
    exponent = min(exponent, 900)
    return np.rint(np.ldexp(numbers, exponent)), exponent
