# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What a worker has sent and needs no more itself, for those who still lack a result of it.

An aggregation point that starts anew has lost what it held, results included. Whoever lacks one asks, and the point
asks everybody: so a worker must be able to send again what it has the result of itself. How far back? Position ``p`` is
sent only with the result of ``p - slots``. Were somebody without the result of ``q``, nobody would have that of
``q + slots``, for which his contribution is needed, and so nobody would have sent ``q + 2 * slots``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lanesum.protocol.packet import ChunkBatch, server_of
from lanesum.protocol.spec import Flag
from lanesum.transport.link import Link


@dataclass(slots=True)
class _Packets:
    """Packets of a round: those of chunk ``first`` and later."""

    batch: ChunkBatch
    first: int = 0
    sent_at: dict[int, float] = field(default_factory=dict)  # chunk -> when it was last sent from here


class History:
    """Packets of the rounds under way, and of the last ``2 * slots`` positions before them; which are asked for."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._most = 2 * link.ticket.slots
        self._kept = 0  # positions of finished rounds
        self._rounds: dict[int, _Packets] = {}  # epoch -> its packets; oldest first
        self._asked: dict[tuple[int, int], bool] = {}  # (epoch, chunk) -> past the switches

    def begin(self, epoch: int, batch: ChunkBatch) -> None:
        """A round begins."""
        self._rounds[epoch] = _Packets(batch)

    def end(self, epoch: int) -> None:
        """The first round under way has ended: keep what may be lacked of it, forget what nobody can lack any more."""
        packets = self._rounds[epoch]
        if len(packets.batch) > self._most:
            packets.first = len(packets.batch) - self._most
            packets.batch = packets.batch.last(self._most)
        self._kept += len(packets.batch)
        while self._kept - len(self._rounds[oldest := next(iter(self._rounds))].batch) >= self._most:
            self._kept -= len(self._rounds.pop(oldest).batch)

    def ask(self, epoch: int, chunk: int, *, bypass: bool, now: float) -> None:
        """Somebody lacks the result of a chunk. Unknown chunks, and questions that come too often, are ignored."""
        packets = self._rounds.get(epoch)
        if packets is None or not packets.first <= chunk < packets.first + len(packets.batch):
            return
        paths = self._link.paths
        path = paths[server_of(packets.batch.packet(chunk - packets.first), len(paths))]
        if now - packets.sent_at.get(chunk, float("-inf")) >= path.answer_interval_s:
            # Two may ask before an answer leaves; one that goes past the switches serves both.
            self._asked[epoch, chunk] = bypass or self._asked.get((epoch, chunk), False)

    @property
    def asked(self) -> bool:
        """``due`` has something to send."""
        return bool(self._asked)

    def due(self, now: float) -> list[memoryview]:
        """The packets asked for, to be sent now."""
        datagrams = []
        for (epoch, chunk), bypass in self._asked.items():
            packets = self._rounds.get(epoch)
            if packets is None or chunk < packets.first:
                continue  # forgotten since
            packets.sent_at[chunk] = now
            packets.batch.set_flags(chunk - packets.first, Flag.RETRANSMISSION | (Flag.BYPASS if bypass else 0))
            datagrams.append(packets.batch.packet(chunk - packets.first))
            self._link.count_sent(packets.batch.packet_bytes, again=True, bypass=bypass, asked=True)
        self._asked.clear()
        return datagrams
