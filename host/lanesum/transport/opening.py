# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Opening of a session: its first round, which proves that results belong to this process and to no earlier one.

Each worker contributes a random number in a place of its own, and the result has the numbers of all workers. Its own
number there proves to a worker that the result contains its contribution. Another number in its place is that of an
earlier process with the same ticket.

The following rounds begin at an epoch that depends on all numbers. So results of an earlier session, which a switch or
server may still hold, have other epochs, and contributions of two sessions never meet in one chunk.
"""

from __future__ import annotations

import hashlib
import secrets
import threading

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.udp_socket import Address
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import NONCE_WORDS
from lanesum.transport.errors import used_ticket_error
from lanesum.transport.ticket import JobTicket

#: Lane operation of the opening, which needs no permission of the job.
OPENING_OP = LaneOp.OR


# Tickets that this process has used, by servers, job, tag and worker. A second session of another process is found in
# the opening; one of this process is found before anything is sent.
_used: set[tuple[tuple[Address, ...], int, int, int]] = set()
_used_lock = threading.Lock()


def use_ticket(ticket: JobTicket) -> None:
    """Mark a ticket as used. Raises UsedTicketError if it was used before."""
    key = (ticket.servers, ticket.job, ticket.tag, ticket.worker)
    with _used_lock:
        if key in _used:
            raise used_ticket_error(ticket)
        _used.add(key)


class Opening:
    """Random number of one worker, and its comparison with the result of the opening.

    Args:
        ticket: the worker's place in the job.

    Attributes:
        words: uplink words of the opening, shape ``(NONCE_WORDS * workers,)``, uint32: zeros but for this worker's.
    """

    def __init__(self, ticket: JobTicket) -> None:
        self._ticket = ticket
        begin = NONCE_WORDS * ticket.worker
        self._own = slice(begin, begin + NONCE_WORDS)
        self.words = np.zeros(NONCE_WORDS * ticket.workers, np.uint32)
        self.words[self._own] = [secrets.randbits(32) for _ in range(NONCE_WORDS)]

    def first_epoch(self, result: NDArray[np.uint32]) -> int:
        """Return the number of the round after the opening, from the opening's ``result``.

        It is not that of the opening. Raises UsedTicketError if the result lacks this worker's random number.
        """
        if not np.array_equal(result[self._own], self.words[self._own]):
            raise used_ticket_error(self._ticket)
        digest = hashlib.sha256(result.astype(">u4").tobytes()).digest()
        distance = 1 + int.from_bytes(digest, "big") % 0xFFFFFFFF
        return (self._ticket.epoch + distance) % (1 << 32)
