# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One round: its packets, what has come of it, and who is in that. When what is sent is up to ``flights``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import ChunkBatch, Header
from lanesum.protocol.spec import HEADER_BYTES, WORD_BYTES
from lanesum.transport.errors import RoundSize
from lanesum.transport.link import Link
from lanesum.transport.membership import Arrived


class RoundWindow:
    """The words of one round and its result; made by ``RoundSequence.start``.

    Args:
        link: what all rounds of the session share.
        op: lane operation of the round.
        words: uint32 uplink words, one dimension, any length; padded with zeros to whole packets. A round of no words
            still has one packet: nobody finishes it before everybody has begun it.
        epoch: number of the round in the job.
        begin: running position of the round's first chunk, counted since the session began.

    Attributes:
        chunks: packets of the round.
        epoch: as given.
        begin, end: positions of the first chunk, and behind the last one.
        size: operation and uplink words, as other workers must have them too.
        strangers: results of the round that were refused for their contributors or their length.
        over: whoever started the round has what it came to.
    """

    def __init__(self, link: Link, op: LaneOp, words: NDArray[np.uint32], *, epoch: int, begin: int) -> None:
        ticket = link.ticket
        shape = op.shape
        packet_words = shape.uplink_words(ticket.accumulator_words)
        self.chunks = max(1, -(-words.size // packet_words))
        self.epoch = epoch
        self.begin = begin
        self.end = begin + self.chunks
        self.size = RoundSize(op, words.size)
        self.strangers = 0
        self.over = False
        padded = np.zeros((self.chunks, packet_words), np.uint32)
        padded.reshape(-1)[: words.size] = words
        header = Header(
            job=ticket.job,
            tag=ticket.tag,
            epoch=epoch,
            op=op,
            workers=1 << ticket.place[1],
            racks=words.size,
            fan_in_workers=ticket.worker & 0xFF,
        )
        self.batch = ChunkBatch(header, padded, position=begin, slots=ticket.slots)
        self._link = link
        self._result_words = shape.accumulator_words(words.size)
        self._packet_bytes = ticket.accumulator_words * WORD_BYTES
        self._result = bytearray(self.chunks * self._packet_bytes)
        self._contributors = np.zeros((self.chunks, len(link.membership.everybody)), np.uint32)
        self._done = bytearray(self.chunks)
        self._low = 0
        self._left = self.chunks
        self._arrived: dict[int, Arrived] = {}  # chunks without a result; what was heard of last comes last

    @property
    def finished(self) -> bool:
        """Every chunk has its result."""
        return self._left == 0

    @property
    def answered(self) -> bool:
        """The aggregation point has said something about this round."""
        return self._left < self.chunks or bool(self._arrived)

    def is_done(self, chunk: int) -> bool:
        """The chunk has its result, or is none of this round."""
        return chunk >= self.chunks or bool(self._done[chunk])

    @property
    def done_chunks(self) -> int:
        """So many chunks at the beginning have their results; the next one is the first that has none."""
        while self._low < self.chunks and self._done[self._low]:
            self._low += 1
        return self._low

    def keep(self, chunk: int, datagram: bytes | memoryview, bitmaps: tuple[int, ...]) -> None:
        """The result of a chunk that had none, and who is in it."""
        start = chunk * self._packet_bytes
        self._result[start : start + self._packet_bytes] = datagram[HEADER_BYTES : HEADER_BYTES + self._packet_bytes]
        self._contributors[chunk] = bitmaps
        self._done[chunk] = 1
        self._left -= 1
        self._arrived.pop(chunk, None)

    def learn(self, pending: Header) -> None:
        """What a pending answer tells of a chunk that has no result."""
        chunk = pending.chunk
        self._arrived[chunk] = self._link.membership.learn(pending, self._arrived.pop(chunk, Arrived()))

    def missing_workers(self) -> tuple[int, ...]:
        """Workers that a chunk still waits for, as the latest pending answer tells."""
        latest = next(reversed(self._arrived.values()), None)
        return () if latest is None else self._link.membership.missing(latest)

    def result(self) -> NDArray[np.uint32]:
        """The accumulator words, shape ``(result words,)``, padding cut off; only when ``finished``."""
        assert self.finished
        return np.frombuffer(self._result, ">u4")[: self._result_words].astype(np.uint32)

    def contributors(self) -> NDArray[np.uint32]:
        """Bitmaps of the contributors of each chunk, shape ``(chunks, racks)``; one column with one level."""
        return self._contributors
