# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Contributions that other workers may still need, although this worker has their results.

An aggregation point that restarts has lost its state, results included. A worker that lacks a result asks, and the
point requests the contributions of all workers: so a worker keeps contributions of which it has the result itself.

How many? Position ``p`` is sent only with the result of ``p - slots``. If a worker lacked the result of ``q``, no
worker would have that of ``q + slots``, which needs its contribution, and so none would have sent ``q + 2 * slots``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lanesum.protocol.packet import ChunkBatch, server_of
from lanesum.protocol.spec import Flag
from lanesum.transport.constants import RETRANSMIT_BUFFER_TURNS
from lanesum.transport.link import Link


@dataclass(slots=True)
class _RoundPackets:
    """Packets of a round: those of chunk ``first`` and later.

    Attributes:
        sent_at: times of the last retransmission from this buffer, by chunk.
    """

    batch: ChunkBatch
    first: int = 0
    sent_at: dict[int, float] = field(default_factory=dict)


class RetransmitBuffer:
    """Packets of the rounds in flight and of the last two turns of all slots before them, and requests for them."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._max_positions = RETRANSMIT_BUFFER_TURNS * link.ticket.slots
        self._num_positions = 0  # of finished rounds
        self._rounds: dict[int, _RoundPackets] = {}  # by epoch, oldest first
        self._requests: dict[tuple[int, int], bool] = {}  # (epoch, chunk) -> bypass the switches

    def begin(self, epoch: int, batch: ChunkBatch) -> None:
        """Add the packets of a new round."""
        self._rounds[epoch] = _RoundPackets(batch)

    def end(self, epoch: int) -> None:
        """End the first round in flight: drop the packets that no worker can need any more."""
        packets = self._rounds[epoch]
        if len(packets.batch) > self._max_positions:
            packets.first = len(packets.batch) - self._max_positions
            packets.batch = packets.batch.last(self._max_positions)
        self._num_positions += len(packets.batch)
        while self._num_positions - len(self._rounds[oldest := next(iter(self._rounds))].batch) >= self._max_positions:
            self._num_positions -= len(self._rounds.pop(oldest).batch)

    def request(self, epoch: int, chunk: int, *, bypass: bool, now: float) -> None:
        """Request a retransmission. Requests for unknown chunks, and repeated too soon, are ignored."""
        packets = self._rounds.get(epoch)
        if packets is None or not packets.first <= chunk < packets.first + len(packets.batch):
            return
        paths = self._link.paths
        path = paths[server_of(packets.batch.packet(chunk - packets.first), len(paths))]
        if now - packets.sent_at.get(chunk, float("-inf")) >= path.min_request_interval_s:
            # Two points may ask before the packet leaves; one that bypasses the switches serves both.
            self._requests[epoch, chunk] = bypass or self._requests.get((epoch, chunk), False)

    @property
    def has_requests(self) -> bool:
        """``due`` has something to send."""
        return bool(self._requests)

    def due(self, now: float) -> list[memoryview]:
        """Return the requested packets, to be sent now."""
        datagrams = []
        for (epoch, chunk), bypass in self._requests.items():
            packets = self._rounds.get(epoch)
            if packets is None or chunk < packets.first:
                continue  # dropped since
            packets.sent_at[chunk] = now
            packets.batch.set_flags(chunk - packets.first, Flag.RETRANSMISSION | (Flag.BYPASS if bypass else 0))
            datagrams.append(packets.batch.packet(chunk - packets.first))
            self._link.count_sent(len(datagrams[-1]), retransmission=True, bypass=bypass, requested=True)
        self._requests.clear()
        return datagrams
