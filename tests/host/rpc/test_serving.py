# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Services of JSON messages, with peers that hold what they can: calls, threads, streams, connections and answers."""

from __future__ import annotations

import contextlib
import gc
import queue
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import grpc
import pytest

from lanesum.errors import ConfigurationError, LanesumError
from lanesum.rpc import json_grpc
from lanesum.rpc.caller import Caller, CallerRole
from lanesum.rpc.calls import RefusedError, cut
from lanesum.rpc.json_grpc import (
    CancelledCallError,
    NoAnswerError,
    NoConnectionError,
    RefusedCallError,
    ReplyStream,
    call,
    encode,
)
from lanesum.rpc.limits import Limits
from lanesum.rpc.serving import JsonService
from tests.descriptors import none_left
from tests.raw_http2 import CONTINUATION, DATA, HEADERS, RST_STREAM, SETTINGS, RawPeer, frame, headers, message
from tests.waiting import wait_until

SERVICE = "test.Service"
PATH = f"/{SERVICE}/Echo".encode()
CODES = grpc.StatusCode
WAIT_S = 200.0


class Counting:
    """A stream of ``until`` messages."""

    def __init__(self, until: int, wake: Callable[[], None]) -> None:
        self.sent, self.until, self.wake = 0, until, wake
        self.ended = False
        self.closed = threading.Event()

    def poll(self) -> dict[str, Any] | None:
        self.sent += 1
        self.ended = self.sent == self.until
        self.wake()
        return {"number": self.sent}

    def close(self, is_cut_off: bool = False) -> None:
        self.is_cut_off = is_cut_off
        self.closed.set()


class Open(Counting):
    """A stream with one message, and no end."""

    def poll(self) -> dict[str, Any] | None:
        self.sent += 1
        return {"number": 1} if self.sent == 1 else None


class Held(Counting):
    """A stream of one message, which comes once ``go`` is set."""

    def __init__(self, wake: Callable[[], None]) -> None:
        super().__init__(1, wake)
        self.go = threading.Event()

    def poll(self) -> dict[str, Any] | None:
        self.go.wait(WAIT_S)
        return super().poll()


class Site:
    """A service whose method Wait sets ``arrived``, and answers once ``release`` is set."""

    def __init__(self, limits: Limits | None = None, address: str = "127.0.0.1:0", **more: Any) -> None:
        self.arrived, self.release = threading.Event(), threading.Event()
        self.opened: list[Counting] = []
        self.callers: list[Caller] = []
        handlers = {
            "Echo": self._echo,
            "Wait": self._wait,
            "Slow": self._wait,
            "Large": lambda message, _: {"text": "x" * message["length"]},
            "Fail": self._fail,
        }
        streams = {"Count": self._count, "Open": self._open, "Held": self._held, "Refuse": self._fail}
        self.service = JsonService(
            address, SERVICE, handlers, owner="test", streams=streams, slow=("Slow",), limits=limits, **more
        )
        self.address = self.service.address

    def _wait(self, _message: dict[str, Any], _caller: Caller) -> dict[str, Any]:
        self.arrived.set()
        return {"waited": self.release.wait(WAIT_S)}

    def _echo(self, message: dict[str, Any], caller: Caller) -> dict[str, Any]:
        self.callers.append(caller)
        return message

    @staticmethod
    def _fail(message: dict[str, Any], *_: Any) -> Any:
        if message.get("bug"):
            raise RuntimeError("secret")
        raise LanesumError("This is refused.", "Ask for something else.")

    def _count(self, message: dict[str, Any], _: Caller, wake: Callable[[], None]) -> Counting:
        self.opened.append(Counting(message["until"], wake))
        return self.opened[-1]

    def _open(self, message: dict[str, Any], _: Caller, wake: Callable[[], None]) -> Counting:
        self.opened.append(Open(0, wake))
        return self.opened[-1]

    def _held(self, message: dict[str, Any], _: Caller, wake: Callable[[], None]) -> Held:
        held = Held(wake)
        self.opened.append(held)
        return held

    def call(self, method: str = "Echo", **message: Any) -> dict[str, Any]:
        return call(self.address, SERVICE, method, message, WAIT_S)

    def stream(self, method: str, **message: Any) -> ReplyStream:
        return ReplyStream(self.address, SERVICE, method, message)


