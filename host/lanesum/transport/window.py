# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One round as a state machine without sockets or clocks: what to send next, and what an answer means.

The caller hands in datagrams and the time; ``due`` returns the chunks to send. This keeps the protocol testable in
virtual time, and the same for every kind of socket.

Slots and positions. Chunks of all rounds of a job are numbered by one running *position*; position ``p`` uses slot
``p mod slots`` in shadow set ``p div slots mod 2``. A chunk is sent only when the one ``slots`` positions earlier has
its result, which every worker then has contributed to: so nobody can still need what an entry held two turns ago.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import ChunkBatch, Header
from lanesum.protocol.spec import HEADER_BYTES, VERSION, WORD_BYTES, Flag, Kind
from lanesum.transport.rtt import MAX_RTO_S, RttEstimator
from lanesum.transport.ticket import JobTicket

# A packet that so many later ones have overtaken counts as lost: software switches reorder by a few at most.
REORDERING = 8
_PENDING_BACK_OFF = 4


@dataclass(slots=True)
class TransportStats:
    """Counts since the transport was opened; bytes are UDP payloads with the lanesum header."""

    packets_sent: int = 0
    packets_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    retransmissions: int = 0
    duplicate_results: int = 0
    pending_replies: int = 0
    foreign_packets: int = 0  # another job, tag, epoch or version, or malformed: ignored
    rounds: int = 0

    def __add__(self, other: TransportStats) -> TransportStats:
        return TransportStats(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(slots=True)
class _Outstanding:
    """A chunk that was sent and has no result yet."""

    sent_at: float
    sequence: int  # running number of the last send, over all chunks
    first_sequence: int


class RoundWindow:
    """Sends the words of one round and collects its result.

    Args:
        ticket: the worker's place in the job.
        op: lane operation of the round.
        words: uint32 uplink words, one dimension, any length; padded with zeros to whole packets.
        epoch: number of the round in the job.
        position: running position of the round's first chunk.
        rtt: estimator shared by all rounds of the transport.
        stats: counters shared likewise.
        window: packets under way at most; never more than the job's slots.
    """

    def __init__(
        self,
        ticket: JobTicket,
        op: LaneOp,
        words: NDArray[np.uint32],
        *,
        epoch: int,
        position: int,
        rtt: RttEstimator,
        stats: TransportStats,
        window: int,
    ) -> None:
        shape = op.shape
        packet_words = shape.uplink_words(ticket.accumulator_words)
        self.chunks = -(-words.size // packet_words)
        padded = np.zeros((self.chunks, packet_words), np.uint32)
        padded.reshape(-1)[: words.size] = words
        header = Header(
            job=ticket.job,
            tag=ticket.tag,
            epoch=epoch,
            op=op,
            workers=1 << ticket.worker,
            fan_in_workers=ticket.workers,
        )
        self._batch = ChunkBatch(header, padded, position=position, slots=ticket.slots)
        self._ticket = ticket
        self._op = op
        self._epoch = epoch
        self._rtt = rtt
        self._stats = stats
        self._window = min(window, ticket.slots)
        self._result_words = words.size * shape.accumulator_words_per_uplink_word
        self._packet_bytes = ticket.accumulator_words * WORD_BYTES
        self._result = bytearray(self.chunks * self._packet_bytes)
        self._contributors = np.zeros(self.chunks, np.uint32)
        self._done = bytearray(self.chunks)
        self._outstanding: dict[int, _Outstanding] = {}  # oldest first
        self._next = 0
        self._sequence = 0
        self._newest_answered = -1  # sequence number of the latest send that has its result
        self._back_off = 1
        self._last_result_at = float("-inf")
        self._left = self.chunks
        self._waiting_for: dict[int, int] = {}  # chunk -> contributors that a pending reply named

    @property
    def finished(self) -> bool:
        """Every chunk has its result."""
        return self._left == 0

    @property
    def answered(self) -> bool:
        """The aggregation point has said something about this round."""
        return self._newest_answered >= 0 or bool(self._waiting_for)

    def packet(self, chunk: int) -> memoryview:
        """The UDP payload of a chunk, as it is to be sent now."""
        return self._batch.packet(chunk)

    def due(self, now: float) -> list[int]:
        """Chunks to send at ``now``: lost ones first, then new ones that fit the window."""
        chunks = self._lost(now)
        for chunk in chunks:
            self._batch.mark_resend(chunk, Flag.RESEND)
            state = self._outstanding[chunk]
            state.sent_at, state.sequence = now, self._sequence
            self._sequence += 1
        self._stats.retransmissions += len(chunks)
        slots = self._ticket.slots
        while (
            self._next < self.chunks
            and len(self._outstanding) < self._window
            and (self._next < slots or self._done[self._next - slots])
        ):
            self._outstanding[self._next] = _Outstanding(now, self._sequence, self._sequence)
            self._sequence += 1
            chunks.append(self._next)
            self._next += 1
        self._stats.packets_sent += len(chunks)
        self._stats.bytes_sent += len(chunks) * self._batch.packet_bytes
        return chunks

    def _lost(self, now: float) -> list[int]:
        """Chunks to send again: those that later sends overtook, and the oldest one when its timer has run out.

        Only the oldest, because silence mostly means that a worker is late: one probe is enough to learn that. Its
        timer backs off until something completes.
        """
        overtaken = [
            chunk for chunk, state in self._outstanding.items() if state.sequence + REORDERING < self._newest_answered
        ]
        oldest = next(iter(self._outstanding), None)
        if oldest is not None and oldest not in overtaken and self._timer_left(now) <= 0:
            overtaken.append(oldest)
            self._back_off *= 2
        return overtaken

    def _timer_left(self, now: float) -> float:
        state = next(iter(self._outstanding.values()))
        # Every result restarts the timer (RFC 6298, 5.3): a full window takes a while to come back.
        since = max(state.sent_at, self._last_result_at)
        return since + min(self._rtt.timeout_s * self._back_off, MAX_RTO_S) - now

    def next_timeout(self, now: float) -> float | None:
        """Seconds until ``due`` may have something to resend; None when nothing is under way."""
        return max(0.0, self._timer_left(now)) if self._outstanding else None

    def receive(self, datagram: bytes | memoryview, now: float) -> bool:
        """Take one datagram; True when it completed a chunk. Anything foreign is counted and ignored."""
        stats = self._stats
        stats.packets_received += 1
        stats.bytes_received += len(datagram)
        if len(datagram) < HEADER_BYTES:
            stats.foreign_packets += 1
            return False
        header = Header.unpack(datagram)
        chunk = header.chunk
        if (
            header.version != VERSION
            or header.job != self._ticket.job
            or header.tag != self._ticket.tag
            or header.epoch != self._epoch
            or header.op != self._op
            or chunk >= self._next
        ):
            stats.foreign_packets += 1
            return False
        if self._done[chunk]:
            stats.duplicate_results += 1
            return False
        if header.kind == Kind.PENDING and len(datagram) == HEADER_BYTES:
            stats.pending_replies += 1
            self._waiting_for[chunk] = header.workers
            # The path is alive, somebody else is late: keep asking, at a gentle pace.
            self._back_off = min(self._back_off, _PENDING_BACK_OFF)
            return False
        if header.kind != Kind.RESULT or len(datagram) != HEADER_BYTES + self._packet_bytes:
            stats.foreign_packets += 1
            return False
        start = chunk * self._packet_bytes
        self._result[start : start + self._packet_bytes] = datagram[HEADER_BYTES:]
        self._contributors[chunk] = header.workers
        self._done[chunk] = 1
        self._left -= 1
        self._waiting_for.pop(chunk, None)
        self._back_off = 1
        self._last_result_at = now
        state = self._outstanding.pop(chunk)
        # Which of several sends was answered cannot be told: count the first, and do not measure (Karn's rule).
        self._newest_answered = max(self._newest_answered, state.first_sequence)
        if state.sequence == state.first_sequence:
            self._rtt.sample(now - state.sent_at)
        return True

    def missing_workers(self) -> tuple[int, ...]:
        """Workers that a pending chunk still waits for, as far as pending replies have told."""
        missing = 0
        everybody = (1 << self._ticket.workers) - 1
        for contributors in self._waiting_for.values():
            missing |= everybody & ~contributors
        return tuple(worker for worker in range(self._ticket.workers) if missing >> worker & 1)

    def result(self) -> NDArray[np.uint32]:
        """The accumulator words, shape ``(result words,)``, padding cut off; only when ``finished``."""
        assert self.finished
        return np.frombuffer(self._result, ">u4")[: self._result_words].astype(np.uint32)

    def contributors(self) -> NDArray[np.uint32]:
        """The bitmap of contributors of each chunk, shape ``(chunks,)``."""
        return self._contributors
