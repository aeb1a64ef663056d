# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The aggregation server on a UDP socket, in a thread of its own."""

from __future__ import annotations

import logging
import secrets
import select
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from lanesum.closing import Serving
from lanesum.errors import ConfigurationError
from lanesum.server.aggregator import Aggregator
from lanesum.server.jobs import ServerJob
from lanesum.server.status import ServerStatus
from lanesum.udp_socket import MAX_DATAGRAM_BYTES, Address, open_udp_socket

_log = logging.getLogger(__name__)

_STOP_POLL_MS = 100
_ECN_BITS = 0x03  # of the TOS byte; both set: congestion experienced (RFC 3168)
_ANCILLARY_BYTES = socket.CMSG_SPACE(4)

# For tests: decides whether a datagram is lost. Arguments: True for one that came in, the address, the bytes.
Loss = Callable[[bool, Address, bytes], bool]


class AggregationServer(Serving):
    """Serves the jobs of its ``aggregator`` at ``address``. Raises ConfigurationError when the port is taken.

    Use as a context manager, or call ``start`` and ``close``.

    Args:
        address: IPv4 address and UDP port; port 0 picks one, see attribute ``address``.
        journal_folder: see ``Aggregator``.
        loss: for tests.

    Attributes:
        instance: random text, another one for every server: who meets a new one has to admit its jobs again.
        lock: held while a datagram is handled; take it to use ``aggregator`` from another thread.
        broken: datagrams whose handling failed by a bug of ours; the log has the traceback.
    """

    def __init__(self, address: Address, *, journal_folder: Path | None = None, loss: Loss | None = None) -> None:
        self.instance = secrets.token_hex(8)
        self.aggregator = Aggregator(journal_folder)
        self.lock = threading.Lock()
        self.broken = 0
        self._loss = loss
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="lanesum-server", daemon=True)
        try:
            self._socket = open_udp_socket(address)
        except (OSError, OverflowError) as error:  # the latter for a port beyond 65,535
            reason = error.strerror if isinstance(error, OSError) else error
            raise ConfigurationError(
                f"The aggregation server cannot bind {address[0]}:{address[1]}: {reason}.",
                "Stop the process that holds the port, or choose another address.",
            ) from error
        self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        self.address: Address = self._socket.getsockname()

    def admit(self, job: ServerJob) -> None:
        """See ``Aggregator.admit``; from any thread."""
        with self.lock:
            self.aggregator.admit(job)

    def remove(self, job: int) -> None:
        """See ``Aggregator.remove``; from any thread."""
        with self.lock:
            self.aggregator.remove(job)

    def status(self) -> ServerStatus:
        """Jobs and counters as they are now; from any thread."""
        aggregator = self.aggregator
        with self.lock:
            return ServerStatus(
                self.instance,
                self.address,
                aggregator.journal_folder is not None,
                aggregator.jobs,
                {decision.value: number for decision, number in aggregator.decisions.items()},
                dict(aggregator.refused),
                self.broken,
            )

    def start(self) -> None:
        self._thread.start()

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while not self._stop.is_set():
            if not poll.poll(_STOP_POLL_MS):
                continue
            try:
                datagram, ancillary, _, sender = self._socket.recvmsg(MAX_DATAGRAM_BYTES, _ANCILLARY_BYTES)
            except (BlockingIOError, ConnectionRefusedError):
                continue  # a worker that went away refused a result: its own deadline tells it
            if self._loss is not None and self._loss(True, sender, datagram):
                continue
            try:
                with self.lock:
                    answers = self.aggregator.handle(sender, datagram, congested=_is_congested(ancillary))
            except Exception:  # a server that has died over one packet would take all other jobs with it
                self.broken += 1
                _log.exception("a datagram of %d bytes from %s could not be handled", len(datagram), sender)
                continue
            for receiver, answer in answers:
                if self._loss is not None and self._loss(False, receiver, answer):
                    continue
                try:
                    self._socket.sendto(answer, receiver)
                except OSError:
                    continue  # no room, no route or nobody there: lost, and the worker asks again

    def close(self) -> None:
        """Stop the thread, give the socket back and leave the journals to a later server; idempotent."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._socket.close()
        with self.lock:
            self.aggregator.close()


def _is_congested(ancillary: list[tuple[int, int, bytes]]) -> bool:
    return any(
        level == socket.IPPROTO_IP and kind == socket.IP_TOS and data[:1] and data[0] & _ECN_BITS == _ECN_BITS
        for level, kind, data in ancillary
    )
