# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lgc-server``: the parameter-server instance. The leader's latent is decoded for all workers; each corrects it by an
*innovation*, its largest errors.

In the literature one server decodes and averages. An aggregation point of lanesum only adds. So all innovations are
gathered, and each worker does the work of that server.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecContext, CodecError, Round, RoundGroup, RoundShape, Vector, Words
from lanesum.codecs.checks import summed
from lanesum.codecs.gathered import gathered_shape, gathering
from lanesum.codecs.kernels.reference import FLOAT32_MAX
from lanesum.codecs.registry import register
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import WORD_BITS, LaneOp
from lanesum_lab.baselines.floats import BF16_MAX, GatheredFloats
from lanesum_lab.codec_steps import bits_to_words, gather, pack_bits, sum_in_order, unpack_bits, words_to_bits
from lanesum_lab.lgc.instance import DENSITY, GUARD, LGC, PASSES, TRAINING, WARM_UP, WIDTH, Exchange
from lanesum_lab.lgc.latents import GUARD_WORDS
from lanesum_lab.lgc.network import Autoencoder
from lanesum_lab.lgc.selection import Selection
from lanesum_lab.lgc.training import TrainingSample

# Gain and unit are the upper halves of float32 values.
_HALF_BITS = 16
_HEADER_BITS = 2 * _HALF_BITS


