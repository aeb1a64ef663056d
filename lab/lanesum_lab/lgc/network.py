# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Autoencoder: its parameters and its inference, with the same bits on every worker.

The encoder is linear: one convolution over windows of 32 values, with stride 16, to ``channels`` latents. So the mean
of the workers' latents *is* the latent of their mean, exactly, and latents can be summed. (In the literature the
encoder has activations, so this holds only approximately.) The decoder has four transposed convolutions with leaky
rectifiers, each of which doubles the length, then *heads* that produce values, plus a linear bypass.

Sums of products are sums of integers: weights and activations are rounded to 20 bits of the largest one. Every partial
sum is an integer below 2**53 and exact in float64, in any order of additions of a matrix library. All other operations
are elementwise, where IEEE arithmetic is the same everywhere.
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

#: Number of values for each ``channels`` latents.
STRIDE = 16
#: Length of a window of the encoder, and number of its values before the first of its stride.
WINDOW, BEFORE = 32, 8
#: Slope of the leaky rectifiers for negative values.
SLOPE = 0.01
LAYERS = 4
_BITS = 20

Real = NDArray[np.float64]


@dataclass(frozen=True)
class Architecture:
    """Sizes of an autoencoder.

    Attributes:
        channels: latents for 16 values.
        width: channels of the second layer of the decoder, even.
    """

    channels: int
    width: int
    heads: int

    def __post_init__(self) -> None:
        if not 1 <= self.channels <= STRIDE or not 2 <= self.width <= 64 or self.width % 2:
            raise ConfigurationError(
                f"Invalid channels={self.channels} or width={self.width}: expected 1 to {STRIDE} channels and an even "
                "width from 2 to 64."
            )

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of all parameters, in their order in a message. Transposed convolutions are (in, out, 3)."""
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
        """Number of values of all parameters."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def latents(self, size: int) -> int:
        """Return the number of latents of ``size`` values."""
        return -(-size // STRIDE) * self.channels

    def initial(self, seed: int) -> dict[str, Vector]:
        """Return initial parameters: uniform, with bounds of 1 / sqrt(number of inputs)."""
        rng = np.random.default_rng(seed)
        found = {}
        for name, shape in self.shapes.items():
            inputs = {"encoder": WINDOW, "head": self.width, "around": 2 * self.channels}.get(name.rstrip("0123456789"))
            bound = 0.0 if name.endswith(".bias") else 1 / math.sqrt(inputs or 1.5 * shape[0])
            found[name] = rng.uniform(-bound, bound, shape).astype(np.float32)
        return found

    def split(self, flat: Vector) -> dict[str, Vector]:
        """Return the parameters from one vector of ``size`` values."""
        found, start = {}, 0
        for name, shape in self.shapes.items():
            stop = start + math.prod(shape)
            found[name] = flat[start:stop].reshape(shape)
            start = stop
        return found

    def checked(self, parameters: object) -> dict[str, Vector]:
        """Return copies of the parameters of a checkpoint. Raises CodecError if they do not fit this architecture."""
        shapes = self.shapes
        if not isinstance(parameters, Mapping) or set(parameters) != set(shapes):
            raise CodecError(
                "The autoencoder of this state has other parameters than that of this codec.",
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


class Autoencoder:
    """Autoencoder with fixed parameters (float32, with the names of :attr:`Architecture.shapes`)."""

    def __init__(self, architecture: Architecture, parameters: Mapping[str, Vector]) -> None:
        self.architecture = architecture
        self.flat = np.concatenate([parameters[name].reshape(-1) for name in architecture.shapes])
        self.parameters = architecture.split(self.flat)
        #: True if all parameters are finite; otherwise every output is NaN.
        self.usable = bool(np.isfinite(self.flat).all())

    @property
    def check(self) -> int:
        """Checksum of the parameters, 32 bits, never 0."""
        return zlib.crc32(self.flat.tobytes()) | 1

    def encode(self, values: Real) -> Real:
        """Return the latents of normalized ``values``, flat, with the channels of one window side by side."""
        blocks = -(-values.size // STRIDE)
        padded = np.zeros(blocks * STRIDE + WINDOW - STRIDE)
        padded[BEFORE : BEFORE + values.size] = values
        windows = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::STRIDE]
        with np.errstate(all="ignore"):
            latents: Real = windows @ self.parameters["encoder"][:, 0].T.astype(np.float64)
        return latents.reshape(-1)

    def decode(self, latents: Real, size: int, head: int = 0) -> Real:
        """Return ``size`` normalized values; NaN if latents or parameters are not finite."""
        return self.heads(latents, size, (head,))[0]

    def heads(self, latents: Real, size: int, heads: tuple[int, ...]) -> list[Real]:
        """Decode with several heads, which share all layers but the last."""
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
        """Return the linear bypass of :meth:`decode`. Latents and parameters must be finite."""
        windows = product(latents.reshape(-1, self.architecture.channels), self.parameters[f"around{head}"][:, 0])
        values = np.zeros((windows.shape[0] + 1) * STRIDE)
        values[:-STRIDE] += windows[:, :STRIDE].reshape(-1)
        values[STRIDE:] += windows[:, STRIDE:].reshape(-1)
        return values[BEFORE : BEFORE + size]


def product(left: Real, right: NDArray[Any]) -> Real:
    """Return ``left @ right``, both rounded to 20 bits of their largest: the same bits in any order of additions."""
    a, first = _whole(left)
    b, second = _whole(right.astype(np.float64))
    return np.ldexp(a @ b, -(first + second))


def _whole(numbers: Real) -> tuple[Real, int]:
    """Return integers below 2**20 in magnitude, and the exponent of the power of two that scaled them."""
    largest = float(np.max(np.abs(numbers), initial=0))
    exponent = _BITS - math.frexp(largest)[1] if largest else 0
    # Denormal values become zero.
    exponent = min(exponent, 900)
    return np.rint(np.ldexp(numbers, exponent)), exponent
