# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rounds on real sockets that are interrupted, closed or cut off; both implementations."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import gc
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanesum.errors import ConfigurationError
from lanesum.protocol import LaneOp
from lanesum.server import AggregationServer, ServerJob
from lanesum.transport import JobTicket, SessionOptions, UdpTransport
from lanesum.transport.errors import SessionClosedError, TransportError
from lanesum.transport.native_engine import NativeWorkerLoop
from lanesum.transport.worker_loop import PythonWorkerLoop
from lanesum_lab.veth import obstacle
from tests.host.transport.loopback import (
    FOREVER_S,
    HOST,
    admitted,
    interrupted_when_sending,
    tickets,
    wait_until_sending,
)

pytestmark = pytest.mark.usefixtures("implementation")


@contextlib.contextmanager
def descriptors_stay() -> Iterator[None]:
    """Check that no descriptor is left; threads of earlier tests may open some and close them again."""
    gc.collect()
    before = descriptors()
    yield
    gc.collect()
    left, until = descriptors() - before, time.monotonic() + 120
    while left and time.monotonic() < until:
        time.sleep(0.05)
        left &= descriptors()
    assert not left


def descriptors() -> set[str]:
    """Return the file descriptors of this process and what they are."""
    found = set()
    for file in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found.add(f"{file.name} {file.readlink()}")
    return found


WORDS = np.arange(1000, dtype=np.uint32)


def test_transport_uses_native_loop_on_kernel_sockets(implementation: str) -> None:
    one, other = tickets((HOST, 9), 2)
    with contextlib.closing(UdpTransport(one)) as transport:
        assert isinstance(transport._engine, NativeWorkerLoop if implementation == "native" else PythonWorkerLoop)
    with contextlib.closing(UdpTransport(other, SessionOptions(wrap_socket=lambda sock: sock))) as transport:
        assert isinstance(transport._engine, PythonWorkerLoop)


@pytest.mark.parametrize(("offload", "gso"), [("auto", True), ("on", True), ("off", False)])
def test_offload_option_controls_super_packets(offload: Any, gso: bool) -> None:
    with AggregationServer((HOST, 0)) as server:
        (ticket,) = tickets(server.address, 1)
        server.admit(ServerJob.from_tickets([ticket]))
        with contextlib.closing(UdpTransport(ticket, SessionOptions(offload=offload))) as transport:
            assert transport.exchange(LaneOp.ADD32, WORDS).result().tolist() == WORDS.tolist()
            if isinstance(transport._engine, NativeWorkerLoop):
                assert transport._engine.gso is gso


@pytest.mark.parametrize(
    ("option", "values", "wanted"),
    [
        ("window", (0, 1.5, "8"), "a positive integer"),
        ("deadline_s", (0.0, float("nan"), "30", None), "a positive number"),
        ("busy_s", (-1, float("nan"), "600"), "a number of at least 0"),
        ("pacing", ("yes", 2), "True or False"),
        ("observer", (5,), "a function"),
    ],
)
def test_options_of_wrong_type_or_range_raise(option: str, values: tuple[Any, ...], wanted: str) -> None:
    for value in values:
        with pytest.raises(ConfigurationError, match=re.escape(f"Invalid {option}={value!r}: expected {wanted}.")):
            UdpTransport(tickets((HOST, 9), 1)[0], SessionOptions(**{option: value}))


def test_round_that_the_job_cannot_sum_raises() -> None:
    ticket = tickets((HOST, 9), 2)[0]
    one = dataclasses.replace(ticket, ops=(LaneOp.EXPAND3TO8,))
    with contextlib.closing(UdpTransport(one)) as transport:
        with pytest.raises(TransportError, match=r"Job \d+ was not admitted for ADD32; it has EXPAND3TO8"):
            transport.exchange(LaneOp.ADD32, WORDS)
        with pytest.raises(TransportError, match="1000 words are not whole groups of 3, as EXPAND3TO8 needs them"):
            transport.exchange(LaneOp.EXPAND3TO8, WORDS)
        with pytest.raises(TransportError, match="9 words are not whole groups of 3 in each of 2 equal shards"):
            transport.begin_round(LaneOp.EXPAND3TO8, np.zeros(9, np.uint32), scattered=True)
        with pytest.raises(TransportError, match="100,663,296 words are more than the 67,108,863 of a round"):
            transport.exchange(LaneOp.EXPAND3TO8, np.broadcast_to(np.uint32(0), 3 << 25))


