# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State of one round: its packets, its results, and their contributors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.owners import Turns, gets_words, owner_mark, owner_of
from lanesum.protocol.packet import ChunkBatch, Header
from lanesum.protocol.spec import CERTIFIED, GATHERED, HEADER_BYTES, OPENING, SCATTERED, WORD_BYTES
from lanesum.transport.errors import RoundSize
from lanesum.transport.link import Link
from lanesum.transport.membership import Arrived, Bitmaps


class RoundState:
    """The words of one round and their result; made by ``RoundSequence.start``.

    Args:
        link: state that all rounds of the session share.
        op: lane operation of the round.
        words: uint32 uplink words, one dimension, any length; padded with zeros to whole packets. A round of no words
            still has one packet: no worker finishes it before all workers have begun it.
        epoch: number of the round in the job.
        begin: running position of the round's first chunk, counted since the session began.
        opening: the round opens the session.
        scattered: the words are equal shards, one for each worker of the job, which alone gets the sum of its shard.
            Each shard is padded to whole packets. The packets of the shards take turns, so that the downlinks of all
            workers are in use at the same time.
        gathered: the words are this worker's shard, and all workers get all shards, which are equally long. Its packets
            take turns, too. Only without a quorum, and by operations that do not widen words.

    Attributes:
        chunks: packets of the round.
        epoch: as given.
        begin, end: positions of the first chunk, and after the last one.
        size: operation and uplink words, the same at all workers.
        bypasses: all packets bypass the switches: in the opening, and in gathered rounds.
        batch: the packets.
        refused_results: results of the round with unexpected contributors or of another length.
        failed_results: results of the round that failed their check, of switches and of the server, by chunk.
        retired: the caller has the result of the round.
    """

    def __init__(
        self,
        link: Link,
        op: LaneOp,
        words: NDArray[np.uint32],
        *,
        epoch: int,
        begin: int,
        opening: bool = False,
        scattered: bool = False,
        gathered: bool = False,
    ) -> None:
        assert not gathered or not (scattered or op.shape.widens)
        ticket = link.ticket
        shape = op.shape
        self._certification = link.certification
        data_words = ticket.data_words(op)
        packet_words = shape.uplink_words(data_words)
        shards = ticket.workers if scattered or gathered else 1
        self._result_shards = ticket.workers if gathered else 1
        shard_words = words.size if gathered else words.size // shards
        self._turns = Turns(shards, max(1, -(-shard_words // packet_words)))
        self.chunks = shards * self._turns.chunks
        self.epoch = epoch
        self.begin = begin
        self.end = begin + self.chunks
        self.size = RoundSize(op, shard_words * shards, self.certified, scattered, gathered)
        self.bypasses = opening or gathered
        self.refused_results = 0
        self.failed_results: dict[int, tuple[int, int]] = {}
        self.retired = False
        in_order = np.zeros((shards, self._turns.chunks * packet_words), np.uint32)
        own = slice(ticket.worker, ticket.worker + 1) if gathered else slice(None)
        in_order[own, :shard_words] = words.reshape(1 if gathered else shards, shard_words)
        numbers = self._turns.numbers()
        padded = in_order.reshape(self.chunks, packet_words)
        if shards > 1:
            padded = np.empty_like(padded)
            padded[numbers] = in_order.reshape(*numbers.shape, packet_words)
        if self._certification is not None:
            padded = self._certification.uplink_packets(op, padded, epoch)
        header = Header(
            job=ticket.job,
            tag=ticket.tag,
            epoch=epoch,
            op=op,
            spare=OPENING if opening else 0,
            workers=1 << ticket.place[1],
            racks=self.size.words | CERTIFIED * self.certified | SCATTERED * scattered | GATHERED * gathered,
            fan_in_workers=ticket.worker & 0xFF,
        )
        self._wire_size = header.racks
        spare = None
        if scattered:
            spare = np.empty(self.chunks, np.uint8)
            spare[numbers] = np.array([owner_mark(one, header.racks) for one in range(shards)])[:, None]
        full = numbers[ticket.worker] if gathered else None
        self.batch = ChunkBatch(header, padded, position=begin, slots=ticket.slots, spare=spare, full=full)
        self._link = link
        self._result_words = shape.accumulator_words(shard_words)
        self._packet_bytes = data_words * WORD_BYTES
        self._result = bytearray(self._result_shards * self._turns.chunks * self._packet_bytes)
        if gathered:
            own_at = ticket.worker * len(self._result) // ticket.workers
            self._result[own_at : own_at + words.nbytes] = words.astype(">u4").tobytes()
        self._contributors = np.zeros((self.chunks, len(link.membership.members)), np.uint32)
        self._done = bytearray(self.chunks)
        self._done_prefix = 0
        self._left = self.chunks
        self._arrived: dict[int, Arrived] = {}  # of chunks without a result; the latest report comes last

    @property
    def certified(self) -> bool:
        """Packets of the round have check words."""
        return self._certification is not None

    @property
    def complete(self) -> bool:
        """Every chunk has its result."""
        return self._left == 0

    @property
    def answered(self) -> bool:
        """A result or a pending answer of this round has arrived."""
        return self._left < self.chunks or bool(self._arrived)

    @property
    def awaited_chunks(self) -> int:
        """Number of leading chunks whose results are waited for."""
        return self.chunks

    def needs_words(self, chunk: int) -> bool:
        """Return True if a header-only result of a chunk is not enough for this worker."""
        owner = owner_of(chunk, self._wire_size, self._turns)
        return gets_words(self._link.ticket.worker, owner, self._wire_size)

    def is_done(self, chunk: int) -> bool:
        """Return True if the chunk has its result, or is not part of this round."""
        return chunk >= self.chunks or bool(self._done[chunk])

    @property
    def done_chunks(self) -> int:
        """Number of leading chunks that have their results; the next chunk is the first without one."""
        while self._done_prefix < self.chunks and self._done[self._done_prefix]:
            self._done_prefix += 1
        return self._done_prefix

    def is_right(self, chunk: int, datagram: bytes | memoryview, bitmaps: Bitmaps) -> bool:
        """Return True if a result passes the check of a certified job.

        Words that this worker does not need are not used, and not checked. Those of a gathered round are of one worker.
        """
        if self._certification is None or not self.needs_words(chunk):
            return True
        if self._result_shards > 1:
            bitmaps = self._link.membership.only(self._turns.place(chunk)[0])
        words = np.frombuffer(datagram, ">u4", self._link.ticket.accumulator_words, HEADER_BYTES).astype(np.uint32)
        return self._certification.is_right(LaneOp(self.size.op), self.epoch, chunk, words, bitmaps)

    def server_failed(self, chunk: int) -> bool:
        """Return True if a result of a chunk from the server failed its check."""
        return self.failed_results.get(chunk, (0, 0))[1] > 0

    def store_result(self, chunk: int, datagram: bytes | memoryview, bitmaps: Bitmaps) -> None:
        """Store the result of a chunk that had none, and its contributors."""
        if self.needs_words(chunk):
            shard, index = self._turns.place(chunk)
            start = (index + shard % self._result_shards * self._turns.chunks) * self._packet_bytes
            stop = HEADER_BYTES + self._packet_bytes
            self._result[start : start + self._packet_bytes] = datagram[HEADER_BYTES:stop]
        self._contributors[chunk] = bitmaps
        self._done[chunk] = 1
        self._left -= 1
        self._arrived.pop(chunk, None)

    def note_pending(self, pending: Header) -> None:
        """Store the report of a pending answer about a chunk that has no result."""
        chunk = pending.chunk
        self._arrived[chunk] = self._link.membership.update_arrived(self._arrived.pop(chunk, Arrived()), pending)

    def missing_workers(self) -> tuple[int, ...]:
        """Return the workers that a chunk still waits for, as the latest pending answer reports."""
        latest = next(reversed(self._arrived.values()), None)
        return () if latest is None else self._link.membership.missing(latest)

    def result(self) -> NDArray[np.uint32]:
        """Return the accumulator words, shape ``(result words,)``, without padding; only when ``complete``.

        Those of a scattered round are the words of this worker's shard, of a gathered one those of all shards, of shape
        ``(workers, words of a shard)``.
        """
        assert self.complete
        shards = np.frombuffer(self._result, ">u4").reshape(self._result_shards, -1)[:, : self._result_words]
        words = shards.astype(np.uint32)
        return words if self.size.gathered else words.reshape(-1)

    def contributors(self) -> NDArray[np.uint32]:
        """Return the bitmaps of contributors of each chunk, shape ``(chunks, racks)``; one column with one level."""
        return self._contributors
