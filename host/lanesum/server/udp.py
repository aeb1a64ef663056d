# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Aggregation server at a UDP address, in threads of its own."""

from __future__ import annotations

import secrets
import threading
from pathlib import Path

from lanesum._internal.closing import Serving
from lanesum._internal.offload import Offload, check_offload
from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.server.jobs import ServerJob, ServerStatus
from lanesum.server.loops import Loss, NativeServerLoop, PythonServerLoop, open_server_sockets
from lanesum.server.native_aggregator import AnyAggregator, NativeAggregator, make_aggregator
from lanesum.server.steering import Steering, default_threads

__all__ = ["AggregationServer", "Loss", "Offload"]


class AggregationServer(Serving):
    """Aggregation server at ``address``; native if the extension is available.

    Use as a context manager, or call ``start`` and ``close``.

    Args:
        address: IPv4 address and UDP port; port 0 selects a free one.
        journal_folder: see ``Aggregator``.
        loss: for tests; selects the Python implementation.
        threads: threads of the native server. The default is one for every two processors available to this process,
            because the kernel's work for a datagram takes about as long, and at most four. Python always uses one.
            The slot of a packet selects its thread, see ``Steering``.
        offload: use of UDP GSO and GRO by the native server, see ``use_gso``.

    Attributes:
        address: the address, with the real port.
        instance: random text, new for every server. A controller that reads a new one admits its jobs again.
        lock: guards ``aggregator``. The native threads handle packets of jobs without a quorum without it; a packet
            that a thread is handling may still count while its job is removed.

    Raises ConfigurationError: the port is taken, or an argument is invalid.
    """

    def __init__(
        self,
        address: Address,
        *,
        journal_folder: Path | None = None,
        loss: Loss | None = None,
        threads: int | None = None,
        offload: Offload = "auto",
    ) -> None:
        if threads is None:
            threads = default_threads()
        if threads < 1:
            raise ConfigurationError(f"threads = {threads}: the aggregation server needs at least one.")
        check_offload(offload)
        self.instance = secrets.token_hex(8)
        self.lock = threading.Lock()
        self.aggregator: AnyAggregator = make_aggregator(journal_folder, python=loss is not None)
        aggregator = self.aggregator
        self._sockets = open_server_sockets(address, threads if isinstance(aggregator, NativeAggregator) else 1)
        self._steering = Steering(self._sockets)
        self.address: Address = self._sockets[0].getsockname()
        self._loop: PythonServerLoop | NativeServerLoop
        try:
            if isinstance(aggregator, NativeAggregator):
                self._loop = NativeServerLoop(self._sockets, aggregator, self.lock, offload)
            else:
                self._loop = PythonServerLoop(self._sockets[0], aggregator, self.lock, loss)
        except BaseException:
            self._close_sockets()
            raise

    @property
    def broken(self) -> int:
        """Datagrams that could not be handled because of a bug; the log has the traceback."""
        return self._loop.broken

    def admit(self, job: ServerJob) -> None:
        """See ``Aggregator.admit``; thread-safe."""
        with self.lock:
            self.aggregator.admit(job)
            self._steering.set_servers(max(job.servers for job in self.aggregator.jobs.values()))

    def remove(self, job: int) -> None:
        """See ``Aggregator.remove``; thread-safe."""
        with self.lock:
            self.aggregator.remove(job)

    def status(self) -> ServerStatus:
        """Return jobs and counters; thread-safe."""
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
                self._loop.received,
                self._steering.by,
            )

    def start(self) -> None:
        """Start the threads."""
        self._loop.start()

    def close(self) -> None:
        """Stop the threads and close the sockets; the journals stay for a later server. Idempotent."""
        self._loop.stop()
        self._close_sockets()
        with self.lock:
            self.aggregator.close()

    def _close_sockets(self) -> None:
        for sock in self._sockets:
            sock.close()