def patient(**limits: Any) -> Limits:
    """Return limits that end no call, and no connection, of a busy machine; ``limits`` are other ones."""
    return Limits(**{"message_s": WAIT_S, "handshake_s": WAIT_S, "idle_s": WAIT_S, **limits})


@contextlib.contextmanager
def running(limits: Limits | None = None, **more: Any) -> Iterator[Site]:
    site = Site(limits or patient(), **more)
    with site.service:
        try:
            yield site
        finally:
            site.release.set()


@contextlib.contextmanager
def peers(address: str, count: int, sent: bytes = headers(PATH), **more: Any) -> Iterator[list[RawPeer]]:
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(RawPeer(address, **more)) for _ in range(count)]
        for peer in found:
            peer.send(sent)
        yield found


def code_of(failure: pytest.ExceptionInfo[grpc.RpcError]) -> grpc.StatusCode:
    code: grpc.StatusCode = failure.value.code()
    return code


def test_calls_without_message_block_no_others() -> None:
    """Eight of them once held all threads of the service."""
    with running() as site, peers(site.address, 8) as silent:
        for number in range(20):
            assert site.call(number=number) == {"number": number}
        assert site.stream("Count", until=2).__iter__().__next__() == {"number": 1}
        for peer in silent:
            with pytest.raises(TimeoutError):
                peer.status(timeout_s=0.01)


def test_stream_calls_the_service_over_its_own_connection() -> None:
    with running(patient(connections=1)) as site:
        with site.stream("Open") as stream:
            wait_until(lambda: site.opened)
            assert stream.call("Echo", {"a": 1}, WAIT_S) == {"a": 1}
            with pytest.raises(RefusedCallError, match="This is refused"):
                stream.call("Fail", {}, WAIT_S)
            with pytest.raises(NoAnswerError, match=r"within 0\.05 s"):
                stream.call("Wait", {}, 0.05)
        with pytest.raises(ValueError, match="closed"):
            stream.call("Echo", {}, WAIT_S)


def test_call_without_a_message_ends_in_time() -> None:
    with running(patient(message_s=0.2)) as site, peers(site.address, 2) as silent:
        assert [peer.status() for peer in silent] == [CODES.DEADLINE_EXCEEDED.value[0]] * 2
        part = frame(DATA, 0, 1, b"\0\0\0\0\x02{")  # one byte of a message of two
        with peers(site.address, 1, headers(PATH) + part) as slow:
            assert slow[0].status() == CODES.DEADLINE_EXCEEDED.value[0]
        requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        with grpc.insecure_channel(site.address) as channel:
            with pytest.raises(grpc.RpcError, match=r"The call had no message within 0\.2 s"):
                channel.stream_unary(PATH.decode())(iter(requests.get, None))
            requests.put(None)


def test_message_that_is_no_json_is_refused() -> None:
    with running() as site, grpc.insecure_channel(site.address) as channel:
        with pytest.raises(grpc.RpcError, match="The message is no JSON object") as failure:
            channel.unary_unary(PATH.decode())(b"no JSON", wait_for_ready=True)
        assert code_of(failure) == CODES.INVALID_ARGUMENT


def test_call_beyond_the_silent_ones_ends_the_oldest() -> None:
    with running(patient(silent=3)) as site, peers(site.address, 1) as (peer,):
        for stream in (3, 5, 7, 9):
            peer.send(headers(PATH, stream))
        for oldest in (1, 3):
            assert peer.status(oldest) == CODES.RESOURCE_EXHAUSTED.value[0]
        peer.send(message(b"{}", 5))
        assert peer.status(5) == CODES.OK.value[0]
        assert site.call(a=1) == {"a": 1}


def test_call_beyond_the_waiting_ones_is_refused() -> None:
    limits = patient(waiting=3, threads_of_caller=1)
    with running(limits) as site, peers(site.address, 1, b"") as (peer,):
        for stream in (1, 3, 5, 7):
            peer.send(headers(f"/{SERVICE}/Wait".encode(), stream) + message(b"{}", stream))
        assert peer.status() == CODES.RESOURCE_EXHAUSTED.value[0]
        with pytest.raises(RefusedCallError, match="has 3 calls in work already"):
            site.call()
        site.release.set()
        assert [peer.status() for _ in range(3)] == [CODES.OK.value[0]] * 3
        assert site.call("Wait") == {"waited": True}


