# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Server on real sockets: workers in threads, and a server process that is killed."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import os
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

from lanesum._internal.native import DEFAULT_SPIN_US, max_spin_s
from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES, Address
from lanesum.errors import ConfigurationError
from lanesum.protocol.packet import Packet
from lanesum.protocol.spec import SLOT_RUN, Flag, Kind
from lanesum.server import AggregationServer, MemberIndex, ServerJob, loops, steering
from lanesum.server.loops import NativeServerLoop, Offload
from lanesum.server.service import serve
from lanesum_control.servers.remote_server import RemoteServer
from tests.host.server.contributions import Workers, served

pytestmark = pytest.mark.usefixtures("implementation")

LOCALHOST = "127.0.0.1"
CHUNKS = 12
UDP_SEGMENT, UDP_GRO = 103, 104  # linux/udp.h


class Sockets:
    """Sockets of all workers of a job, and their packets."""

    def __init__(self, workers: int, **fields: Any) -> None:
        self.sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(workers)]
        for sock in self.sockets:
            sock.bind((LOCALHOST, 0))
            sock.settimeout(200)
        members = {sock.getsockname(): MemberIndex(worker, 0, worker) for worker, sock in enumerate(self.sockets)}
        self.job: ServerJob = served(members, **fields)
        self.workers = Workers(self.job)  # builds packets and checks sums; the server has its own aggregator

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


def test_server_with_workers_in_threads_is_exact() -> None:
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


def test_server_counts_garbage_and_reports_congestion() -> None:
    with AggregationServer((LOCALHOST, 0)) as server, sockets(2) as job:
        server.aggregator.admit(job.job)
        for garbage in (b"", b"x", bytes(65507), job.workers.packet(0)[:-3]):
            job.sockets[0].sendto(garbage, server.address)
        for chunk, marks in enumerate([(0x03, 0x02), (0x02, 0x01)]):  # CE and ECT(0); ECT(0) and ECT(1)
            for worker, mark in enumerate(marks):
                job.sockets[worker].setsockopt(socket.IPPROTO_IP, socket.IP_TOS, mark)
                job.send(server.address, worker, chunk)
            result = Packet.unpack(job.receive(0))
            assert job.workers.check(result) == 0b11
            assert result.header.flags == Flag.BYPASS | (Flag.ECN if chunk == 0 else 0)
        assert server.aggregator.refused == {"malformed": 2, "other version": 1}


