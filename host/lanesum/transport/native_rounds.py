# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A worker's rounds with their compiled part; to be used like those in ``lanesum.transport.rounds``."""

from __future__ import annotations

import collections
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import MAX_SLOTS, Kind
from lanesum.transport.congestion import congestion_control
from lanesum.transport.errors import MismatchError, ResultGoneError, RoundSize, gone_error, mismatch_error
from lanesum.transport.latency import Latency
from lanesum.transport.stats import TransportStats
from lanesum.transport.ticket import JobTicket


class NativeWindow:
    """Looks and behaves like ``RoundWindow``; made by ``NativeRounds.start``.

    What ``result`` and ``contributors`` return are views of the round's own memory, which lives as long as they do.
    """

    def __init__(self, core: Any, size: RoundSize, words: NDArray[np.uint32], accumulator_words: int) -> None:
        self.core = core
        self._accumulator_words = accumulator_words
        self._packet_words = LaneOp(size.op).shape.uplink_words(accumulator_words)
        self.chunks: int = core.chunks
        self.epoch: int = core.epoch
        self.size = size
        self.words: NDArray[np.uint32] | None = words  # the compiled part reads them until the round is over

    @property
    def finished(self) -> bool:
        return bool(self.core.finished)

    @property
    def answered(self) -> bool:
        return bool(self.core.answered)

    @property
    def strangers(self) -> int:
        return int(self.core.strangers)

    def is_done(self, chunk: int) -> bool:
        return bool(self.core.is_done(chunk))

    def missing_workers(self) -> tuple[int, ...]:
        return tuple(self.core.missing_workers())

    def offer(self, words: int) -> None:
        """The first ``words`` of a round that was started ``withheld`` are as they are to be sent."""
        # The last packet is padded.
        self.core.offer(self.chunks if words == self.size.words else words // self._packet_words)

    @property
    def over(self) -> bool:
        return self.words is None

    @property
    def done_chunks(self) -> int:
        return int(self.core.done_chunks)

    @property
    def done_words(self) -> int:
        """Accumulator words at the beginning of the round that ``arriving`` has already."""
        return self.done_chunks * self._accumulator_words

    def chunks_of(self, words: int) -> int:
        """Chunks that hold the first ``words`` accumulator words."""
        return min(self.chunks, -(-words // self._accumulator_words))

    def arriving(self) -> NDArray[np.uint32]:
        """All accumulator words, of which only the first ``done_words`` are there."""
        words: NDArray[np.uint32] = self.core.result()
        return words

    def result(self) -> NDArray[np.uint32]:
        assert self.finished
        return self.arriving()

    def contributors(self) -> NDArray[np.uint32]:
        bitmaps: NDArray[np.uint32] = self.core.contributors()
        return bitmaps


def as_sent(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Words of a round as the compiled part takes them. Raises PacketError for more than a header can tell of."""
    if words.size >> 32:
        Header(racks=words.size).pack()  # says what is wrong with that
    return np.ascontiguousarray(words, np.uint32)


class NativeRounds:
    """Looks and behaves like ``RoundSequence``, except that words are not copied: they must not change in their round.

    Args:
        native: the compiled module.
        ticket, window, pacing: see ``RoundSequence``.
        congestion: ``"aimd"`` or ``"fixed"``.

    Attributes:
        core: the compiled rounds.

    Raises ConfigurationError for an unknown congestion control.
    """

    def __init__(
        self,
        native: ModuleType,
        ticket: JobTicket,
        *,
        window: int = MAX_SLOTS,
        congestion: str = "aimd",
        pacing: bool = False,
    ) -> None:
        congestion_control(congestion, window)
        self.core = native.RoundSequence(
            job=ticket.job,
            tag=ticket.tag,
            worker=ticket.worker,
            workers=ticket.workers,
            slots=ticket.slots,
            accumulator_words=ticket.accumulator_words,
            epoch=ticket.epoch,
            quorum=ticket.quorum,
            places=ticket.places,
            servers=len(ticket.servers),
            window=window,
            congestion=congestion,
            pacing=pacing,
        )
        self._completed: int = native.TAKEN_COMPLETED
        self._link = self.core.link
        self._ticket = ticket
        self._windows: collections.deque[NativeWindow] = collections.deque()

    @property
    def stats(self) -> TransportStats:
        """Counts since the beginning; a copy, which any thread may ask for."""
        return TransportStats(**self.core.stats(), latency=Latency(self.core.latency()))

    @property
    def epoch(self) -> int:
        return int(self.core.epoch)

    @property
    def position(self) -> int:
        return int(self.core.position)

    @property
    def can_start(self) -> bool:
        return bool(self.core.can_start)

    def start(self, op: LaneOp, words: NDArray[np.uint32], *, withheld: bool = False) -> NativeWindow:
        """See ``RoundSequence.start``; ``words`` must not change until the round is over.

        ``withheld``: they are still being made, and none is sent before it is offered (``NativeWindow.offer``); all
        have to be before the next round starts.
        """
        assert self.can_start
        words = as_sent(words)
        core = self.core.start(op, words)
        if withheld:
            core.withhold()
        return self.adopt(core, op, words)

    def adopt(self, core: Any, op: LaneOp, words: NDArray[np.uint32]) -> NativeWindow:
        """The round that ``core`` has been started as, with ``words`` that are ``as_sent``."""
        self._windows.append(NativeWindow(core, RoundSize(op, words.size), words, self._ticket.accumulator_words))
        return self._windows[-1]

    def finish(self, window: NativeWindow) -> None:
        """See ``RoundSequence.finish``."""
        assert window in self._windows and window.finished and not window.over
        self.core.finish(window.core)
        window.words = None
        while self._windows and self._windows[0].over:
            self._windows.popleft()

    def due(self, now: float) -> list[memoryview]:
        """See ``RoundSequence.due``."""
        datagrams: list[memoryview] = self.core.due(now)
        return datagrams

    def next_timeout(self, now: float) -> float | None:
        """See ``RoundSequence.next_timeout``."""
        left_s: float | None = self.core.next_timeout(now)
        return left_s

    def receive(self, datagram: bytes | memoryview, now: float) -> bool:
        """See ``RoundSequence.receive``."""
        taken: int = self.core.receive(datagram, now)
        if taken > self._completed:
            raise self.verdict(datagram)
        return taken == self._completed

    def verdict(self, datagram: bytes | memoryview) -> MismatchError | ResultGoneError:
        """What a datagram means that the compiled part has taken for the end of the session."""
        header = Header.unpack(datagram)
        if header.kind == Kind.PENDING:
            return gone_error(self._ticket, header)
        sizes = (window.size for window in self._windows if window.epoch == header.epoch)
        return mismatch_error(self._ticket, header, next(sizes, None))

    def last_words(self) -> list[memoryview]:
        """See ``RoundSequence.last_words``."""
        datagrams: list[memoryview] = self.core.last_words()
        return datagrams

    @property
    def answered(self) -> bool:
        return bool(self.core.answered)

    def missing_workers(self) -> tuple[int, ...]:
        """See ``RoundSequence.missing_workers``."""
        return tuple(self.core.missing_workers())