def test_slow_methods_leave_threads_to_the_others() -> None:
    with running() as site, ThreadPoolExecutor(12) as threads:
        slow = [threads.submit(site.call, "Slow") for _ in range(12)]
        assert site.call(a=1) == {"a": 1}
        site.release.set()
        assert [one.result(WAIT_S) for one in slow] == [{"waited": True}] * 12


def test_calls_above_the_rate_are_delayed(monkeypatch: pytest.MonkeyPatch) -> None:
    delays: list[float] = []

    async def sleep(delay_s: float) -> None:
        delays.append(delay_s)

    monkeypatch.setattr("lanesum.rpc.limits.time", SimpleNamespace(monotonic=lambda: 1024.0))
    monkeypatch.setattr("asyncio.sleep", sleep)
    with running(patient(rate=64.0, burst=4)) as site, grpc.insecure_channel(site.address) as channel:
        method = channel.unary_unary(f"/{SERVICE}/Echo")
        for _ in range(14):
            assert method(b"{}", wait_for_ready=True) == b"{}"
    assert delays == [number / 64 for number in range(1, 11)]


def test_streams_need_no_threads_and_are_counted() -> None:
    with running(patient(streams_of_caller=40)) as site, contextlib.ExitStack() as stack:
        before = threading.active_count()
        channel = stack.enter_context(grpc.insecure_channel(site.address))
        method = channel.unary_stream(f"/{SERVICE}/Open")
        streams = [method(b"{}") for _ in range(40)]
        for stream in streams:
            assert next(stream) == encode({"number": 1})
        assert threading.active_count() - before < 30
        with pytest.raises(RefusedCallError, match="All 40 streams of this caller are in use"):
            next(iter(site.stream("Open")))
        streams[0].cancel()
        wait_until(lambda: any(one.closed.is_set() for one in site.opened))
        assert next(iter(stack.enter_context(site.stream("Count", until=1)))) == {"number": 1}


def test_stream_has_all_messages_and_is_closed() -> None:
    with running() as site:
        assert [one["number"] for one in site.stream("Count", until=5)] == [1, 2, 3, 4, 5]
        assert site.opened[0].closed.wait(WAIT_S)
        with site.stream("Open") as stream:
            assert next(iter(stream)) == {"number": 1}
        assert site.opened[1].closed.wait(WAIT_S)
        with pytest.raises(RefusedCallError, match="Ask for something else"):
            next(iter(site.stream("Refuse")))


def test_stream_that_ends_during_waiting_close_is_closed() -> None:
    """The end of the call once cancelled that wait, and the stream stayed open at its handler for ever."""
    with running(patient(threads_of_caller=1)) as site, ThreadPoolExecutor(2) as threads:
        stream = site.stream("Held")
        reading = threads.submit(next, iter(stream))
        wait_until(lambda: site.opened)
        (held,) = site.opened
        assert isinstance(held, Held)
        (share,) = site.service._shares._shares.values()
        waiting = threads.submit(site.call, "Wait")
        wait_until(lambda: share.threads[False]._waiters)  # the call waits until the stream releases the only thread
        held.go.set()
        assert site.arrived.wait(WAIT_S) and reading.result(WAIT_S) == {"number": 1}
        wait_until(lambda: share.threads[False]._waiters)  # the stream waits, to close
        (of_stream,) = [one for one in site.service._calls if one._streams]
        stream.close()
        wait_until(of_stream.ended.done)
        site.release.set()
        assert waiting.result(WAIT_S) == {"waited": True}
        assert held.closed.wait(WAIT_S)


def test_close_ends_streams_and_waits_for_handlers() -> None:
    with running() as site:
        stream = iter(site.stream("Open"))
        assert next(stream) == {"number": 1}
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(site.call, "Wait")
            assert site.arrived.wait(WAIT_S)
            threading.Timer(0.2, site.release.set).start()
            site.service.close()
            with pytest.raises((NoAnswerError, RefusedCallError)):
                next(stream)
            with contextlib.suppress(LanesumError):
                waiting.result(WAIT_S)
        assert site.opened[0].closed.is_set()
        site.service.close()