def test_unknown_offload_raises() -> None:
    with pytest.raises(ConfigurationError, match="offload 'maybe': expected one of auto, on, off"):
        UdpTransport(tickets((HOST, 9), 1)[0], SessionOptions(offload="maybe"))  # type: ignore[arg-type]


def test_signal_ends_waiting_round_and_releases_port() -> None:
    ticket = tickets((HOST, 9), 2)[0]
    with descriptors_stay():
        transport = UdpTransport(ticket, SessionOptions(deadline_s=FOREVER_S))
        with interrupted_when_sending(transport):
            transport.exchange(LaneOp.ADD32, WORDS)
        with pytest.raises(SessionClosedError):
            transport.exchange(LaneOp.ADD32, WORDS)
        transport.close()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.bind(ticket.local)


def test_close_ends_round_of_another_thread() -> None:
    outcomes: list[BaseException] = []

    def work() -> None:
        try:
            transport.exchange(LaneOp.ADD32, WORDS)
        except SessionClosedError as error:
            outcomes.append(error)

    with AggregationServer((HOST, 0)) as server:
        transport, other = (
            UdpTransport(ticket, SessionOptions(deadline_s=FOREVER_S)) for ticket in admitted(server, 2)
        )
        thread = threading.Thread(target=work)
        thread.start()
        wait_until_sending(transport, packets=transport.ticket.slots)
        transport.close()
        transport.close()
        thread.join()
        other.close()
    assert "while a round of it was in flight" in str(outcomes[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(transport.ticket.local)


def test_close_between_calls_of_round_names_round() -> None:
    with AggregationServer((HOST, 0)) as server:
        transport, other = map(UdpTransport, admitted(server, 2))
        round_ = transport.begin_round(LaneOp.ADD32, WORDS)
        transport.close()
        transport.close()
        with pytest.raises(SessionClosedError, match="while a round of it was in flight"):
            transport.wait([round_])
        other.close()


def test_closed_or_deleted_transport_leaves_no_descriptors() -> None:
    with AggregationServer((HOST, 0)) as server, descriptors_stay():
        for number in range(6):
            (ticket,) = tickets(server.address, 1)
            server.admit(ServerJob.from_tickets([ticket]))
            transport = UdpTransport(ticket)
            transport.exchange(LaneOp.ADD32, WORDS)
            if number % 2:
                transport.close()
            del transport
            gc.collect()
            for thread in threading.enumerate():
                if thread.name == "lanesum-service":
                    thread.join()  # ends with its transport
            server.remove(ticket.job)


def wake_ups() -> dict[str, str]:
    """Return the states of the eventfds of this process, which wake its loops."""
    found = {}
    for file in Path("/proc/self/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            if "eventfd-count" in (text := file.read_text()):
                found[file.name] = text
    return found


def test_forked_process_leaves_rounds_to_its_parent(implementation: str) -> None:
    """A fork sends nothing in the name of the worker. Its end does not wake the loop, which would never sleep again."""
    with AggregationServer((HOST, 0)) as server:
        (ticket,) = tickets(server.address, 1)
        server.admit(ServerJob.from_tickets([ticket]))
        earlier = wake_ups()  # of the server and of gRPC, which may write to theirs at any time
        transport = UdpTransport(ticket)
        own = {(name, text) for name, text in wake_ups().items() if name not in earlier}
        sent = transport.stats.packets_sent
        assert own
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                with pytest.raises(SessionClosedError, match=f"of process {os.getppid()}, not of a fork. Join again."):
                    transport.exchange(LaneOp.ADD32, WORDS)
                transport.wake()
                assert not transport.leave()
                assert transport.stats.packets_sent == sent
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert implementation == "python" or own <= wake_ups().items()
        np.testing.assert_array_equal(transport.exchange(LaneOp.ADD32, WORDS).result(), WORDS)
        transport.close()


def test_rounds_of_several_threads_run_concurrently() -> None:
    workers = 4
    with AggregationServer((HOST, 0)) as server:
        job = tickets(server.address, workers)
        server.admit(ServerJob.from_tickets(job))
        sums: list[list[int]] = []

        def work(ticket: JobTicket) -> None:
            with contextlib.closing(UdpTransport(ticket)) as transport:
                for _ in range(5):
                    sums.append(transport.exchange(LaneOp.ADD32, WORDS).result().tolist())
                transport.leave()

        threads = [threading.Thread(target=work, args=(ticket,)) for ticket in job]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sums == [(workers * WORDS).tolist()] * (5 * workers)


@pytest.mark.skipif(bool(obstacle()), reason=obstacle() or "namespaces can be made")
def test_host_without_route_waits_until_deadline() -> None:
    program = """
import subprocess, threading, time
from contextlib import closing
import numpy as np
from lanesum.protocol import LaneOp
from lanesum.server import AggregationServer
from lanesum.transport import SessionOptions, UdpTransport
from lanesum.transport.errors import AggregationTimeoutError
from tests.host.transport.loopback import FOREVER_S, admitted

def address(change):
    subprocess.run(["ip", "address", change, "127.0.0.1/8", "dev", "lo"], check=True)

def sum_once(transport):
    return int(transport.exchange(LaneOp.ADD32, np.full(9, 5, np.uint32)).result().sum())

subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
with AggregationServer(("127.0.0.1", 0)) as server:
    (ticket,) = admitted(server, 1)
    with closing(UdpTransport(ticket, SessionOptions(deadline_s=FOREVER_S))) as transport:
        print(sum_once(transport))
        address("del")
        sums = []
        thread = threading.Thread(target=lambda: sums.append(sum_once(transport)))
        thread.start()
        while thread.is_alive() and not transport.stats.retransmissions:
            time.sleep(0.01)
        address("add")
        thread.join()
        print(*sums)
    (ticket,) = admitted(server, 1, job=8)
    with closing(UdpTransport(ticket, SessionOptions(deadline_s=0.5))) as transport:
        sum_once(transport)
        address("del")
        try:
            sum_once(transport)
        except AggregationTimeoutError as error:
            print(error)
"""
    command = ["unshare", "--net", sys.executable, "-c", program]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    assert ran.stdout == (
        "45\n45\n"
        "Job 8, round 1: no progress for 0.5 s at worker 0; this host cannot send to 127.0.0.1: "
        "Network is unreachable. "
        "Check the interfaces, the routes and the firewall of this host.\n"
    )


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOBUFS, errno.EHOSTUNREACH, errno.ENETDOWN])
def test_errors_of_sending_are_loss(number: int) -> None:
    """Such as those of a firewall of this host; the wrapped socket needs the loop in Python."""

    class Failing:
        def __init__(self, sock: socket.socket) -> None:
            self._sock = sock
            self.left = 5

        def __getattr__(self, name: str) -> Any:
            return getattr(self._sock, name)

        def send(self, data: bytes | memoryview) -> int:
            self.left -= 1
            if self.left >= 0:
                raise OSError(number, os.strerror(number))
            return self._sock.send(data)

    with AggregationServer((HOST, 0)) as server:
        (ticket,) = admitted(server, 1)
        with contextlib.closing(
            UdpTransport(ticket, SessionOptions(deadline_s=FOREVER_S, wrap_socket=Failing))
        ) as transport:
            assert transport.exchange(LaneOp.ADD32, np.full(9, 5, np.uint32)).result().sum() == 45
