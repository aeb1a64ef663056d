# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The server on real sockets: workers as threads, and a process that is killed."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import signal
import socket
import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanesum._internal.spin import DEFAULT_US, longest_spin_s
from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES, Address
from lanesum.errors import ConfigurationError
from lanesum.protocol.packet import Packet
from lanesum.protocol.spec import Flag, Kind
from lanesum.server import AggregationServer, Place, ServerJob
from lanesum.server.client import RemoteServer
from lanesum.server.loops import NativeLoop, Offload
from lanesum.server.service import serve
from tests.host.server.contributions import Workers, served

pytestmark = pytest.mark.usefixtures("implementation")

LOCALHOST = "127.0.0.1"
CHUNKS = 12


class Sockets:
    """A socket for each worker of a job, and the packets to send."""

    def __init__(self, workers: int, **fields: Any) -> None:
        self.sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(workers)]
        for sock in self.sockets:
            sock.bind((LOCALHOST, 0))
            sock.settimeout(30)
        members = {sock.getsockname(): Place.in_one_level(worker) for worker, sock in enumerate(self.sockets)}
        self.job: ServerJob = served(members, **fields)
        self.workers = Workers(self.job)  # only makes packets and checks sums; the server has its own aggregator

    def close(self) -> None:
        for sock in self.sockets:
            sock.close()

    def send(self, server: Address, worker: int, chunk: int, **fields: Any) -> None:
        self.sockets[worker].sendto(self.workers.packet(worker, chunk, **fields), server)

    def receive(self, worker: int) -> bytes:
        return self.sockets[worker].recv(MAX_DATAGRAM_BYTES)


@contextlib.contextmanager
def sockets(workers: int, **fields: Any) -> Iterator[Sockets]:
    opened = Sockets(workers, **fields)
    try:
        yield opened
    finally:
        opened.close()


def test_workers_in_threads_get_exact_sums() -> None:
    with AggregationServer((LOCALHOST, 0)) as server, sockets(3, slots=CHUNKS) as job:
        server.aggregator.admit(job.job)
        results: list[dict[int, bytes]] = [{}, {}, {}]

        def work(worker: int) -> None:
            for chunk in range(CHUNKS):
                job.send(server.address, worker, chunk)
            while len(results[worker]) < CHUNKS:
                datagram = job.receive(worker)
                results[worker][Packet.unpack(datagram).header.chunk] = datagram

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results[0] == results[1] == results[2]
        for datagram in results[0].values():
            assert job.workers.check(Packet.unpack(datagram)) == 0b111
        assert server.aggregator.refused == {} and server.broken == 0


def test_garbage_and_congestion_come_in_by_the_socket() -> None:
    with AggregationServer((LOCALHOST, 0)) as server, sockets(2) as job:
        server.aggregator.admit(job.job)
        for garbage in (b"", b"x", bytes(65507), job.workers.packet(0)[:-3]):
            job.sockets[0].sendto(garbage, server.address)
        for chunk, marks in enumerate([(0x03, 0x02), (0x02, 0x01)]):  # congestion experienced; or able to be told
            for worker, mark in enumerate(marks):
                job.sockets[worker].setsockopt(socket.IPPROTO_IP, socket.IP_TOS, mark)
                job.send(server.address, worker, chunk)
            result = Packet.unpack(job.receive(0))
            assert job.workers.check(result) == 0b11
            assert result.header.flags == (Flag.ECN if chunk == 0 else 0)
        assert server.aggregator.refused == {"malformed": 3, "other version": 1}


