# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sockets of the server, and loops that receive datagrams there and send the answers: in Python, or native."""

from __future__ import annotations

import logging
import select
import socket
import threading
import weakref
from collections.abc import Callable, Sequence

from lanesum._internal.native import max_spin_s
from lanesum._internal.offload import Offload, use_gro, use_gso
from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES, Address, open_udp_socket
from lanesum.errors import ConfigurationError
from lanesum.server.aggregator import Aggregator
from lanesum.server.native_aggregator import NativeAggregator
from lanesum.server.served_job import Datagrams

_log = logging.getLogger(__name__)

_STOP_POLL_MS = 100
_ECN_BITS = 0x03  # of the TOS byte; both set: congestion experienced (RFC 3168)
_ANCILLARY_BYTES = socket.CMSG_SPACE(4)

# For tests: returns True to drop a datagram. Arguments: True for a received one, its sender or receiver, its bytes.
Loss = Callable[[bool, Address, bytes], bool]


def open_server_sockets(address: Address, number: int) -> list[socket.socket]:
    """Return non-blocking sockets at one address that report ECN marks; see ``Steering``.

    Raises ConfigurationError: the port is taken, also by the sockets of another server.
    """
    opened: list[socket.socket] = []
    try:
        # The first one binds without SO_REUSEPORT. With it, it would share the port of another server and receive half
        # of its packets.
        opened.append(open_udp_socket(address))
        address = opened[0].getsockname()
        if number > 1:
            opened[0].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        opened += [open_udp_socket(address, reuse_port=True) for _ in range(number - 1)]
        for sock in opened:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    except (OSError, OverflowError) as error:  # OverflowError: a port above 65,535
        for sock in opened:
            sock.close()
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(
            f"The aggregation server cannot bind {address[0]}:{address[1]}: {reason}.",
            "Stop the process that holds the port, or choose another address. Behind a switch on loopback, start the "
            "server with --behind-switch.",
        ) from error
    return opened


class PythonServerLoop:
    """One thread on one socket, which the caller owns.

    Args:
        sock: see ``open_server_sockets``.
        lock: held while ``aggregator`` handles a datagram.
        loss: for tests.

    Attributes:
        broken: datagrams that could not be handled because of a bug; the log has the traceback.
        received: datagrams received, as a list with one number for each thread.
    """

    def __init__(
        self, sock: socket.socket, aggregator: Aggregator, lock: threading.Lock, loss: Loss | None = None
    ) -> None:
        self.broken = 0
        self.received = [0]
        self._socket = sock
        self._aggregator = aggregator
        self._lock = lock
        self._loss = loss
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="lanesum-server", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it; idempotent."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while not self._stop.is_set():
            if not poll.poll(_STOP_POLL_MS):
                continue
            try:
                datagram, ancillary, _, sender = self._socket.recvmsg(MAX_DATAGRAM_BYTES, _ANCILLARY_BYTES)
            except (BlockingIOError, ConnectionRefusedError):
                continue  # a worker whose socket is closed refused a result
            self.received[0] += 1
            if self._loss is not None and self._loss(True, sender, datagram):
                continue
            try:
                with self._lock:
                    answers = self._aggregator.handle(sender, datagram, congested=_is_congested(ancillary))
            except Exception:  # a server that ended over one packet would end all its jobs
                self.broken += 1
                _log_broken(datagram, sender)
                continue
            for receiver, answer in answers:
                if self._loss is not None and self._loss(False, receiver, answer):
                    continue
                try:
                    self._socket.sendto(answer, receiver)
                except OSError:
                    continue  # lost like one that the network drops: the worker retransmits


class NativeServerLoop:
    """A native thread on each socket; the caller owns the sockets.

    Args:
        sockets: see ``open_server_sockets``.
        aggregator: its native core handles jobs without a quorum; Python handles the others.
        lock: held while Python handles a datagram.
        offload: use of UDP GSO and GRO, see ``use_gso``. With ``"auto"``, a job with joined packets permits it, too.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        aggregator: NativeAggregator,
        lock: threading.Lock,
        offload: Offload = "auto",
    ) -> None:
        self._aggregator = aggregator
        self._lock = lock
        self._broken = 0
        self._sockets = list(sockets)  # a reference keeps them open until the threads have ended
        descriptors = [sock.fileno() for sock in sockets]
        native = aggregator.native
        join_all = use_gso(native, descriptors[:1], offload)
        handle = weakref.WeakMethod(self._handle)  # garbage collection cannot follow references in native objects

        def delegate(sender: Address, datagram: bytes, congested: bool) -> Datagrams:
            method = handle()
            return [] if method is None else method(sender, datagram, congested)

        core = aggregator.core
        may_join = offload != "off"
        self._core = native.UdpServer(core, descriptors, may_join, join_all, use_gro(offload), max_spin_s(), delegate)
        # The threads acquire the GIL, so they have to end before the interpreter does.
        self._end = weakref.finalize(self, self._core.stop)

    @property
    def broken(self) -> int:
        """See ``PythonServerLoop``."""
        return self._broken + int(self._core.broken())

    @property
    def received(self) -> list[int]:
        """See ``PythonServerLoop``."""
        received: list[int] = self._core.received()
        return received

    def start(self) -> None:
        """Start the threads."""
        self._core.start()

    def stop(self) -> None:
        """Stop the threads and wait for them; idempotent."""
        self._end()

    def _handle(self, sender: Address, datagram: bytes, congested: bool) -> Datagrams:
        """Handle a datagram of a job with a quorum. The native threads call this."""
        with self._lock:
            try:
                return self._aggregator.handle(sender, datagram, congested=congested)
            except Exception:  # see PythonServerLoop
                self._broken += 1
                _log_broken(datagram, sender)
                return []


def _log_broken(datagram: bytes, sender: Address) -> None:
    _log.exception("a datagram of %d bytes from %s could not be handled", len(datagram), sender)


def _is_congested(ancillary: list[tuple[int, int, bytes]]) -> bool:
    return any(
        level == socket.IPPROTO_IP and kind == socket.IP_TOS and data[:1] and data[0] & _ECN_BITS == _ECN_BITS
        for level, kind, data in ancillary
    )
