# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lgc``: the ring instance. The switch adds the latents of all workers, and their mean is decoded."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from lanesum.codecs.base import CodecContext, Round, RoundShape, Vector, Words
from lanesum.codecs.checks import summed
from lanesum.codecs.registry import register
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.lgc.instance import LGC, Exchange
from lanesum_lab.lgc.latents import GUARD_WORDS
from lanesum_lab.lgc.network import Autoencoder
from lanesum_lab.lgc.selection import Selection
from lanesum_lab.lgc.training import TrainingSample


class RingLGC(LGC):
    """Ring instance.

    A compressed all-reduce takes three round trips: positions (OR, and MAX for a check), peak and guard (MAX), latents
    (ADD32). The residual is a worker's vector minus its share of the decoded mean. So error feedback restores all that
    the autoencoder loses. (In the literature the residual lacks all selected values.)
    """

    name = "lgc"

    def _training_shapes(self, selected: int) -> tuple[RoundShape, ...]:
        return self._exact.shapes(selected)

    def _train(self, sent: Vector, context: CodecContext, selection: Selection, leader: int, learn: bool) -> Exchange:
        mean, decoded = yield from self._uncompressed(sent, context)
        if learn:
            # The other workers' values are unknown. But a linear encoder maps the mean of values to the mean of
            # latents.
            self._learn(context, TrainingSample(selection.rows((mean, sent)), selection.scales, (0, 1), (0, 0)))
        return mean, decoded

    def _compress(
        self, sent: Vector, context: CodecContext, selection: Selection, leader: int, extra: Words, network: Autoencoder
    ) -> Generator[Any, Any, tuple[Vector, Vector] | None]:
        latents = network.encode(selection.normalized(sent))
        words = np.zeros(1 + GUARD_WORDS, np.uint32)
        words[:1] = np.array([self.latents.peak(latents)], np.float32).view(np.uint32)
        words[1:] = self.guard.words(sent, selection.restored(network.decode(latents, sent.size)))
        reply = yield Round(LaneOp.MAX, words, label="guard")
        maxima = summed(reply, RoundShape(LaneOp.MAX, words.size), context)
        if self.guard.trips(maxima[1:]):
            return None
        peak = self.latents.received_peak(maxima)
        codes = self.latents.codes(latents, peak)
        reply = yield Round(LaneOp.ADD32, self.latents.pack(codes), label="latents")
        shape = RoundShape(LaneOp.ADD32, self.latents.words(codes.size))
        sums = self.latents.unpack(summed(reply, shape, context), codes.size, context.workers)
        mean_latents = self.latents.latents(sums, peak, context.workers)
        mean = network.decode(mean_latents, sent.size)
        share = sent
        if context.keep_residual:
            # The share of a worker: the decoded mean plus the linear part of its own difference in latents. The mean of
            # the shares of all workers is the decoded mean.
            own = network.around(self.latents.latents(codes, peak) - mean_latents, sent.size)
            share = selection.restored(mean + own)
        return selection.restored(mean), share


register("lgc", RingLGC)