def test_a_bug_costs_one_datagram(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    # With a quorum: what the compiled server asks Python.
    with AggregationServer((LOCALHOST, 0)) as server, sockets(2, quorum=1) as job:
        server.aggregator.admit(job.job)
        handle = server.aggregator.handle
        broken = job.workers.packet(0, spare=99)

        def handle_or_fail(sender: Address, datagram: bytes, *, congested: bool = False) -> list[tuple[Address, bytes]]:
            if datagram == broken:
                raise ZeroDivisionError
            return handle(sender, datagram, congested=congested)

        monkeypatch.setattr(server.aggregator, "handle", handle_or_fail)
        job.sockets[0].sendto(broken, server.address)
        job.send(server.address, 0, 0)
        assert job.workers.check(Packet.unpack(job.receive(0))) == 1
        assert server.broken == 1
        assert "could not be handled" in caplog.text


def test_losses_are_repaired_by_replays() -> None:
    lost: list[bytes] = []

    def lose_first_result(incoming: bool, _address: Address, datagram: bytes) -> bool:
        if incoming or lost:
            return False
        lost.append(datagram)
        return True

    with AggregationServer((LOCALHOST, 0), loss=lose_first_result) as server, sockets(1) as job:
        server.aggregator.admit(job.job)
        job.send(server.address, 0, 0)
        job.send(server.address, 0, 0, flags=Flag.RETRANSMISSION)
        replay = Packet.unpack(job.receive(0))
        assert (replay.header.kind, replay.header.flags) == (Kind.RESULT, Flag.RETRANSMISSION)
        assert np.array_equal(replay.payload, Packet.unpack(lost[0]).payload)


def test_a_server_has_the_threads_that_its_process_was_told_to_give_it(implementation: str) -> None:
    def threads() -> int:
        return [path.read_text() for path in Path("/proc/self/task").glob("*/comm")].count("lanesum-server\n")

    before = threads()
    with serve((LOCALHOST, 0), f"{LOCALHOST}:0", threads=3, offload="off"):
        # Python's threads have names of their own only inside Python.
        assert threads() - before == (3 if implementation == "native" else 0)


def test_a_port_has_one_server_however_many_threads() -> None:
    for first, second in ((1, 3), (3, 1), (3, 3)):
        with (
            AggregationServer((LOCALHOST, 0), threads=first) as server,
            pytest.raises(ConfigurationError, match=r"cannot bind 127\.0\.0\.1"),
        ):
            AggregationServer(server.address, threads=second)
        with AggregationServer(server.address, threads=second):  # given back
            pass
    with pytest.raises(ConfigurationError, match="at least one"):
        AggregationServer((LOCALHOST, 0), threads=0)


def _threads() -> tuple[int, int]:
    """Compiled ones and Python's."""
    compiled = (path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm"))
    python = (thread.name for thread in threading.enumerate())
    return list(compiled).count("lanesum-server"), list(python).count("lanesum-server")


def test_no_thread_is_left(implementation: str) -> None:
    assert _threads() == (0, 0)
    with AggregationServer((LOCALHOST, 0), threads=3):
        assert _threads() == ((3, 0) if implementation == "native" else (0, 1))
    assert _threads() == (0, 0)
    AggregationServer((LOCALHOST, 0), threads=3).close()  # never started
    assert _threads() == (0, 0)


_FORGET = """
from lanesum.server import AggregationServer
server = AggregationServer(("127.0.0.1", 0), threads=2)
server.start()
print("serves")
"""


def test_nobody_has_to_close_before_the_process_ends() -> None:
    done = subprocess.run([sys.executable, "-c", _FORGET], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "serves\n", "")


def test_what_nobody_has_any_more_ends(implementation: str) -> None:
    if implementation == "native":  # a thread of Python keeps what it works on
        AggregationServer((LOCALHOST, 0), threads=2).start()
        gc.collect()
        assert _threads() == (0, 0)


@pytest.mark.parametrize("offload", ["auto", "on", "off"])
@pytest.mark.parametrize("quorum", [0, 4])
def test_many_senders_meet_in_one_entry(offload: Offload, quorum: int) -> None:
    """The kernel deals senders out to the threads."""
    with AggregationServer((LOCALHOST, 0), threads=3, offload=offload) as server:
        with sockets(8, slots=CHUNKS, quorum=quorum) as job:
            server.admit(job.job)
            for chunk in range(CHUNKS):
                for worker in range(8):
                    job.send(server.address, worker, chunk)
            for worker in range(8):
                seen = {}
                while len(seen) < CHUNKS:
                    result = Packet.unpack(job.receive(worker))
                    seen[result.header.chunk] = job.workers.check(result).bit_count()
                assert set(seen.values()) == {quorum or 8}
        assert server.status().refused == {} and server.broken == 0


def test_jobs_come_and_go_while_packets_arrive() -> None:
    stop = threading.Event()
    with AggregationServer((LOCALHOST, 0), threads=3) as server, sockets(4) as job:

        def send() -> None:
            chunk = 0
            while not stop.is_set():
                for worker in range(4):
                    job.send(server.address, worker, chunk % 8, epoch=chunk // 8)
                chunk += 1

        sender = threading.Thread(target=send)
        sender.start()
        for tag in range(200):
            server.admit(dataclasses.replace(job.job, tag=tag, quorum=tag % 2))
            server.admit(job.job)
            server.remove(job.job.job)
        server.admit(job.job)
        before = server.status().decisions.get("contribute_and_complete", 0)
        while server.status().decisions.get("contribute_and_complete", 0) == before:
            job.workers.check(Packet.unpack(job.receive(0)))
        stop.set()
        sender.join()
        assert server.broken == 0


@pytest.mark.parametrize("joinable", [True, False])
@pytest.mark.parametrize("offload", ["auto", "on", "off"])
def test_super_packets_only_where_no_software_switch_may_stand(offload: Offload, joinable: bool) -> None:
    asked: list[tuple[bool, bool]] = []

    class Core:
        def __init__(
            self, _aggregator: object, _sockets: object, gso: bool, gro: bool, _spin_s: float, _others: object
        ) -> None:
            asked.append((gso, gro))

        def stop(self) -> None: ...

    native: Any = types.SimpleNamespace(UdpServer=Core, probe_offload=lambda _socket: (joinable, "a reason"))
    aggregator: Any = types.SimpleNamespace(core=None, native=native)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        NativeLoop([sock], aggregator, threading.Lock(), offload).stop()
    assert asked == [(offload == "on" or (offload == "auto" and joinable), offload != "off")]


def test_an_unknown_offload_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'perhaps' is none of auto, on, off"):
        AggregationServer((LOCALHOST, 0), offload="perhaps")  # type: ignore[arg-type]


def test_how_long_to_look_before_sleeping_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, implementation: str
) -> None:
    monkeypatch.delenv("LANESUM_SPIN", raising=False)
    assert longest_spin_s() == DEFAULT_US / 1e6
    monkeypatch.setenv("LANESUM_SPIN", "50")
    assert longest_spin_s() == 50e-6
    test_workers_in_threads_get_exact_sums()
    for wrong in ("", "1.5", "-1", "1001", "long"):
        monkeypatch.setenv("LANESUM_SPIN", wrong)
        with pytest.raises(ConfigurationError, match=f"LANESUM_SPIN={wrong} is no number of microseconds from 0 to"):
            longest_spin_s()
        if implementation == "native":
            with pytest.raises(ConfigurationError):
                AggregationServer((LOCALHOST, 0))


def test_port_taken_and_every_server_another_instance() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        with pytest.raises(ConfigurationError, match=r"cannot bind 127\.0\.0\.1"):
            AggregationServer(server.address)
        with pytest.raises(ConfigurationError, match="70000"):
            AggregationServer((LOCALHOST, 70000))
        with AggregationServer((LOCALHOST, 0)) as other:
            assert server.instance != other.instance
        other.close()  # once more


_SERVE = """
import signal, sys
from pathlib import Path
from lanesum.server.service import serve
with serve(("127.0.0.1", int(sys.argv[1])), "127.0.0.1:0", Path(sys.argv[2])) as (server, service):
    print(server.address[1], service.port, flush=True)
    signal.pause()
"""


@contextlib.contextmanager
def process(port: int, journals: Path) -> Iterator[tuple[Address, RemoteServer]]:
    """A server in a process of its own, killed at the end."""
    command = [sys.executable, "-c", _SERVE, str(port), str(journals)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            udp_port, control_port = map(int, running.stdout.readline().split())
            yield (LOCALHOST, udp_port), RemoteServer(f"{LOCALHOST}:{control_port}", timeout_s=60)
        finally:
            running.send_signal(signal.SIGKILL)


def test_a_killed_server_goes_on_with_its_decisions(tmp_path: Path) -> None:
    with sockets(3, quorum=2) as job:
        with process(0, tmp_path) as (address, remote):
            remote.admit(job.job)
            first = remote.status()
            for chunk, (one, other) in enumerate([(0, 1), (1, 2), (2, 0)]):
                job.send(address, one, chunk)
                job.send(address, other, chunk)
            # Threads of the server may send what different workers have completed in any order.
            results = sorted(job.receive(0) for _ in range(3))
            assert [sorted(job.receive(worker) for _ in range(3)) for worker in (1, 2)] == [results] * 2
            job.send(address, 1, 3)  # nobody hears of this one
        with process(address[1], tmp_path) as (address, remote):
            second = remote.status()
            assert (second.instance != first.instance, second.jobs, second.durable) == (True, {}, True)
            remote.admit(job.job)
            for chunk, late in enumerate((2, 0, 1)):
                job.send(address, late, chunk)
                assert job.receive(late) == results[chunk]
            job.send(address, 2, 3)
            job.send(address, 0, 3)
            contributors = job.workers.check(Packet.unpack(job.receive(0)))
            assert contributors == 0b101
