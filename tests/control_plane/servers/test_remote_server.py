# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The stream of a server: its end, its return, and changes of its jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lanesum.rpc import json_grpc
from lanesum.server import AggregationServer, MemberIndex, ServerJob
from lanesum.server.service import STATUS, ServerService
from lanesum_control.servers.remote_server import RemoteServer, ServerError, ServerUnreachableError, WatchedServer


class Changes:
    """Counts events; ``until`` returns when a condition holds, which only an event makes true."""

    def __init__(self) -> None:
        self._news = threading.Event()

    def __call__(self) -> None:
        self._news.set()

    def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            assert self._news.wait(120)
            self._news.clear()


def is_away(server: WatchedServer) -> bool:
    try:
        server.status()
    except ServerUnreachableError:
        return True
    return False


def test_jobs_of_another_client_are_an_event(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/server.sock"
    changes = Changes()
    with (
        AggregationServer(("127.19.0.97", 0)) as server,
        ServerService(server, address),
        WatchedServer(address) as watched,
    ):
        watched.watch(changes)
        changes.until(lambda: not is_away(watched))
        other = RemoteServer(address)
        other.admit(ServerJob(1, 7, {("127.0.0.1", 9): MemberIndex(0, 0, 0)}, 4))
        changes.until(lambda: list(watched.status().jobs) == [1])
        other.remove(1)
        changes.until(lambda: not watched.status().jobs)


def test_close_ends_a_call_of_silent_server(tmp_path: Path) -> None:
    """Else the end of the controller waits for the limit of the call, and for that of a second one."""
    address = f"unix:{tmp_path}/server.sock"
    changes = Changes()
    with AggregationServer(("127.19.0.97", 0)) as server, ServerService(server, address) as service:
        watched = WatchedServer(address, term=3)
        watched._timeout_s = 3600.0
        watched.watch(changes)
        changes.until(lambda: watched._channel is not None)
        with service._term_lock, ThreadPoolExecutor(1) as pool:
            asked = pool.submit(watched._exchange, STATUS, {"term": 3})
            with pytest.raises(TimeoutError):
                asked.result(0.2)
            watched.close()
            with pytest.raises(json_grpc.NoAnswerError, match=r"The connection to unix:.* was closed\."):
                asked.result()


def test_calls_during_open_stream_use_no_new_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"unix:{tmp_path}/server.sock"
    changes, opened = Changes(), []
    call = json_grpc.call
    monkeypatch.setattr(json_grpc, "call", lambda *rest: (opened.append(rest[2]), call(*rest))[1])
    with (
        AggregationServer(("127.19.0.97", 0)) as server,
        ServerService(server, address) as service,
        WatchedServer(address, term=3) as watched,
    ):
        assert watched.status().instance == server.instance and opened == [STATUS]
        watched.watch(changes)
        changes.until(lambda: watched._channel is not None)
        watched.admit(ServerJob(1, 7, {("127.0.0.1", 9): MemberIndex(0, 0, 0)}, 4))
        assert list(watched.status().jobs) == [1] and opened == [STATUS]
        watched._timeout_s = 0.1
        with service._term_lock, pytest.raises(json_grpc.NoAnswerError, match=r"Status at .* has taken 0.1 s so far"):
            watched._exchange(STATUS, {})
        assert opened == [STATUS]
        watched._timeout_s = 120
        RemoteServer(address, term=4).status()
        with pytest.raises(ServerError, match="A controller of term 4 has taken over from that of term 3"):
            watched.status()


def test_restart_is_an_event(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/server.sock"
    changes = Changes()
    with AggregationServer(("127.19.0.97", 0)) as server, WatchedServer(address) as watched:
        with ServerService(server, address):
            watched.watch(changes)
            changes.until(lambda: not is_away(watched))
        changes.until(lambda: is_away(watched))
        with pytest.raises(ServerUnreachableError, match="No aggregation server answers at unix:"):
            watched.status()
        with ServerService(server, address):
            changes.until(lambda: not is_away(watched))
