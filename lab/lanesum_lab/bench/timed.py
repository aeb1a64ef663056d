# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Codec that measures the time of its work, and the time of waiting for the network."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import (
    Aggregate,
    Codec,
    CodecContext,
    Result,
    Round,
    RoundGroup,
    RoundShape,
    Steps,
    Vector,
)


@dataclass(slots=True)
class Phases:
    """Seconds of all all-reduces so far.

    Attributes:
        encode: the codec's work before its last round, including work while a round is in flight.
        network: from submitting a round until its sum is complete. Work per segment meanwhile is counted, work for the
            whole round is not.
        decode: the codec's work after its last round.
    """

    encode: float = 0.0
    network: float = 0.0
    decode: float = 0.0


class TimedCodec:
    """``codec`` with ``phases``."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self.phases = Phases()
        #: Traits of ``codec``, for host vectors and without its state.
        self.traits = replace(codec.traits, accepts_device_tensors=False, adds_error_feedback=False, stateful=False)

    @property
    def name(self) -> str:
        """Name of the codec."""
        return self._codec.name

    @property
    def workers(self) -> int:
        """Number of workers of the codec."""
        return self._codec.workers

    @property
    def code_table(self) -> NDArray[np.uint8] | None:
        """Code table of the codec."""
        return self._codec.code_table

    def describe(self) -> str:
        """Return the description of the codec."""
        return self._codec.describe()

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the shapes of the codec."""
        return self._codec.shapes(size)

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """Run the codec's steps and time them."""
        phases, clock = self.phases, time.perf_counter
        begun = clock()
        steps = self._codec.all_reduce(x, context)
        reply: Aggregate | tuple[Aggregate, ...] | None = None
        while True:
            try:
                step = next(steps) if reply is None else steps.send(reply)
            except StopIteration as stop:
                phases.decode += clock() - begun
                result: Result = stop.value
                return result
            handed_over = clock()
            phases.encode += handed_over - begun
            before = phases.encode
            if isinstance(step, RoundGroup):
                reply = yield RoundGroup(tuple(self._timed(round_) for round_ in step.rounds))
            else:
                reply = yield self._timed(step)
            begun = clock()
            phases.network += begun - handed_over - (phases.encode - before)

    def _timed(self, round_: Round) -> Round:
        overlap = round_.overlap
        if overlap is None:
            return round_

        def timed(work: Callable[[], object] = overlap) -> object:
            begun = time.perf_counter()
            try:
                return work()
            finally:
                self.phases.encode += time.perf_counter() - begun

        return replace(round_, overlap=timed)
