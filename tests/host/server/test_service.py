# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Control service of the server, and its client."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from lanesum.errors import ConfigurationError
from lanesum.rpc import json_grpc
from lanesum.rpc.serving import JsonService
from lanesum.server import AggregationServer
from lanesum.server.jobs import ServerJob, ServerStatus
from lanesum.server.service import ADMIT, REMOVE, SERVICE, STATUS, ServerService, serve
from lanesum_control.servers.remote_server import RemoteServer, ServerError, ServerUnreachableError
from tests.host.server.contributions import Workers, flat, racks, served
from tests.raw_http2 import RawPeer, headers

pytestmark = pytest.mark.usefixtures("implementation")

LOCALHOST = "127.0.0.1"
Running = tuple[AggregationServer, RemoteServer]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with serve((LOCALHOST, 0), f"{LOCALHOST}:0", tmp_path) as (server, service):
        yield server, RemoteServer(f"{LOCALHOST}:{service.port}", timeout_s=60)


def test_remote_server_admits_lists_and_removes_jobs(running: Running) -> None:
    server, remote = running
    joined = served(flat(2), job=8, joined_packets=True, servers=3)
    jobs = {7: served(racks(2, 1), quorum=2, on_switches=True), 8: joined}
    for job in jobs.values():
        remote.admit(job)
        remote.admit(job)
    threads = server.status()
    assert remote.status() == ServerStatus(
        server.instance, server.address, True, jobs, {}, {}, 0, [0] * len(threads.received), threads.steered_by
    )
    remote.remove(7)
    remote.remove(7)
    assert remote.status().jobs == {8: jobs[8]} == server.aggregator.jobs


def test_controller_of_an_earlier_term_is_refused(running: Running) -> None:
    server, remote = running
    job = served(flat(2))
    earlier, later = (RemoteServer(remote.address, timeout_s=60, term=term) for term in (3, 4))
    earlier.admit(job)
    assert later.status().jobs == {job.job: job}
    for call in (earlier.status, lambda: earlier.admit(job), lambda: earlier.remove(job.job)):
        with pytest.raises(ServerError, match="A controller of term 4 has taken over from that of term 3"):
            call()
    assert remote.status().jobs == {job.job: job} == server.aggregator.jobs, "tools without a term may ask"


def test_later_controller_waits_for_change_of_earlier_one(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    server, remote = running
    job = served(flat(2))
    earlier, later = (RemoteServer(remote.address, timeout_s=60, term=term) for term in (3, 4))
    begun, removed, admit = threading.Event(), threading.Event(), server.admit

    def admit_slowly(job: ServerJob) -> None:
        begun.set()
        assert not removed.wait(0.2), "the later controller's change came between check and change"
        admit(job)

    monkeypatch.setattr(server, "admit", admit_slowly)

    def remove() -> None:
        begun.wait()
        later.remove(job.job)
        removed.set()

    remover = threading.Thread(target=remove)
    remover.start()
    earlier.admit(job)
    remover.join()
    assert not server.aggregator.jobs


@pytest.mark.parametrize("number", [-1, 2**32, 2**64, 10**30])
def test_remove_unknown_number_has_no_effect(running: Running, number: int) -> None:
    _, remote = running
    job = served(flat(2))
    remote.admit(job)
    remote.remove(number)
    assert remote.status().jobs == {job.job: job}


def test_status_has_counters(running: Running) -> None:
    server, remote = running
    workers = Workers(served(flat(2)), server.aggregator)
    for worker in (0, 0, 1):
        workers.send(worker)
    workers.handle(0, b"short")
    status = remote.status()
    assert status.decisions == {"claim": 1, "report_pending": 1, "contribute_and_complete": 1}
    assert status.refused == {"malformed": 1}


def test_refusal_has_the_servers_message(running: Running) -> None:
    _, remote = running
    remote.admit(served(flat(2)))
    with pytest.raises(
        ServerError, match=r"The aggregation server at .*under its tag already, and it is not the same job"
    ):
        remote.admit(served(flat(3)))


def test_status_without_journals_is_not_durable() -> None:
    with serve((LOCALHOST, 0), f"{LOCALHOST}:0") as (_, service):
        assert not RemoteServer(f"{LOCALHOST}:{service.port}", timeout_s=60).status().durable


def test_admit_1024_workers_fits_a_message(running: Running) -> None:
    _, remote = running
    job = served(racks(*[32] * 32))
    remote.admit(job)
    assert remote.status().jobs == {7: job}


@pytest.mark.parametrize(
    ("method", "message", "words"),
    [
        (ADMIT, {}, "has no job"),
        (ADMIT, {"job": 5}, "has no job"),
        (ADMIT, {"job": "{}"}, "Not a job for the server"),
        (REMOVE, {}, "has no job"),
        (REMOVE, {"job": "7"}, "The message has no job, or none that is of type int"),
        (REMOVE, {"job": True}, "The message has no job, or none that is of type int"),
    ],
)
def test_invalid_message_is_refused(running: Running, method: str, message: dict[str, Any], words: str) -> None:
    _, remote = running
    with pytest.raises(json_grpc.RefusedCallError, match=words):
        json_grpc.call(remote.address, SERVICE, method, message, 60)
    assert remote.status().jobs == {}


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b"{", b"7", b'{"job": '])
def test_invalid_bytes_are_refused(running: Running, data: bytes) -> None:
    _, remote = running
    with grpc.insecure_channel(remote.address) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(f"/{SERVICE}/{STATUS}")(data, timeout=60, wait_for_ready=True)
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert remote.status().jobs == {}


def test_status_of_another_service_raises() -> None:
    replies: list[dict[str, Any]] = [{}, {"jobs": 5}, {"jobs": ["x"]}, {"jobs": [], "address": 1}, {"protocol": 3}]
    answering = iter(replies)
    with JsonService(f"{LOCALHOST}:0", SERVICE, {STATUS: lambda *_: next(answering)}, owner="test") as service:
        remote = RemoteServer(f"{LOCALHOST}:{service.port}", timeout_s=60)
        for reply in replies:
            why = "uses protocol version 3, and this controller 2" if "protocol" in reply else ""
            with pytest.raises(ServerError, match=f"status of the aggregation server at .* cannot be read: .*{why}"):
                remote.status()
        with pytest.raises(ServerError, match="Run the same version of lanesum at both ends"):
            remote.remove(1)


def test_calls_without_a_message_stop_no_other(running: Running) -> None:
    """Eight of them once held all threads of the service."""
    _, remote = running
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(RawPeer(remote.address)).send(headers(f"/{SERVICE}/{STATUS}".encode()))
        for _ in range(3):
            assert remote.status().jobs == {}


def test_unreachable_server_raises() -> None:
    with pytest.raises(ServerUnreachableError, match=r"No aggregation server answers at .*:1 within 0\.2 s"):
        RemoteServer(f"{LOCALHOST}:1", timeout_s=0.2).status()


def test_taken_control_port_raises() -> None:
    with serve((LOCALHOST, 0), f"{LOCALHOST}:0") as (server, service):
        address = f"{LOCALHOST}:{service.port}"
        with pytest.raises(ConfigurationError, match=f"aggregation server cannot listen at {address}"):
            ServerService(server, address)
        with pytest.raises(ConfigurationError, match="cannot listen"), serve((LOCALHOST, 0), address):
            pass
