# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs of sessions in threads, on loopback, with loss at the server or at the workers' sockets."""

from __future__ import annotations

import itertools
import random
import socket
import threading
from collections.abc import Callable
from typing import Any

from lanesum.protocol import Header
from lanesum.server import AggregationServer
from lanesum.server.udp import Loss
from lanesum.session import Session
from lanesum.transport import JobTicket
from tests.free_ports import LOCALHOST, free_ports

# A later server may get the same port, and a ticket is valid for one session.
TAGS = itertools.count(0xC0FFEE)


def tickets_for(server: AggregationServer, workers: int, **fields: Any) -> list[JobTicket]:
    """Return the tickets of a new job; ``fields`` replace those of each ticket."""
    ports = free_ports(workers)
    tag = next(TAGS)
    return [
        JobTicket(
            **{"job": 7, "tag": tag, "slots": 16, "seed": 5, **fields},
            worker=worker,
            workers=workers,
            servers=(server.address,),
            local=(LOCALHOST, port),
        )
        for worker, port in enumerate(ports)
    ]


class LossySocket:
    """A socket that drops a share of the datagrams in both directions, and those sent for which ``lost`` is True."""

    def __init__(self, sock: socket.socket, seed: int, share: float, lost: Callable[[Header], bool] | None = None):
        self._socket = sock
        self._random = random.Random(seed)
        self._share = share
        self._lost = lost
        self.fileno, self.close, self.getsockopt = sock.fileno, sock.close, sock.getsockopt

    def send(self, data: Any) -> int:
        if self._random.random() < self._share or (self._lost is not None and self._lost(Header.unpack(data))):
            return len(data)
        return self._socket.send(data)

    def recv_into(self, buffer: bytearray) -> int:
        while True:
            size = self._socket.recv_into(buffer)
            if self._random.random() >= self._share:
                return size


def run_workers(
    tickets: list[JobTicket], work: Callable[[Session], Any], *, errors: bool = False, **options: Any
) -> list[Any]:
    """Run ``work`` in one thread per worker, and return the results.

    The first exception is raised, unless ``errors``: then exceptions are results. ``options`` are those of ``Session``.
    """
    outcomes: list[Any] = [None] * len(tickets)

    def one(index: int) -> None:
        try:
            with Session(tickets[index], **options) as session:
                outcomes[index] = work(session)
        except BaseException as error:  # handed to the test
            outcomes[index] = error

    threads = [threading.Thread(target=one, args=(i,)) for i in range(len(tickets))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not errors:
            raise outcome
    return outcomes


def random_loss(seed: int, share: float) -> Loss:
    """Return a loss of a ``share`` of the server's datagrams, in both directions."""
    rng = random.Random(seed)
    return lambda _incoming, _address, _datagram: rng.random() < share