def test_method_name_with_invalid_text_is_refused_alone() -> None:
    with running() as site:
        for path in (b"/\xff\xfe/Echo", PATH + b"\xc3", b"/", b"\0"):
            with peers(site.address, 1, headers(path) + message(b"{}")) as strange:
                assert strange[0].status() in (CODES.UNIMPLEMENTED.value[0], None)
        with peers(site.address, 1, headers(PATH, more=((b"x", b"\xff\xfe"),)) + message(b"{}")) as strange:
            strange[0].status()
        assert site.call(a=1) == {"a": 1}


def test_answer_that_is_not_taken_is_dropped() -> None:
    """The peer allows the server no byte of the answer."""
    large = headers(f"/{SERVICE}/Large".encode()) + message(b'{"length": 1000000}')
    with running(patient(message_s=0.2)) as site, peers(site.address, 1, large, window=0) as deaf:
        assert deaf[0].next_frame(RST_STREAM) is not None
        assert site.call(a=1) == {"a": 1}


def test_connections_are_limited_and_end_when_idle() -> None:
    limits = patient(connections=4, handshake_s=0.3, idle_s=0.3)
    with running(limits) as site:
        with peers(site.address, 4, b"") as idle, RawPeer(site.address) as refused:
            assert refused.is_closed()
            assert all(peer.is_closed() for peer in idle)
        with peers(site.address, 1, b"", preface=False) as silent:
            assert silent[0].is_closed()
        assert site.call(a=1) == {"a": 1}


def test_one_host_leaves_connections_to_others() -> None:
    """It has all connections but two; those with a call, and as many others as its share, stay open."""
    limits = patient(connections=16)
    with running(limits) as site, contextlib.ExitStack() as stack:
        busy = stack.enter_context(RawPeer(site.address, source="127.0.0.2"))
        busy.send(headers(PATH))
        wait_until(lambda: site.service._calls)
        others = [stack.enter_context(RawPeer(site.address, source="127.0.0.2")) for _ in range(13)]
        while sum(peer.is_closed(timeout_s=0.05) for peer in others) < 9:
            pass  # the test's time limit ends it
        # The age of connections that several processors accept is not exact: the busy one may be among the last four.
        assert sum(peer.is_closed(timeout_s=0.05) for peer in others) in (9, 10)
        busy.send(message(b"{}"))
        assert busy.status() == CODES.OK.value[0]
        for _ in range(3):
            stack.enter_context(RawPeer(site.address))
        assert site.call(a=1) == {"a": 1}


def test_connection_that_sends_without_a_call_is_ended() -> None:
    """Headers without an end took 225 MiB, and delayed the calls of others by seconds."""
    limits = patient(unknown_bytes=1 << 16)
    with running(limits) as site, peers(site.address, 1, frame(HEADERS, 0, 1, b"\0\1a\1b" * 100)) as endless:
        with contextlib.suppress(OSError):
            while not endless[0].is_closed(timeout_s=0.01):
                endless[0].send(frame(CONTINUATION, 0, 1, b"\0\1a\1b" * 2000))
                site.service._connections.due.set()  # else only a busy process looks
        assert site.call(a=1) == {"a": 1}
        assert site.call(text="x" * (1 << 18))["text"], "a call makes its connection one that may send"


def test_long_message_of_unread_call_keeps_its_connection() -> None:
    """A busy process reads calls late. The bytes of a message until then are no flood."""
    with running() as site, ThreadPoolExecutor(1) as pool:
        go = threading.Event()
        site.service._loop.call_soon_threadsafe(go.wait, WAIT_S)
        answer = pool.submit(call, site.address, SERVICE, "Echo", {"text": "x" * 900_000}, 30.0)
        wait_until(lambda: any(one.received > 1 << 15 for one in site.service._connections._opened()))
        time.sleep(0.3)  # without flow control the whole message arrives
        ended = site.service._connections.look(set(), is_due=True)
        go.set()
        assert ended == 0
        assert len(answer.result()["text"]) == 900_000


