# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lgc``: the ring instance. Latents of all workers are added by the switch; the mean of them is decoded."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from lanesum.codecs.base import CodecContext, CodecError, Round, RoundShape, Vector, Words
from lanesum.codecs.gathered import summed
from lanesum.codecs.lgc.guard import GUARD_WORDS
from lanesum.codecs.lgc.instance import (
    DENSITY,
    GUARD,
    LGC,
    PASSES,
    TRAINING,
    WARM_UP,
    WIDTH,
    Exchanged,
)
from lanesum.codecs.lgc.network import Network
from lanesum.codecs.lgc.phases import PhaseBytes
from lanesum.codecs.lgc.selection import Selection
from lanesum.codecs.lgc.training import Record
from lanesum.codecs.registry import register
from lanesum.protocol.lanes import LaneOp

#: Defaults. Many coarse latents lose less than few fine ones of as many bits: what the others have at the leader's
#: places is near noise.
CHANNELS, LATENT_BITS = 12, 5


class RingLGC(LGC):
    """Compressed all-reduces take three round trips: places (OR, and MAX for a check), peak and guard (MAX), latents
    (ADD32). The residual is a worker's vector minus what it has in the mean that all decode: what the autoencoder loses
    is sent again later, all of it. (The literature takes what was selected for said.)
    """

    name = "lgc"

    def __init__(
        self,
        *,
        workers: int,
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

    def _training_shapes(self, selected: int) -> tuple[RoundShape, ...]:
        return self._exact.shapes(selected)

    def _train(
        self, vector: Vector, context: CodecContext, selection: Selection, leader: int, learn: bool
    ) -> Generator[Any, Any, Exchanged]:
        sent = vector[selection.positions]
        mean, said = yield from self._as_they_are(sent, context)
        if learn:
            # Nobody knows the others' values; but a linear encoder makes the mean of latents from the mean of values.
            self._learn(context, Record(selection.rows((mean, sent)), selection.scales, (0, 1), (0, 0)))
        return mean, said

    def _compress(
        self,
        vector: Vector,
        context: CodecContext,
        selection: Selection,
        leader: int,
        extra: Words,
        network: Network,
        counted: PhaseBytes,
    ) -> Generator[Any, Any, Exchanged]:
        sent = vector[selection.positions]
        latents = network.encode(selection.normalized(sent))
        peak = _peak(latents)
        words = np.zeros(1 + GUARD_WORDS, np.uint32)
        words[:1] = np.array([peak], np.float32).view(np.uint32)
        words[1:] = self.guard.words(sent, selection.restored(network.decode(latents, sent.size)))
        reply = yield Round(LaneOp.MAX, words, label="guard")
        told = summed(reply, RoundShape(LaneOp.MAX, words.size), context)
        if self.guard.trips(told[1:]):
            counted.fallbacks += 1
            return (yield from self._as_they_are(sent, context))
        peak = float(told[:1].view(np.float32)[0])
        if not 0 <= peak < np.inf:
            raise CodecError("The aggregate of the latents' peak is not a non-negative float.")
        codes = self.latents.codes(latents, peak)
        reply = yield Round(LaneOp.ADD32, self.latents.pack(codes), label="latents")
        shape = RoundShape(LaneOp.ADD32, self.latents.words(codes.size))
        sums = self.latents.unpack(summed(reply, shape, context), codes.size, context.workers)
        summed_up = self.latents.latents(sums, peak, context.workers)
        mean = network.decode(summed_up, sent.size)
        said = sent
        if context.keep_residual:
            # The linear part of a worker's own latents, and the rest, which is everybody's: together they add up to
            # what was decoded.
            own = network.around(self.latents.latents(codes, peak) - summed_up, sent.size)
            said = selection.restored(mean + own)
        return selection.restored(mean), said


def _peak(latents: np.ndarray) -> float:
    """The largest magnitude as float32, or 0 where there is none that can be sent: the guard trips then anyway."""
    largest = float(np.max(np.abs(latents), initial=0))
    return largest if largest < np.finfo(np.float32).max else 0.0


register("lgc", RingLGC)
