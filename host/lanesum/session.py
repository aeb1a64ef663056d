# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The host library's door: ``Session.all_reduce`` sums an array over the workers of a job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum import codecs
from lanesum.codecs.base import Aggregate, Codec, CodecContext, CodecError, Result, Round
from lanesum.errors import ConfigurationError
from lanesum.transport import JobTicket, TransportStats, UdpTransport
from lanesum.transport.errors import TransportError
from lanesum.transport.udp import DEFAULT_DEADLINE_S, DEFAULT_WINDOW


@dataclass(frozen=True, slots=True)
class FinishedRound:
    """One round as an observer sees it: what this worker sent and what came back."""

    codec: Codec
    round: Round
    words: NDArray[np.uint32]


RoundObserver = Callable[[FinishedRound], None]


class Session:
    """A worker's membership in an admitted job.

    Args:
        ticket: from the controller (``lanesum.join.join``); good for one session.
        codec: name or codec object used where ``all_reduce`` is given none.
        window: packets under way at most.
        deadline_s: longest time without progress before AggregationTimeoutError.
        observer: called after every round, in the calling thread.

    One all-reduce at a time: all workers of a job must call ``all_reduce`` in the same order with arrays of the
    same size. A session is not safe for concurrent calls from several threads.
    """

    def __init__(
        self,
        ticket: JobTicket,
        *,
        codec: str | Codec = "thc",
        window: int = DEFAULT_WINDOW,
        deadline_s: float = DEFAULT_DEADLINE_S,
        observer: RoundObserver | None = None,
    ) -> None:
        self.ticket = ticket
        self.codec = self.resolve_codec(codec)
        self._observer = observer
        self._all_reduces = 0
        self._transport = UdpTransport(ticket, window=window, deadline_s=deadline_s)

    def resolve_codec(self, codec: str | Codec) -> Codec:
        """The codec for this job, by name or as given.

        Raises ConfigurationError when it is unknown, has no room for the job's workers, or sums by another code table
        than the job was admitted with.
        """
        if isinstance(codec, str):
            codec = codecs.get(codec, workers=self.ticket.workers)
        if codec.workers < self.ticket.workers:
            raise ConfigurationError(
                f"Codec {codec.name} was built for {codec.workers} workers; the job has {self.ticket.workers}."
            )
        table = None if codec.code_table is None else codec.code_table.tobytes()
        if table is not None and table != self.ticket.code_table:
            # The switch would add other numbers than the codec means, and nobody could tell from the sum.
            held = "no code table" if self.ticket.code_table is None else f"table {list(self.ticket.code_table)}"
            raise ConfigurationError(
                f"Codec {codec.name} sums by table {list(table)}, but job {self.ticket.job} was admitted with {held}.",
                "Admit the job for the codec that its workers use.",
            )
        return codec

    @property
    def stats(self) -> TransportStats:
        """Packets, bytes and retransmissions so far."""
        return self._transport.stats

    def all_reduce(
        self,
        array: NDArray[Any],
        *,
        codec: str | Codec | None = None,
        average: bool = False,
        name: str = "",
    ) -> NDArray[np.float32]:
        """Sum (or average) ``array`` over all workers.

        Args:
            array: floating point, any shape; computed in float32. Every worker passes the same shape.
            codec: name or object; the session's codec when None.
            average: divide by the number of contributors.
            name: name of the tensor, for error messages and for the error-feedback memory.

        Returns:
            float32 array of the same shape, bit-identical on all workers.

        Raises:
            CodecError: NaN or infinity, or too many workers for the codec's lanes; nothing was sent. The session ends
                with it, because the other workers are left waiting for this all-reduce.
            AggregationTimeoutError: no progress until the deadline; names the missing workers where known.
            SessionClosedError: the session is closed or failed earlier.
        """
        return self.reduce(array, codec=codec, average=average, name=name).values.reshape(np.shape(array))

    def reduce(
        self,
        array: NDArray[Any],
        *,
        codec: str | Codec | None = None,
        average: bool = False,
        name: str = "",
        keep_residual: bool = False,
    ) -> Result:
        """As ``all_reduce``, with the codec's whole result: flat values, and the residual when asked for."""
        chosen = self.codec if codec is None else self.resolve_codec(codec)
        array = np.asarray(array)
        if array.dtype.kind != "f":
            raise ConfigurationError(
                f"all_reduce takes floating-point arrays, not {array.dtype}.", "Convert the array to float32 first."
            )
        vector = np.ascontiguousarray(array, np.float32).reshape(-1)
        context = CodecContext(
            workers=self.ticket.workers,
            worker=self.ticket.worker,
            seed=self.ticket.seed,
            round=self._all_reduces,
            tensor=name,
            average=average,
            keep_residual=keep_residual,
        )
        steps = chosen.all_reduce(vector, context)
        try:
            round_ = next(steps)
            while True:
                round_ = steps.send(self._aggregate(chosen, round_))
        except StopIteration as stop:
            result: Result = stop.value
        except CodecError:
            # The others wait for this all-reduce: were the next one to take its place, their sums would mix the two.
            self._transport.abandon()
            raise
        self._all_reduces += 1
        return result

    def _aggregate(self, codec: Codec, round_: Round) -> Aggregate:
        words, contributors = self._transport.all_reduce_words(round_.op, round_.words, round_.overlap)
        everybody = (1 << self.ticket.workers) - 1
        if (contributors != everybody).any():
            raise TransportError(
                f"A result of job {self.ticket.job} names other contributors than its {self.ticket.workers} workers.",
                "The switch holds another membership of this job: admit the job again.",
            )
        if self._observer is not None:
            self._observer(FinishedRound(codec, round_, words))
        return Aggregate(words, self.ticket.workers)

    def close(self) -> None:
        """Give the socket back; idempotent."""
        self._transport.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
