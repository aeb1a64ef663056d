# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The aggregation server on a UDP socket, in a thread of its own."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable
from types import TracebackType

from lanesum.errors import ConfigurationError
from lanesum.server.aggregator import Aggregator
from lanesum.udp_socket import MAX_DATAGRAM_BYTES, Address, open_udp_socket

_STOP_POLL_MS = 100

# For tests: decides whether a datagram is lost. Arguments: True for one that came in, the address, the bytes.
Loss = Callable[[bool, Address, bytes], bool]


class AggregationServer:
    """Serves the jobs of its ``aggregator`` at ``address``. Raises ConfigurationError when the port is taken.

    Use as a context manager, or call ``start`` and ``close``.
    """

    def __init__(self, address: Address, *, loss: Loss | None = None) -> None:
        self.aggregator = Aggregator()
        self.lock = threading.Lock()  # held while a datagram is handled; take it to change the aggregator's jobs
        self._loss = loss
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="lanesum-server", daemon=True)
        try:
            self._socket = open_udp_socket(address)
        except OSError as error:
            raise ConfigurationError(
                f"The aggregation server cannot bind {address[0]}:{address[1]}: {error.strerror}.",
                "Stop the process that holds the port, or choose another address.",
            ) from error
        self.address: Address = self._socket.getsockname()

    def start(self) -> None:
        self._thread.start()

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while not self._stop.is_set():
            if not poll.poll(_STOP_POLL_MS):
                continue
            try:
                datagram, sender = self._socket.recvfrom(MAX_DATAGRAM_BYTES)
            except (BlockingIOError, ConnectionRefusedError):
                continue  # a worker that went away refused a result: its own deadline tells it
            if self._loss is not None and self._loss(True, sender, datagram):
                continue
            with self.lock:
                answers = self.aggregator.handle(sender, datagram)
            for receiver, answer in answers:
                if self._loss is not None and self._loss(False, receiver, answer):
                    continue
                try:
                    self._socket.sendto(answer, receiver)
                except (BlockingIOError, ConnectionRefusedError):
                    continue  # lost: the worker asks again and gets a replay

    def close(self) -> None:
        """Stop the thread and give the socket back; idempotent."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._socket.close()

    def __enter__(self) -> AggregationServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
