# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Loop that carries frames between ports and a switch, and supervision of their links."""

from __future__ import annotations

import logging
import os
import select
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from lanesum._internal.closing import Serving
from lanesum_switch.api import PacketOut
from lanesum_switch.ports.port import Port, backlog_of

_log = logging.getLogger("lanesum_switch.ports")

_STOP_TIMEOUT_S = 5.0


class PacketProcessor(Protocol):
    """The method of a switch that the runner calls."""

    def process_batch(self, packets: Iterable[tuple[int, bytes]]) -> list[PacketOut]: ...


def queue_depths(ports: Mapping[int, Port]) -> Callable[[int], int]:
    """Return the ``queue_depth`` argument of ``EmbeddedSwitch``: a function from port number to waiting frames.

    The function reads ``ports`` at each call, so ports may be added later. It returns 0 for a port without
    ``backlog``.
    """
    return lambda number: backlog_of(ports.get(number))


@dataclass(slots=True)
class PortCounts:
    """Frames since the runner started, by port."""

    received: dict[int, int] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)
    no_port: int = 0  # frames for a port that does not exist


class PortRunner(Serving):
    """Thread that serves ``ports`` (number -> port).

    One wakeup receives one batch from every readable port, so that no port starves the others.
    """

    def __init__(self, switch: PacketProcessor, ports: Mapping[int, Port]) -> None:
        self._switch = switch
        self._ports = dict(ports)
        self._received: defaultdict[int, int] = defaultdict(int)
        self._sent: defaultdict[int, int] = defaultdict(int)
        self._no_port = 0
        self._thread: threading.Thread | None = None
        self._wake = -1

    @property
    def counts(self) -> PortCounts:
        """A copy of the counts."""
        return PortCounts(dict(self._received), dict(self._sent), self._no_port)

    def start(self) -> None:
        """Start the thread; do nothing if it runs."""
        if self._thread is not None:
            return
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._thread = threading.Thread(target=self._loop, name="lanesum-switch-ports", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; the ports stay open. Idempotent."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        os.eventfd_write(self._wake, 1)
        if thread is not threading.current_thread():
            thread.join(_STOP_TIMEOUT_S)
        if not thread.is_alive():
            os.close(self._wake)

    def close(self) -> None:
        """Stop and close all ports. Idempotent."""
        self.stop()
        for port in self._ports.values():
            port.close()

    def inject(self, port: int, frame: bytes) -> None:
        """Process a frame as if it had arrived at ``port``, for packet-out messages of a controller. Thread-safe."""
        self.deliver(self._switch.process_batch(((port, frame),)))

    def deliver(self, packets: Iterable[PacketOut]) -> None:
        """Send the packets that left a switch."""
        ports, sent = self._ports, self._sent
        for number, frame in packets:
            port = ports.get(number)
            if port is None:
                self._no_port += 1
                continue
            sent[number] += 1
            port.send(frame)

    def _loop(self) -> None:
        numbers: dict[int, int] = {}
        wake = self._wake
        with select.epoll() as poll:
            poll.register(wake, select.EPOLLIN)
            for number, port in self._ports.items():
                numbers[port.fileno()] = number
                poll.register(port.fileno(), select.EPOLLIN)
            while True:
                for descriptor, _ in poll.poll():
                    if descriptor == wake:
                        return
                    number = numbers[descriptor]
                    try:
                        self._serve(number)
                    except OSError as error:
                        _log.error("Port %d failed and is not served any more: %s", number, error)
                        poll.unregister(descriptor)

    def _serve(self, number: int) -> None:
        frames = self._ports[number].receive_batch()
        if frames:
            self._received[number] += len(frames)
            self.deliver(self._switch.process_batch([(number, frame) for frame in frames]))


_INTERVAL_S = 0.5


class LinkWatch(Serving):
    """Calls ``changed`` with a port, and True for a link that is up, after each change. Use as a context manager.

    ``links``: for each port a function that returns True if its link is up.
    """

    def __init__(
        self,
        links: Mapping[int, Callable[[], bool]],
        changed: Callable[[int, bool], None],
        interval_s: float = _INTERVAL_S,
    ) -> None:
        self._links, self._changed, self._interval_s = links, changed, interval_s
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lanesum-links", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop; idempotent."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        known = {port: is_up() for port, is_up in self._links.items()}
        while not self._ending.wait(self._interval_s):
            for port, is_up in self._links.items():
                if (now := is_up()) != known[port]:
                    known[port] = now
                    self._changed(port, now)