def test_connection_trusted_during_a_look_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look of a busy process takes long. A connection that it has not seen yet is identified meanwhile."""
    with running() as site:
        connections, tester = site.service._connections, threading.current_thread()
        opened, before = connections._opened, connections._opened()
        stream = ReplyStream(site.address, SERVICE, "Open", {})

        def call_meanwhile() -> Any:
            if threading.current_thread() != tester:  # a look of the service
                return opened()
            stream.call("Echo", {"text": "x" * 900_000}, WAIT_S)
            return before

        with contextlib.closing(stream):
            with monkeypatch.context() as patch:
                patch.setattr(connections, "_opened", call_meanwhile)
                connections.look(set(), is_due=True)
            assert connections.look(set(), is_due=True) == 0
            assert stream.call("Echo", {"a": 1}, WAIT_S) == {"a": 1}


def test_cancelled_call_of_a_stream_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service cancels calls while too many wait for it."""
    refusals = [RefusedError(CODES.CANCELLED, "Too many calls.") for _ in range(3)]

    def busy(message: dict[str, Any], _: Caller) -> dict[str, Any]:
        if refusals:
            raise refusals.pop()
        return message

    with (
        JsonService("127.0.0.1:0", SERVICE, {"Echo": busy}, owner="test") as service,
        ReplyStream(service.address, SERVICE, "Echo", {}) as stream,
    ):
        assert stream.call("Echo", {"a": 1}, WAIT_S) == {"a": 1}
        refusals.append(RefusedError(CODES.CANCELLED, "Too many calls."))
        monkeypatch.setattr(json_grpc, "_AGAIN_S", 2 * WAIT_S)  # no time is left to repeat it
        with pytest.raises(CancelledCallError, match=f"within {WAIT_S:g} s"):
            stream.call("Echo", {}, WAIT_S)


