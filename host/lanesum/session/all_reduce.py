# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State of one all-reduce."""

from __future__ import annotations

import collections
import math
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Codec, CodecContext, Result, Round, Steps, UnencodableError, is_tensor
from lanesum.session.lengths import AppendedLengths
from lanesum.transport.engine import RoundInFlight

if TYPE_CHECKING:
    import torch

    from lanesum.gpu.staging import Staging, StreamEvent


@dataclass(slots=True)
class StartedRound:
    """A round that was started, and what the scheduler still has to do for it.

    Attributes:
        round: the uplink words, as the codec yielded them.
        flight: the round in the transport.
        overlap: work of the codec that does not need the result; None once it is done.
        lengths: the vector lengths behind the round's own words, if any.
        begin: time of the start, by ``time.perf_counter``.
        result: accumulator words and bitmaps of contributors; None until the round is complete.
    """

    round: Round
    flight: RoundInFlight
    overlap: Callable[[], object] | None
    lengths: AppendedLengths | None
    begin: float
    result: tuple[NDArray[np.uint32], NDArray[np.uint32]] | None = None


@dataclass(slots=True, eq=False)
class AllReduce:
    """One all-reduce, from its submission to its result.

    Attributes:
        codec: encodes the vector and decodes the sums.
        vector: flat array or tensor.
        context: of the codec.
        steps: the codec's generator of rounds.
        size: number of values of the vector.
        names: names of the vector and of its parameters.
        ready: event that is complete once the vector is computed; None for a vector that exists already.
        staging: the device of the result; None for the host.
        description: of the vector, compared between the workers; empty for none.
        result: the codec's result, once the all-reduce has succeeded.
        error: the exception, once it has failed.
        cause: the error of a vector that is not finite, in whose place zeros are sent.
        begun: the codec was asked for its first round.
        made: rounds that the codec has yielded and that are to be started.
        started: rounds whose results the codec waits for.
        grouped: these rounds are one ``RoundGroup``.
        num_rounds: number of rounds started so far.
        lengths_sent: a round has carried the length of the vector, or the first group of rounds had no room for it.
        last_checks: of the rounds that the codec has yielded last, whether they are known to be its last.
    """

    codec: Codec
    vector: Any
    context: CodecContext
    steps: Steps
    size: int
    names: tuple[str, ...]
    ready: StreamEvent | None = None
    staging: Staging | None = None
    description: str = ""
    result: Result | None = None
    error: BaseException | None = None
    cause: UnencodableError | None = None
    begun: bool = False
    made: collections.deque[Round] = field(default_factory=collections.deque)
    started: list[StartedRound] = field(default_factory=list)
    grouped: bool = False
    num_rounds: int = 0
    lengths_sent: bool = False
    last_checks: list[Callable[[], bool]] = field(default_factory=list)
    _max_rounds: float | None = None

    @property
    def done(self) -> bool:
        """True once there is a result or an error."""
        return self.result is not None or self.error is not None

    @property
    def max_rounds(self) -> float:
        """Number of rounds; infinity where the next all-reduce must wait for the end of this one.

        With a quorum, codecs may make other rounds than their ``shapes``. Only one round is in flight then.
        """
        if self._max_rounds is None:
            self._max_rounds = math.inf
            if self.context.complete and not self.codec.traits.depends_on_past_sums:
                with suppress(NotImplementedError):
                    self._max_rounds = len(self.codec.shapes(self.size))
        return self._max_rounds

    @property
    def made_last_round(self) -> bool:
        """True once the codec is known to make no more rounds."""
        return any(is_last() for is_last in self.last_checks)

    @property
    def all_rounds_started(self) -> bool:
        """True once rounds of the next all-reduce may start."""
        if self.made or any(one.flight.encoding for one in self.started):
            return False
        return self.num_rounds >= self.max_rounds or self.made_last_round

    @property
    def can_resume(self) -> bool:
        """True if all results that the codec waits for are there."""
        return bool(self.started) and not self.made and all(one.result is not None for one in self.started)

    def depends_on(self, earlier: AllReduce) -> bool:
        """Return True if the rounds depend on the sum of ``earlier``, so that it must be done first."""
        if self.codec is not earlier.codec or not self.codec.traits.depends_on_past_sums:
            return False
        return not set(self.names).isdisjoint(earlier.names)

    def start_again(self, cause: UnencodableError) -> None:
        """Make new steps for zeros in place of a vector that is not finite."""
        self.cause = cause
        self.context = replace(self.context, not_finite=True, error_feedback=None)
        zeros = self._filled(0.0)
        if is_tensor(zeros):
            from lanesum.gpu.tensors import make_steps  # PyTorch is imported already

            self.steps = make_steps(self.codec, zeros, self.context)[0]
        else:
            self.steps = self.codec.all_reduce(zeros, self.context)

    def not_finite_result(self) -> Result:
        """Return NaN, the result of all workers if the vector of one is not finite."""
        return Result(self._filled(math.nan), not_finite=True)

    def _filled(self, value: float) -> Any:
        if not is_tensor(self.vector):
            return np.full_like(self.vector, value)
        with nullcontext() if self.staging is None else self.staging.stream():
            return self.vector.new_full(self.vector.shape, value)

    def outcome(self) -> Result:
        """Return the codec's result of an all-reduce that is done, or raise its error.

        Values and residual on a device are ready for work that the calling thread launches in its current stream.
        """
        if self.error is not None:
            raise self.error
        result = self.result
        assert result is not None
        if self.staging is not None:
            vectors = (result.values,) if result.residual is None else (result.values, result.residual)
            self.staging.hand_over(*cast("tuple[torch.Tensor, ...]", vectors))
        return result
