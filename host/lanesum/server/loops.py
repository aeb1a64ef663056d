# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What takes datagrams from the server's sockets and sends the answers: in Python, or compiled."""

from __future__ import annotations

import logging
import select
import socket
import threading
import weakref
from collections.abc import Callable, Sequence

from lanesum._internal.offload import Offload, may_join, may_take_joined
from lanesum._internal.spin import longest_spin_s
from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES, Address
from lanesum.server.aggregator import Aggregator
from lanesum.server.native_aggregator import NativeAggregator
from lanesum.server.served import Datagrams

_log = logging.getLogger(__name__)

_STOP_POLL_MS = 100
_ECN_BITS = 0x03  # of the TOS byte; both set: congestion experienced (RFC 3168)
_ANCILLARY_BYTES = socket.CMSG_SPACE(4)

# For tests: decides whether a datagram is lost. Arguments: True for one that came in, the address, the bytes.
Loss = Callable[[bool, Address, bytes], bool]


class PythonLoop:
    """One thread on one socket, which stays the caller's.

    Args:
        sock: see ``open_server_sockets``.
        aggregator: answers.
        lock: held meanwhile.
        loss: for tests.

    Attributes:
        broken: datagrams whose handling failed by a bug of ours; the log has the traceback.
    """

    def __init__(
        self, sock: socket.socket, aggregator: Aggregator, lock: threading.Lock, loss: Loss | None = None
    ) -> None:
        self.broken = 0
        self._socket = sock
        self._aggregator = aggregator
        self._lock = lock
        self._loss = loss
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="lanesum-server", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; idempotent."""
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
                continue  # a worker that went away refused a result: its own deadline tells it
            if self._loss is not None and self._loss(True, sender, datagram):
                continue
            try:
                with self._lock:
                    answers = self._aggregator.handle(sender, datagram, congested=_is_congested(ancillary))
            except Exception:  # a server that has died over one packet would take all other jobs with it
                self.broken += 1
                _log_broken(datagram, sender)
                continue
            for receiver, answer in answers:
                if self._loss is not None and self._loss(False, receiver, answer):
                    continue
                try:
                    self._socket.sendto(answer, receiver)
                except OSError:
                    continue  # no room, no route or nobody there: lost, and the worker asks again


class NativeLoop:
    """A compiled thread on each of some sockets, which stay the caller's.

    Args:
        sockets: see ``open_server_sockets``.
        aggregator: its jobs with a quorum are asked for answers here, all others without the interpreter.
        lock: held while one with a quorum answers.
        offload: whether datagrams may be joined on their way through the kernel (GSO, GRO). "auto": unless a switch
            made of software may stand behind the device that has the server's address.
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
        self._sockets = list(sockets)  # open until the threads have ended, also when nobody closes anything
        descriptors = [sock.fileno() for sock in sockets]
        native = aggregator.native
        join = may_join(native, descriptors[:1], offload)
        decide = weakref.WeakMethod(self._decide)  # garbage collection does not see what the compiled part holds

        def hand_up(sender: Address, datagram: bytes, congested: bool) -> Datagrams:
            method = decide()
            return [] if method is None else method(sender, datagram, congested)

        self._core = native.UdpServer(
            aggregator.core, descriptors, join, may_take_joined(offload), longest_spin_s(), hand_up
        )
        # Threads must not come up for the interpreter's lock when it has gone.
        self._end = weakref.finalize(self, self._core.stop)

    @property
    def broken(self) -> int:
        """See ``PythonLoop``."""
        return self._broken + int(self._core.broken())

    def start(self) -> None:
        self._core.start()

    def stop(self) -> None:
        """End the threads; idempotent."""
        self._end()

    def _decide(self, sender: Address, datagram: bytes, congested: bool) -> Datagrams:
        """Called by the threads for jobs with a quorum."""
        with self._lock:
            try:
                return self._aggregator.handle(sender, datagram, congested=congested)
            except Exception:  # see PythonLoop
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