def test_exception_in_handle_loses_one_datagram(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # With a quorum, so that the native server calls Python.
    with AggregationServer((LOCALHOST, 0)) as server, sockets(2, quorum=1) as job:
        server.aggregator.admit(job.job)
        handle = server.aggregator.handle
        broken = job.workers.packet(0, spare=1)

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


def test_lost_result_is_replayed() -> None:
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
        assert (replay.header.kind, replay.header.flags) == (Kind.RESULT, Flag.BYPASS | Flag.RETRANSMISSION)
        assert np.array_equal(replay.payload, Packet.unpack(lost[0]).payload)


def test_serve_starts_the_requested_threads(implementation: str) -> None:
    def threads() -> int:
        return [path.read_text() for path in Path("/proc/self/task").glob("*/comm")].count("lanesum-server\n")

    before = threads()
    with serve((LOCALHOST, 0), f"{LOCALHOST}:0", threads=3, offload="off"):
        # Threads of Python have no name in /proc.
        assert threads() - before == (3 if implementation == "native" else 0)


def test_second_server_on_port_raises() -> None:
    for first, second in ((1, 3), (3, 1), (3, 3)):
        with (
            AggregationServer((LOCALHOST, 0), threads=first) as server,
            pytest.raises(ConfigurationError, match=r"The aggregation server cannot bind 127\.0\.0\.1"),
        ):
            AggregationServer(server.address, threads=second)
        with AggregationServer(server.address, threads=second):  # closed, so the port is free
            pass
    with pytest.raises(ConfigurationError, match="threads = 0: the aggregation server needs at least one"):
        AggregationServer((LOCALHOST, 0), threads=0)


def _threads() -> tuple[int, int]:
    """Return the numbers of native threads and of Python threads."""
    native = (path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm"))
    python = (thread.name for thread in threading.enumerate())
    return list(native).count("lanesum-server"), list(python).count("lanesum-server")


def test_close_stops_all_threads(implementation: str) -> None:
    assert _threads() == (0, 0)
    with AggregationServer((LOCALHOST, 0), threads=3):
        assert _threads() == ((3, 0) if implementation == "native" else (0, 1))
    assert _threads() == (0, 0)
    AggregationServer((LOCALHOST, 0), threads=3).close()  # never started
    assert _threads() == (0, 0)


_NOT_CLOSED = """
from lanesum.server import AggregationServer
server = AggregationServer(("127.0.0.1", 0), threads=2)
server.start()
print("serves")
"""


def test_server_continues_after_fork_has_closed_it() -> None:
    with sockets(1) as worker, AggregationServer((LOCALHOST, 0)) as server:
        server.admit(worker.job)
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                server.close()
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        worker.send(server.address, 0, 0)
        assert Packet.unpack(worker.receive(0)).header.kind == Kind.RESULT


def test_process_ends_without_close() -> None:
    done = subprocess.run([sys.executable, "-c", _NOT_CLOSED], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "serves\n", "")


def test_unreferenced_native_server_stops(implementation: str) -> None:
    if implementation == "native":  # a Python thread keeps a reference
        AggregationServer((LOCALHOST, 0), threads=2).start()
        gc.collect()
        assert _threads() == (0, 0)


@pytest.mark.parametrize("offload", ["auto", "on", "off"])
@pytest.mark.parametrize("quorum", [0, 4])
@pytest.mark.parametrize(("threads", "is_steered"), [(1, True), (2, True), (3, True), (3, False)])
def test_threads_share_entries_and_stay_exact(
    offload: Offload, quorum: int, threads: int, is_steered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steered by slot, each thread has entries of its own; by sender, two threads have packets of one entry."""
    if not is_steered:
        monkeypatch.setattr(steering.steering, "steer", lambda *_: PermissionError(1, "refused"))
    chunks = 3 * SLOT_RUN
    with AggregationServer((LOCALHOST, 0), threads=threads, offload=offload) as server:
        with sockets(8, slots=chunks, quorum=quorum) as job:
            server.admit(job.job)
            for chunk in range(chunks):
                for worker in range(8):
                    job.send(server.address, worker, chunk)
            for worker in range(8):
                seen = {}
                while len(seen) < chunks:
                    result = Packet.unpack(job.receive(worker))
                    seen[result.header.chunk] = job.workers.check(result).bit_count()
                assert set(seen.values()) == {quorum or 8}
        assert server.status().refused == {} and server.broken == 0


def test_admit_and_remove_while_packets_arrive() -> None:
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
def test_native_loop_uses_gso_unless_switch_possible(offload: Offload, joinable: bool) -> None:
    requested: list[tuple[bool, bool, bool]] = []

    class Core:
        def __init__(
            self, _aggregator: object, _sockets: object, gso: bool, all_jobs: bool, gro: bool, *_others: object
        ) -> None:
            requested.append((gso, all_jobs, gro))

        def stop(self) -> None: ...

    native: Any = types.SimpleNamespace(UdpServer=Core, probe_offload=lambda _socket: (joinable, "a reason"))
    aggregator: Any = types.SimpleNamespace(core=None, native=native)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        NativeServerLoop([sock], aggregator, threading.Lock(), offload).stop()
    on = offload != "off"
    assert requested == [(on, offload == "on" or (offload == "auto" and joinable), on)]


@pytest.mark.parametrize("joined", [True, False])
def test_job_decides_if_answers_are_joined(joined: bool, implementation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if implementation != "native":
        return
    monkeypatch.setattr(loops, "use_gso", lambda *_: False)  # as behind a veth
    with AggregationServer((LOCALHOST, 0), threads=1) as server, sockets(1, slots=CHUNKS, joined_packets=joined) as job:
        server.admit(job.job)
        packets = [job.workers.packet(0, chunk) for chunk in range(CHUNKS)]
        job.sockets[0].setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
        # One batch for the server.
        segment = socket.IPPROTO_UDP, UDP_SEGMENT, len(packets[0]).to_bytes(2, sys.byteorder)
        job.sockets[0].sendmsg([b"".join(packets)], [segment], 0, server.address)
        got = [len(job.receive(0))]
        while sum(got) < sum(map(len, packets)):  # results are as long as contributions
            got.append(len(job.receive(0)))
        assert len(got) == (1 if joined else CHUNKS)


def test_unknown_offload_raises() -> None:
    with pytest.raises(ConfigurationError, match="Invalid offload 'perhaps': expected one of auto, on, off"):
        AggregationServer((LOCALHOST, 0), offload="perhaps")  # type: ignore[arg-type]


def test_spin_limit_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, implementation: str) -> None:
    monkeypatch.delenv("LANESUM_SPIN", raising=False)
    assert max_spin_s() == DEFAULT_SPIN_US / 1e6
    monkeypatch.setenv("LANESUM_SPIN", "50")
    assert max_spin_s() == 50e-6
    test_server_with_workers_in_threads_is_exact()
    for wrong in ("", "1.5", "-1", "1001", "long"):
        monkeypatch.setenv("LANESUM_SPIN", wrong)
        with pytest.raises(ConfigurationError, match=f"Invalid LANESUM_SPIN='{wrong}': expected an integer from 0 to"):
            max_spin_s()
        if implementation == "native":
            with pytest.raises(ConfigurationError):
                AggregationServer((LOCALHOST, 0))


def test_taken_port_raises_and_instances_differ() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        with pytest.raises(ConfigurationError, match=r"The aggregation server cannot bind 127\.0\.0\.1"):
            AggregationServer(server.address)
        with pytest.raises(ConfigurationError, match="70000"):
            AggregationServer((LOCALHOST, 70000))
        with AggregationServer((LOCALHOST, 0)) as other:
            assert server.instance != other.instance
        other.close()  # idempotent


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
    """Run a server in a process of its own, and kill it at the end."""
    command = [sys.executable, "-c", _SERVE, str(port), str(journals)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            udp_port, control_port = map(int, running.stdout.readline().split())
            yield (LOCALHOST, udp_port), RemoteServer(f"{LOCALHOST}:{control_port}", timeout_s=60)
        finally:
            running.send_signal(signal.SIGKILL)


def test_killed_server_continues_with_its_results(tmp_path: Path) -> None:
    with sockets(3, quorum=2) as job:
        with process(0, tmp_path) as (address, remote):
            remote.admit(job.job)
            first = remote.status()
            for chunk, (one, other) in enumerate([(0, 1), (1, 2), (2, 0)]):
                job.send(address, one, chunk)
                job.send(address, other, chunk)
            # Threads of the server may send the results of different workers in any order.
            results = sorted(job.receive(0) for _ in range(3))
            assert [sorted(job.receive(worker) for _ in range(3)) for worker in (1, 2)] == [results] * 2
            job.send(address, 1, 3)  # no worker receives a result of this chunk
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
