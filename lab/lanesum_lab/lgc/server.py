# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lgc-server``: the parameter-server instance. The leader's latent is decoded for all workers; each corrects it by an
*innovation*, its largest errors.

In the literature one server decodes and averages. An aggregation point of lanesum only adds. So all innovations are
gathered, and each worker does the work of that server.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecContext, Round, RoundGroup, RoundShape, Vector, Words
from lanesum.codecs.gathered import gathered_shape, gathering, summed
from lanesum.codecs.registry import register
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.baselines.floats import BF16_MAX, GatheredFloats
from lanesum_lab.codec_steps import gather, sum_in_order
from lanesum_lab.lgc.guard import GUARD_WORDS
from lanesum_lab.lgc.innovation import Innovation
from lanesum_lab.lgc.instance import (
    DENSITY,
    GUARD,
    LGC,
    PASSES,
    TRAINING,
    WARM_UP,
    WIDTH,
    Exchange,
)
from lanesum_lab.lgc.network import Autoencoder
from lanesum_lab.lgc.phases import PhaseBytes
from lanesum_lab.lgc.selection import Selection
from lanesum_lab.lgc.training import TrainingSample

#: Defaults. The leader's values, a falling curve, require few latents. More latents do not improve the others' values.
CHANNELS, LATENT_BITS, INNOVATION, INNOVATION_BITS = 4, 8, 0.25, 6

_LEADER, _FOLLOWER = 0, 1


class ServerLGC(LGC):
    """Parameter-server instance.

    A compressed all-reduce takes two round trips: positions and the leader's latent (OR, and MAX for a check), then all
    innovations (ADD32, gathered) and the guard (MAX).

    ``innovation``: share of the selected values that each worker corrects, with ``innovation_bits`` each; see
    :mod:`lanesum_lab.lgc.innovation`. The decoder has one head for the leader and one for all others, not one for
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

    def _train(self, vector: Vector, context: CodecContext, selection: Selection, leader: int, learn: bool) -> Exchange:
        sent = np.clip(vector[selection.positions], -BF16_MAX, BF16_MAX)
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
        self,
        vector: Vector,
        context: CodecContext,
        selection: Selection,
        leader: int,
        extra: Words,
        network: Autoencoder,
        counted: PhaseBytes,
    ) -> Exchange:
        sent = vector[selection.positions]
        latents = self._leader_latents(extra, sent.size)
        decoded = [selection.restored(one) for one in network.heads(latents, sent.size, (0, 1))]
        own = decoded[_LEADER if context.worker == leader else _FOLLOWER]
        message = self._innovation.message(sent, own)
        corrected = self._innovation.corrected(own, message)
        guard = Round(LaneOp.MAX, self.guard.words(sent, corrected), label="guard")
        replies = yield RoundGroup((gathering(message, self.workers, context, "innovations"), guard))
        if self.guard.trips(summed(replies[1], RoundShape(LaneOp.MAX, GUARD_WORDS), context)):
            counted.fallbacks += 1
            return (yield from self._uncompressed(sent, context))
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
