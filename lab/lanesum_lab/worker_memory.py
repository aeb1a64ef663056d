# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Upper bounds on the memory of a worker's transport, from the parameters of its job.

They do not count:

- arrays of codecs and callers, such as the words handed in, and the libraries;
- the kernel's socket buffers: at least two of ``lanesum.transport.path_check.buffer_bytes`` for each server;
- large arrays that the process keeps for reuse: at most the bytes that were ever in use at once
  (``lanesum._internal.arrays``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lanesum._internal.native import availability
from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import HEADER_BYTES, WORD_BYTES
from lanesum.transport.constants import (
    DEFAULT_WINDOW,
    LATENCY_BUCKETS,
    MAX_ROUNDS_IN_FLIGHT,
    RETRANSMIT_BUFFER_TURNS,
)
from lanesum.transport.errors import RoundSize
from lanesum.transport.ticket import JobTicket


@dataclass(frozen=True, slots=True)
class _Costs:
    """Bytes of bookkeeping, rounded up; tests measure less.

    Attributes:
        session: with any parameters.
        server: of a server: buffers for received datagrams.
        slot: of a chunk in flight.
        round: of a round in flight.
        kept_round: of a round in the retransmit buffer.
        request: of a chunk whose retransmission was requested.
        pending: of a chunk with a pending answer.
    """

    session: int
    server: int
    slot: int
    round: int
    kept_round: int
    request: int
    pending: int


_NATIVE = _Costs(64 << 10, 5 << 20, 512, 8 << 10, 640, 80, 320)
_PYTHON = _Costs(64 << 10, 1 << 10, 1024, 4 << 10, 1664, 200, 640)
# A large result begins at the border of a huge page, and may lie in a quarter more memory than it needs: see
# host/native/src/memory/array_pool.cpp.
_HUGE_PAGE_BYTES = 1 << 21
_SPARE = 4


@dataclass(frozen=True, slots=True)
class WorkerMemoryBounds:
    """Bytes, at most.

    Attributes:
        rounds: of rounds in flight, and of a result that the caller reads.
        retransmit_buffer: of the last turns of slots before, which other workers may still need.
        sending: of packets in flight, and of those being sent.
        receiving: of buffers for received datagrams.
    """

    rounds: int
    retransmit_buffer: int
    sending: int
    receiving: int

    @property
    def total(self) -> int:
        """Sum of all parts."""
        return self.rounds + self.retransmit_buffer + self.sending + self.receiving


def worker_memory_bounds(
    ticket: JobTicket, rounds: Sequence[RoundSize], *, window: int = DEFAULT_WINDOW, native: bool | None = None
) -> WorkerMemoryBounds:
    """Return the memory bounds of one worker with these rounds in flight, after any rounds before.

    Args:
        ticket: the worker's place in the job.
        rounds: operation and uplink words of each; the method ``shapes`` of a codec returns its own.
        window: of the session.
        native: for the native extension; None: for the implementation that would be chosen.

    Raises ConfigurationError for more rounds than can be in flight.
    """
    if len(rounds) > MAX_ROUNDS_IN_FLIGHT:
        raise ConfigurationError(f"{len(rounds)} rounds in flight: expected at most {MAX_ROUNDS_IN_FLIGHT}.")
    if native is None:
        native = availability().core is not None
    costs = _NATIVE if native else _PYTHON
    in_flight = min(window, ticket.slots)
    packet_bytes = HEADER_BYTES + WORD_BYTES * max(op.shape.uplink_words(ticket.accumulator_words) for op in ticket.ops)
    turns = RETRANSMIT_BUFFER_TURNS
    # The buffer drops whole rounds: the oldest one may reach as far back again.
    kept = 2 * turns * ticket.slots
    # Requested packets of the buffer leave at once; twice, because a vector doubles when it grows.
    outbox = 2 * (2 * in_flight + turns * ticket.slots) * (packet_bytes + 64) if native else 0
    return WorkerMemoryBounds(
        rounds=sum(_round(ticket, one, costs, in_flight, native=native) for one in rounds),
        retransmit_buffer=kept * (packet_bytes + costs.request) + turns * ticket.slots * costs.kept_round,
        sending=costs.session + 8 * LATENCY_BUCKETS + ticket.slots * costs.slot + outbox,
        receiving=MAX_DATAGRAM_BYTES + len(ticket.servers) * costs.server,
    )


def _round(ticket: JobTicket, size: RoundSize, costs: _Costs, in_flight: int, *, native: bool) -> int:
    packet_words = LaneOp(size.op).shape.uplink_words(ticket.accumulator_words)
    chunks = max(1, -(-size.words // packet_words))
    contributors = chunks * len(ticket.rack_members) * WORD_BYTES
    results = chunks * ticket.accumulator_words * WORD_BYTES
    # Python lays all packets out beforehand, from a padded copy, and converts the result into another array.
    sent = 0 if native else chunks * (HEADER_BYTES + 2 * packet_words * WORD_BYTES)
    if not native:
        results *= 2
    elif results >= _HUGE_PAGE_BYTES:
        results += 2 * _HUGE_PAGE_BYTES + results // _SPARE
    reports = min(chunks, in_flight) * costs.pending + chunks * costs.request
    return costs.round + chunks + contributors + results + sent + reports
