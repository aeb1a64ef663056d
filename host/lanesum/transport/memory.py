# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""How much memory a worker's transport needs at most, from the parameters of its job.

Not in it: what codecs and callers hold, the words handed in among them; the libraries themselves; the kernel's socket
buffers, two of ``lanesum.transport.path.buffer_bytes`` for each server at least; and what the process keeps of large
arrays that nobody uses any more, at most as much as were ever in use at once (``lanesum._internal.arrays``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lanesum._internal.native import availability
from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import HEADER_BYTES, WORD_BYTES
from lanesum.transport.errors import RoundSize
from lanesum.transport.latency import LATENCY_BUCKETS
from lanesum.transport.rounds import MAX_ACTIVE
from lanesum.transport.ticket import JobTicket
from lanesum.transport.udp import DEFAULT_WINDOW


@dataclass(frozen=True, slots=True)
class _Costs:
    """Bytes of bookkeeping, rounded up; what the tests measure is less.

    Attributes:
        session: whatever the parameters.
        server: of a server: what datagrams are received into.
        slot: of a chunk under way.
        round: of a round under way.
        ended: of a round that is in the history.
        asked: of a chunk that somebody has asked for.
        waiting: of a chunk that somebody was said to lack.
    """

    session: int
    server: int
    slot: int
    round: int
    ended: int
    asked: int
    waiting: int


_NATIVE = _Costs(64 << 10, 5 << 20, 512, 8 << 10, 640, 80, 320)
_PYTHON = _Costs(64 << 10, 1 << 10, 1024, 4 << 10, 1664, 200, 640)
# A large result begins and ends at borders of huge pages, and may lie in a quarter more memory than it needs: see
# host/native/src/memory/array_pool.cpp.
_HUGE_PAGE_BYTES = 1 << 21
_SPARE = 4


@dataclass(frozen=True, slots=True)
class WorkerMemory:
    """Bytes at most.

    Attributes:
        rounds: of rounds under way, and of a result that is looked at.
        history: of the last ``2 * slots`` packets before, which others may still ask for.
        sending: of packets under way, and of those being sent.
        receiving: of the sockets' side: what datagrams are received into.
    """

    rounds: int
    history: int
    sending: int
    receiving: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.rounds + self.history + self.sending + self.receiving


def worker_memory(
    ticket: JobTicket, rounds: Sequence[RoundSize], *, window: int = DEFAULT_WINDOW, native: bool | None = None
) -> WorkerMemory:
    """What one worker of a job needs, with these rounds under way at the same time, and all that were before.

    Args:
        ticket: the worker's place in the job.
        rounds: operation and uplink words of each; ``lanesum.codecs`` tell theirs as ``shapes``.
        window: of the session.
        native: the compiled rounds; as they would be chosen when None.

    Raises ConfigurationError for more rounds than there can be.
    """
    if len(rounds) > MAX_ACTIVE:
        raise ConfigurationError(f"{len(rounds)} rounds are under way; there are {MAX_ACTIVE} at most.")
    if native is None:
        native = availability().core is not None
    costs = _NATIVE if native else _PYTHON
    under_way = min(window, ticket.slots)
    packet_bytes = HEADER_BYTES + WORD_BYTES * max(op.shape.uplink_words(ticket.accumulator_words) for op in ticket.ops)
    # Whole rounds are forgotten: the oldest one may reach as far back again.
    kept = 4 * ticket.slots
    # What is asked for out of the history goes out at once; twice, because what grows doubles.
    outbox = 2 * (2 * under_way + 2 * ticket.slots) * (packet_bytes + 64) if native else 0
    return WorkerMemory(
        rounds=sum(_round(ticket, one, costs, under_way, native=native) for one in rounds),
        history=kept * (packet_bytes + costs.asked) + 2 * ticket.slots * costs.ended,
        sending=costs.session + 8 * LATENCY_BUCKETS + ticket.slots * costs.slot + outbox,
        receiving=MAX_DATAGRAM_BYTES + len(ticket.servers) * costs.server,
    )


def _round(ticket: JobTicket, size: RoundSize, costs: _Costs, under_way: int, *, native: bool) -> int:
    packet_words = LaneOp(size.op).shape.uplink_words(ticket.accumulator_words)
    chunks = max(1, -(-size.words // packet_words))
    contributors = chunks * len(ticket.rack_members) * WORD_BYTES
    results = chunks * ticket.accumulator_words * WORD_BYTES
    # Python lays all packets out beforehand, from a padded copy, and converts the result into another array.
    sent = 0 if native else chunks * (HEADER_BYTES + 2 * packet_words * WORD_BYTES)
    if not native:
        results *= 2
    elif results >= 2 * _HUGE_PAGE_BYTES:
        results += 2 * _HUGE_PAGE_BYTES + results // _SPARE
    known = min(chunks, under_way) * costs.waiting + chunks * costs.asked
    return costs.round + chunks + contributors + results + sent + known