def test_close_beside_call_of_ended_peer_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that reads events ended by an error, so that the service never closed."""
    arrived = threading.Event()
    with running() as site, RawPeer(site.address) as peer:

        def is_of_ended(_call: Any) -> bool:
            arrived.set()
            site.service._ending.wait(WAIT_S)
            time.sleep(0.2)  # until gRPC takes no requests any more
            return True

        monkeypatch.setattr(site.service, "_is_of_ended", is_of_ended)
        peer.send(headers(PATH))
        assert arrived.wait(WAIT_S)
        site.service.close()
    assert not site.service._threads


def test_connection_of_cancelled_calls_is_ended() -> None:
    with running(patient(blamed=8)) as site, RawPeer(site.address) as fickle:
        for stream in range(1, 101, 2):
            with contextlib.suppress(OSError):
                fickle.send(headers(PATH, stream) + frame(RST_STREAM, 0, stream, b"\0\0\0\x08"))
        assert fickle.is_closed()
        assert site.call(a=1) == {"a": 1}


def test_connection_of_unidentified_calls_is_ended() -> None:
    def refuse(*_: object) -> Caller:
        raise LanesumError("No token.")

    with running(patient(blamed=8), authenticate=refuse) as site, RawPeer(site.address) as unknown:
        for stream in range(1, 101, 2):
            with contextlib.suppress(OSError):
                unknown.send(headers(PATH, stream) + message(b"{}", stream))
        assert unknown.is_closed()
        with pytest.raises(RefusedCallError, match="No token"):
            site.call(a=1)


def test_service_without_descriptors_answers_later() -> None:
    """The thread that looks after connections ended for good."""
    with running() as site, RawPeer(site.address) as known:
        assert known.next_frame(SETTINGS) is not None  # the server has accepted it
        with none_left():
            site.service._connections.due.set()
            wait_until(lambda: not site.service._connections.due.is_set())
            known.send(headers(PATH) + message(b'{"a": 1}'))
            assert known.status() == CODES.OK.value[0]
        assert site.call(a=1) == {"a": 1}
        assert all(thread.is_alive() for thread in site.service._threads)


def test_message_beyond_the_methods_length_is_refused() -> None:
    with running(max_bytes={"Echo": 100}) as site:
        assert site.call("Large", length=1, more="x" * 200)
        with pytest.raises(RefusedCallError, match=r"has 2\d\d bytes, and the method takes 100"):
            site.call(text="x" * 200)
        length = len(encode({"text": ""}))
        assert site.call(text="x" * (100 - length)) == {"text": "x" * (100 - length)}
        with pytest.raises(RefusedCallError, match=r"has 101 bytes, and the method takes 100"):
            site.call(text="x" * (101 - length))


def test_long_error_text_keeps_both_ends_within_limits() -> None:
    for character, size in (("x", 1), ("\u00e9", 6), ("\U0001f600", 12)):  # size: percent-encoded
        whole = "begin " + character * (6000 // size) + " end"
        assert cut(whole) == whole
        text = cut("begin " + character * 10_000 + " end")
        assert text.startswith("begin ") and text.endswith(" end") and " ... " in text
        assert len(quote(text)) <= 8 << 10


def test_refusals_and_bugs_are_told_apart() -> None:
    with running() as site:
        with pytest.raises(RefusedCallError, match="Ask for something else"):
            site.call("Fail")
        with pytest.raises(RefusedCallError, match="Internal error") as failure:
            site.call("Fail", bug=True)
        assert "secret" not in str(failure.value)
        with pytest.raises(RefusedCallError, match="no such method"):
            site.call("Unknown")


def test_health_is_that_of_the_protocol() -> None:
    """Bytes of ``grpc.health.v1``: request {1: service}, response {1: SERVING = 1 or SERVICE_UNKNOWN = 3}."""
    with running() as site, grpc.insecure_channel(site.address) as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        named = b"\x0a" + bytes([len(SERVICE)]) + SERVICE.encode()
        assert check(b"", wait_for_ready=True) == check(named) == b"\x08\x01"
        with pytest.raises(grpc.RpcError, match="The server has no such service") as failure:
            check(b"\x0a\x01x")
        assert code_of(failure) == CODES.NOT_FOUND
        with pytest.raises(grpc.RpcError, match="Method not found!") as failure:
            channel.unary_unary("/grpc.health.v1.Health/Other")(b"")
        assert code_of(failure) == CODES.UNIMPLEMENTED
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
        assert next(watch(named)) == b"\x08\x01"
        assert next(watch(b"\x0a\x01x")) == b"\x08\x03"


def list_until_end(stream: Any) -> list[bytes]:
    """Return the messages of a stream that ends with an error."""
    found: list[bytes] = []
    with contextlib.suppress(grpc.RpcError):
        found.extend(stream)
    return found


def test_watch_sends_each_status_once() -> None:
    with contextlib.ExitStack() as stack:
        site = stack.enter_context(running())
        watch = stack.enter_context(grpc.insecure_channel(site.address)).unary_stream("/grpc.health.v1.Health/Watch")
        unknown = watch(b"\x0a\x01x", wait_for_ready=True)
        assert next(unknown) == b"\x08\x03"
        known = watch(b"")
        for status in (b"\x08\x01", b"\x08\x02"):
            assert next(known) == status
            site.service.set_health(is_serving=False)
        site.service.close()
        assert (list_until_end(known), list_until_end(unknown)) == ([], [])


def test_authenticate_names_the_caller() -> None:
    def authenticate(metadata: Mapping[str, Any], auth_context: Mapping[str, Any]) -> Caller:
        assert auth_context.get("transport_security_type", [b"insecure"]) == [b"insecure"]
        if metadata.get("authorization") != "Bearer right":
            raise LanesumError("The token is not known.", "Ask the operator for one.")
        return Caller("alice", CallerRole.TENANT)

    with running(authenticate=authenticate) as site, grpc.insecure_channel(site.address) as channel:
        method = channel.unary_unary(f"/{SERVICE}/Echo")
        assert method(b"{}", metadata=(("authorization", "Bearer right"),), wait_for_ready=True) == b"{}"
        (caller,) = site.callers
        assert (caller.name, caller.role) == ("alice", CallerRole.TENANT)
        assert caller.source.startswith("ipv4:127.0.0.1:")
        for metadata in ((), (("authorization", "Bearer wrong"),)):
            with pytest.raises(grpc.RpcError, match="Ask the operator") as failure:
                method(b"{}", metadata=metadata)
            assert code_of(failure) == CODES.UNAUTHENTICATED
        assert len(site.callers) == 1
        assert channel.unary_unary("/grpc.health.v1.Health/Check")(b"") == b"\x08\x01"


def test_callers_of_one_name_have_own_shares() -> None:
    def authenticate(metadata: Mapping[str, Any], _: object) -> Caller:
        return Caller("root", CallerRole(metadata["role"]))

    limits = patient(streams_of_caller=1)
    with running(limits, authenticate=authenticate) as site, grpc.insecure_channel(site.address) as channel:
        stream = channel.unary_stream(f"/{SERVICE}/Open")
        opened = []
        for role in CallerRole:
            opened.append(stream(b"{}", metadata=(("role", role),)))
            assert next(opened[-1]) == encode({"number": 1})
        with pytest.raises(grpc.RpcError, match="All 1 streams of this caller are in use"):
            next(stream(b"{}", metadata=(("role", CallerRole.WORKER),)))
        for one in opened:
            one.cancel()


def test_revoked_caller_loses_streams_and_silent_calls() -> None:
    withdrawn: set[str] = set()
    known = {
        "authenticate": lambda metadata, _: Caller(metadata["name"]),
        "is_revoked": lambda one: one.name in withdrawn,
    }
    with running(**known) as site, grpc.insecure_channel(site.address) as channel, ThreadPoolExecutor(1) as threads:
        stream, unary = channel.unary_stream(f"/{SERVICE}/Open"), channel.unary_unary(f"/{SERVICE}/Wait")
        opened = {}
        for name in ("eve", "bob"):
            opened[name] = stream(b"{}", metadata=(("name", name),))
            assert next(opened[name]) == encode({"number": 1})
        in_work = threads.submit(unary, b"{}", metadata=(("name", "eve"),))
        assert site.arrived.wait(WAIT_S)
        with peers(site.address, 1, headers(PATH, more=((b"name", b"eve"),))) as silent:
            wait_until(lambda: len(site.service._calls) == 4)
            withdrawn.add("eve")
            with pytest.raises(grpc.RpcError, match=r"The token of this caller was withdrawn") as ended:
                next(opened["eve"])
            assert code_of(ended) == CODES.UNAUTHENTICATED
            assert silent[0].status() == CODES.UNAUTHENTICATED.value[0]
        assert site.opened[0].closed.wait(WAIT_S)
        assert site.opened[0].is_cut_off, "the caller did not end it"
        assert not site.opened[1].closed.is_set() and opened["bob"].is_active()
        site.release.set()
        assert in_work.result(WAIT_S) == encode({"waited": True})
        opened["bob"].cancel()


def test_socket_file_is_private_and_of_one_server(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/service.sock"
    with running(address=address) as site:
        assert site.address == address
        assert stat.S_IMODE((tmp_path / "service.sock").stat().st_mode) == 0o600
        assert site.call(a=1) == {"a": 1}
        with pytest.raises(ConfigurationError, match="cannot listen"):
            Site(address=address)


@pytest.mark.parametrize("address", ["", "nowhere", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", ":5"])
def test_malformed_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{address!r} is not an address to listen at"):
        Site(address=address)


def test_ended_calls_are_freed_without_a_garbage_collection() -> None:
    """gRPC counts calls that are still in memory as open, and refuses new ones beyond the bound of streams."""
    few = patient(streams_of_caller=4, waiting=4)
    service = JsonService("127.0.0.1:0", SERVICE, {"Echo": lambda message, _caller: message}, owner="test", limits=few)
    gc.collect()
    gc.disable()
    try:
        with service, grpc.insecure_channel(f"127.0.0.1:{service.port}") as channel:
            echo = channel.unary_unary(PATH.decode())
            assert [echo(b"{}") for _ in range(200)] == 200 * [b"{}"]
    finally:
        gc.enable()


def test_call_without_a_service_has_no_connection(tmp_path: Path) -> None:
    address = f"unix:{tmp_path / 'absent.sock'}"
    with pytest.raises(NoConnectionError, match=rf"No connection to {address} within 0\.01 s"):
        call(address, "test.Service", "Echo", {}, 10.0, connect_s=0.01)
