# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The aggregation server at a UDP address, in threads of its own."""

from __future__ import annotations

import os
import secrets
import threading
from pathlib import Path

from lanesum._internal.closing import Serving
from lanesum._internal.offload import Offload, check_offload
from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.server.choose import AnyAggregator, make_aggregator
from lanesum.server.jobs import ServerJob
from lanesum.server.loops import Loss, NativeLoop, PythonLoop
from lanesum.server.native_aggregator import NativeAggregator
from lanesum.server.sockets import open_server_sockets
from lanesum.server.status import ServerStatus

__all__ = ["AggregationServer", "Loss", "Offload"]

_MOST_THREADS_BY_DEFAULT = 4


class AggregationServer(Serving):
    """Serves the jobs of its ``aggregator`` at ``address``, with its compiled part where that is there.

    Use as a context manager, or call ``start`` and ``close``.

    Args:
        address: IPv4 address and UDP port; port 0 picks one, see attribute ``address``.
        journal_folder: see ``Aggregator``.
        loss: for tests; the server is then the one in Python.
        threads: of the compiled server; when not given, one for every two processors that this process may use, since
            the kernel's work for datagrams takes about as long, and four at most. In Python there is always one.
        offload: of the compiled server, see ``NativeLoop``.

    Attributes:
        instance: random text, another one for every server: who meets a new one has to admit its jobs again.
        lock: take it to use ``aggregator`` from another thread. Packets of jobs without a quorum are handled all the
            same by the compiled server; one that is just being handled may still be when its job is removed.

    Raises ConfigurationError when the port is taken, or an argument cannot be.
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
            threads = max(1, min(_MOST_THREADS_BY_DEFAULT, len(os.sched_getaffinity(0)) // 2))
        if threads < 1:
            raise ConfigurationError(f"threads = {threads}: the aggregation server has at least one.")
        check_offload(offload)
        self.instance = secrets.token_hex(8)
        self.lock = threading.Lock()
        self.aggregator: AnyAggregator = make_aggregator(journal_folder, python=loss is not None)
        aggregator = self.aggregator
        self._sockets = open_server_sockets(address, threads if isinstance(aggregator, NativeAggregator) else 1)
        self.address: Address = self._sockets[0].getsockname()
        self._loop: PythonLoop | NativeLoop
        try:
            if isinstance(aggregator, NativeAggregator):
                self._loop = NativeLoop(self._sockets, aggregator, self.lock, offload)
            else:
                self._loop = PythonLoop(self._sockets[0], aggregator, self.lock, loss)
        except BaseException:
            self._close_sockets()
            raise

    @property
    def broken(self) -> int:
        """Datagrams whose handling failed by a bug of ours; the log has the traceback."""
        return self._loop.broken

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
        self._loop.start()

    def close(self) -> None:
        """Stop the threads, give the sockets back and leave the journals to a later server; idempotent."""
        self._loop.stop()
        self._close_sockets()
        with self.lock:
            self.aggregator.close()

    def _close_sockets(self) -> None:
        for sock in self._sockets:
            sock.close()