class Innovation:
    """Correction that a worker sends for its own values, beside the common decoding: a gain, and the largest errors.

    In the course of training the values of a leader predict those of the others less and less, until the decoding is
    worse than zeros. With the gain of least squared error it never is. The largest remaining errors are small integers
    in units of the largest one. A bitmap names their positions, or a list if that is shorter.

    ``share``: of the selected values that have an error, rounded up. ``bits``: of each error.
    """

    def __init__(self, share: float, bits: int) -> None:
        if not 0 < share <= 1:
            raise ConfigurationError(f"Invalid innovation={share}: expected 0 < innovation <= 1.")
        if not 2 <= bits <= 16:
            raise ConfigurationError(f"Invalid innovation_bits={bits}: expected an integer from 2 to 16.")
        self.share = share
        self.bits = bits
        self._steps = 2 ** (bits - 1) - 1

    def words(self, size: int) -> int:
        """Return the number of words of a message for ``size`` selected values."""
        count = self._count(size)
        return -(-(_HEADER_BITS + min(size, count * _position_bits(size)) + count * self.bits) // WORD_BITS)

    def message(self, sent: Vector, decoded: Vector) -> Words:
        """Return the message that corrects ``decoded`` to ``sent`` (both float32, of one size).

        ``decoded`` may contain values that are not finite.
        """
        wide, guess = sent.astype(np.float64), decoded.astype(np.float64)
        with np.errstate(all="ignore"):
            energy = float(np.sum(guess**2))
            gain = _half(float(np.sum(guess * wide)) / energy if energy > 0 else 0.0)
            errors = np.nan_to_num(wide - float(gain) * guess, nan=0.0, posinf=0.0, neginf=0.0)
        count = self._count(sent.size)
        positions = np.sort(np.argpartition(-np.abs(errors), count - 1)[:count])
        unit = _half(float(np.abs(errors[positions]).max()))
        steps = np.rint(errors[positions] * (self._steps / float(unit) if unit else 0.0))
        codes = (np.clip(steps, -self._steps, self._steps) + self._steps).astype(np.uint32)
        halves = np.array([gain, unit], np.float32).view(np.uint32) >> np.uint32(WORD_BITS - _HALF_BITS)
        stream = (pack_bits(halves, _HALF_BITS), _listed(positions, sent.size), pack_bits(codes, self.bits))
        return bits_to_words(np.concatenate(stream))

    def corrected(self, decoded: Vector, message: Words) -> Vector:
        """Return ``decoded`` (float32) corrected by the message of a worker.

        Raises CodecError for an invalid message.
        """
        size, count = decoded.size, self._count(decoded.size)
        stream = words_to_bits(message, message.size * WORD_BITS)
        halves = unpack_bits(stream[:_HEADER_BITS], _HALF_BITS) << np.uint32(WORD_BITS - _HALF_BITS)
        gain, unit = (float(half) for half in halves.view(np.float32))
        positions, stream = _unlisted(stream[_HEADER_BITS:], size, count)
        codes = unpack_bits(stream[: count * self.bits], self.bits).astype(np.int64) - self._steps
        if positions.size != count or not math.isfinite(gain) or not 0 <= unit < math.inf or codes.max() > self._steps:
            raise CodecError("The innovation of a worker has invalid positions or values.")
        with np.errstate(all="ignore"):
            values = gain * decoded.astype(np.float64)
            values[positions] += codes * (unit / self._steps)
            return np.clip(values, -FLOAT32_MAX, FLOAT32_MAX).astype(np.float32)

    def _count(self, size: int) -> int:
        return math.ceil(self.share * size)


def _half(number: float) -> np.float32:
    """Return ``number`` truncated to the upper half of a float32; 0 if it is not finite."""
    limited = np.float32(min(max(number, -FLOAT32_MAX), FLOAT32_MAX) if math.isfinite(number) else 0.0)
    return np.uint32(int(limited.view(np.uint32)) & 0xFFFF0000).view(np.float32)


def _position_bits(size: int) -> int:
    return max(1, (size - 1).bit_length())


def _listed(positions: NDArray[np.intp], size: int) -> NDArray[np.uint8]:
    """Return sorted positions as bits: a bitmap or a list, whichever is shorter."""
    if positions.size * _position_bits(size) < size:
        return pack_bits(positions.astype(np.uint32), _position_bits(size))
    bitmap = np.zeros(size, np.uint8)
    bitmap[positions] = 1
    return bitmap


def _unlisted(stream: NDArray[np.uint8], size: int, count: int) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
    """Return the positions, fewer than ``count`` if they are invalid, and the rest of the stream."""
    width = _position_bits(size)
    if count * width < size:
        positions = np.unique(unpack_bits(stream[: count * width], width)).astype(np.intp)
        return positions[positions < size], stream[count * width :]
    return np.flatnonzero(stream[:size]), stream[size:]


#: Defaults. The leader's values, a falling curve, require few latents. More latents do not improve the others' values.
CHANNELS, LATENT_BITS, INNOVATION, INNOVATION_BITS = 4, 8, 0.25, 6

_LEADER, _FOLLOWER = 0, 1


class ServerLGC(LGC):
    """Parameter-server instance.

    A compressed all-reduce takes two round trips: positions and the leader's latent (OR, and MAX for a check), then all
    innovations (ADD32, gathered) and the guard (MAX).

    ``innovation``: share of the selected values that each worker corrects, with ``innovation_bits`` each; see
    :class:`Innovation`. The decoder has one head for the leader and one for all others, not one for
    each worker, because the leader changes. In the training phase the values of all workers are gathered as bf16.
    """

    name = "lgc-server"
    _heads = 2

    def __init__(
        self,
        *,
        workers: int,
        innovation: float = INNOVATION,
        innovation_bits: int = INNOVATION_BITS,
        density: float = DENSITY,
        warm_up: int = WARM_UP,
        training: int = TRAINING,
        channels: int = CHANNELS,
        width: int = WIDTH,
        latent_bits: int = LATENT_BITS,
        guard: float = GUARD,
        passes: int = PASSES,
    ) -> None:
        super().__init__(
            workers=workers,
            density=density,
            warm_up=warm_up,
            training=training,
            channels=channels,
            width=width,
            latent_bits=latent_bits,
            guard=guard,
            passes=passes,
        )
        self._innovation = Innovation(innovation, innovation_bits)
        self._halves = GatheredFloats(workers=workers, format="bf16")

    def _latent_workers(self, workers: int) -> int:
        return 1

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        return f"{super().describe()} innovation={self._innovation.share} innovation_bits={self._innovation.bits}"

    def _training_shapes(self, selected: int) -> tuple[RoundShape, ...]:
        return self._halves.shapes(selected)

    def _train(self, sent: Vector, context: CodecContext, selection: Selection, leader: int, learn: bool) -> Exchange:
        sent = np.clip(sent, -BF16_MAX, BF16_MAX)
        message = self._halves.encoded(sent)
        words = yield from gather(message, self.workers, context)
        values = np.stack([self._halves.decoded(one, sent.size) for one in words[: context.workers]])
        if learn:
            rows = selection.rows(values)
            heads = tuple(_LEADER if worker == leader else _FOLLOWER for worker in range(context.workers))
            self._learn(context, TrainingSample(rows, selection.scales, (leader,) * context.workers, heads))
        return sum_in_order(values, context), values[context.worker]

    def _extra_words(self, selected: int) -> int:
        return 1 + self.latents.words(self.architecture.latents(selected))

    def _extra(self, vector: Vector, selection: Selection) -> Words:
        assert self._network is not None
        latents = self._network.encode(selection.normalized(vector[selection.positions]))
        # Latents that are not finite become zeros, and the guard trips.
        peak = np.float32(self.latents.peak(latents))
        codes = self.latents.codes(np.nan_to_num(latents), float(peak))
        return np.concatenate((np.array([peak]).view(np.uint32), self.latents.pack(codes)))

    def _compress(
        self, sent: Vector, context: CodecContext, selection: Selection, leader: int, extra: Words, network: Autoencoder
    ) -> Generator[Any, Any, tuple[Vector, Vector] | None]:
        latents = self._leader_latents(extra, sent.size)
        decoded = [selection.restored(one) for one in network.heads(latents, sent.size, (0, 1))]
        own = decoded[_LEADER if context.worker == leader else _FOLLOWER]
        message = self._innovation.message(sent, own)
        corrected = self._innovation.corrected(own, message)
        guard = Round(LaneOp.MAX, self.guard.words(sent, corrected), label="guard")
        replies = yield RoundGroup((gathering(message, self.workers, context, "innovations"), guard))
        if self.guard.trips(summed(replies[1], RoundShape(LaneOp.MAX, GUARD_WORDS), context)):
            return None
        messages = summed(replies[0], gathered_shape(message.size, self.workers), context).reshape(self.workers, -1)
        vectors = [
            self._innovation.corrected(decoded[_LEADER if worker == leader else _FOLLOWER], messages[worker])
            for worker in range(context.workers)
        ]
        return sum_in_order(np.stack(vectors), context), corrected

    def _leader_latents(self, extra: Words, size: int) -> NDArray[np.float64]:
        peak = self.latents.received_peak(extra)
        return self.latents.latents(self.latents.unpack(extra[1:], self.architecture.latents(size), 1), peak)


register("lgc-server", ServerLGC)
