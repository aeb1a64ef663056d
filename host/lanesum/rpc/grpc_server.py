# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Asynchronous gRPC server: one event loop for all calls, and a bounded pool of threads for blocking code.

A call needs a thread only once its message is there, and each bound has a share for one caller. The server uses the
completion queue of grpcio, as grpcio's own servers do. ``grpc.aio`` has no call that ends another caller's call, and
its server ends when a method name is no UTF-8 (grpcio 1.85); ``grpc.server`` has a thread for each open call.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from lanesum._internal.closing import Serving
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.rpc.caller import Caller, CallerRole
from lanesum.rpc.calls import Call, RefusedError, Waiter, cygrpc, source_of
from lanesum.rpc.connections import PROBE_AFTER_S, Connections, cut_off_peers, probe_hosts
from lanesum.rpc.json_grpc import OPTIONS
from lanesum.rpc.limits import Limits, Shares
from lanesum.rpc.tls import import_grpc

logger = logging.getLogger(__name__)

# TCP finds a dead host sooner. A process that is stopped, by a debugger or for a snapshot, may be silent for minutes.
_PING_AFTER_S, _PING_TIMEOUT_S = 30, 600
# New calls of one connection before gRPC reads from others; its cancelled ones, until gRPC has freed them; and calls of
# all peers that wait for the event loop, whose headers gRPC holds. It cancels one more, and clients repeat it.
_READ_BYTES = 1 << 15  # of one connection
_REQUESTS_PER_READ, _MAX_DEALLOCATING, _MAX_PENDING = 4, 64, 96
_LOOK_S = 0.02  # between two questions whether to look at the connections
_REVOKED_S = 1.0  # between two looks at withdrawn tokens
_SERVING, _NOT_SERVING, _SERVICE_UNKNOWN = b"\x08\x01", b"\x08\x02", b"\x08\x03"  # grpc.health.v1.HealthCheckResponse

#: Takes a call; returns its answer, unless it has sent all. Runs in the event loop, so it must not block.
CallHandler = Callable[[Call], Awaitable[bytes | None]]
#: Takes the metadata of a call, and gRPC's authentication context with the certificate of the peer; returns the caller.
#: Runs in the event loop. The peer receives a LanesumError of it with the status UNAUTHENTICATED.
Authenticate = Callable[[Mapping[str, Any], Mapping[str, Sequence[bytes]]], Caller]


class GrpcServer(Serving):
    """gRPC server, with the standard health service. Use as a context manager, or call ``start`` and ``close``.

    Args:
        address: address to listen at, ``host:port`` or ``unix:PATH``; port 0 selects a free one.
        handlers: handlers by full method name, ``/SERVICE/METHOD``.
        owner: subject of the message if the address is taken.
        credentials: ``grpc.ServerCredentials`` for TLS; None for plain text.
        authenticate: identifies callers; without it, every caller may call everything.
        is_revoked: returns True for a caller whose token was withdrawn since; its streams end. Called in a thread.

    Attributes:
        address: the address, with the port that was selected.
        port: the port; 0 for a socket file.

    Raises:
        ConfigurationError: the address is malformed, or cannot be listened at.
        MissingToolError: grpc is not installed.
    """

    def __init__(
        self,
        address: str,
        handlers: Mapping[str, CallHandler],
        *,
        owner: str,
        limits: Limits | None = None,
        credentials: Any = None,
        authenticate: Authenticate | None = None,
        is_revoked: Callable[[Caller], bool] | None = None,
    ) -> None:
        limits = limits or Limits()
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.limits = limits = replace(limits, connections=max(1, min(limits.connections, files - files // 8)))
        self._codes = import_grpc().StatusCode
        self._authenticate, self._is_revoked = authenticate, is_revoked
        self._handlers = {name.encode(): handler for name, handler in handlers.items()}
        self._open = {b"/grpc.health.v1.Health/Check": self._check, b"/grpc.health.v1.Health/Watch": self._watch}
        # Messages of grpc.health.v1.HealthCheckRequest, with the name of a service, and with none.
        services = {name.split("/")[1].encode() for name in handlers}
        self._healthy = {b"\x0a" + bytes([len(one)]) + one for one in services} | {b""}
        self._shares = Shares(limits)
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls: set[Call] = set()
        self._pools = {False: ThreadPoolExecutor(limits.threads), True: ThreadPoolExecutor(limits.slow_threads)}
        options = {
            **dict(OPTIONS),
            "grpc.keepalive_time_ms": 1000 * _PING_AFTER_S,
            "grpc.keepalive_timeout_ms": 1000 * _PING_TIMEOUT_S,
            "grpc.http2.ping_timeout_ms": 1000 * _PING_TIMEOUT_S,
            "grpc.so_reuseport": 0,  # with it, a second process would share the port silently
            "grpc.max_receive_message_length": limits.message_bytes,
            "grpc.max_send_message_length": -1,
            "grpc.max_allowed_incoming_connections": limits.connections,
            "grpc.max_concurrent_streams": limits.streams_of_caller + limits.waiting,
            "grpc.experimental.tcp_max_read_chunk_size": _READ_BYTES,
            "grpc.http2.bdp_probe": 0,  # a stream has 64 KiB of its message in flight until its call is identified
            "grpc.http2.max_requests_per_read": _REQUESTS_PER_READ,
            "grpc.http2.ping_on_rst_stream_percent": 100,
            "grpc.server.max_pending_requests": _MAX_PENDING,
            "grpc.server.max_pending_requests_hard_limit": _MAX_PENDING,
            "grpc.http2.max_deallocating_streams": _MAX_DEALLOCATING,
            "grpc.server_handshake_timeout_ms": int(1000 * limits.handshake_s),
            "grpc.max_connection_idle_ms": int(1000 * limits.idle_s),
        }
        self._queue = cygrpc().CompletionQueue()
        self._server = cygrpc().Server(tuple(options.items()), False)
        self._server.register_completion_queue(self._queue)
        _check_address(address, owner)
        own = None if credentials is None else credentials._credentials
        mask = os.umask(0o177)  # of a socket file
        try:
            port = self._server.add_http2_port(address.encode(), *(() if own is None else (own,)))
        except RuntimeError:
            port = 0
        finally:
            os.umask(mask)
        if port == 0:
            raise cannot_listen(address, owner)
        self.port: int = 0 if address.startswith("unix:") else port
        self._connections = Connections(self.port, limits)
        if self.port:
            probe_hosts(self.port)
        self.address = address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{port}"
        self._loop = asyncio.new_event_loop()
        self._health, self._health_changed = _SERVING, self._loop.create_future()
        self._threads: list[threading.Thread] = []
        self._ending = threading.Event()

    def set_health(self, *, is_serving: bool) -> None:
        """Change what the health service answers; it begins with SERVING. From any thread."""
        self._loop.call_soon_threadsafe(self._set_health, _SERVING if is_serving else _NOT_SERVING)

    def _set_health(self, health: bytes) -> None:
        self._health, changed, self._health_changed = health, self._health_changed, self._loop.create_future()
        changed.set_result(None)

    def start(self) -> None:
        """Start to serve, in background threads."""
        self._server.start()
        targets = {"calls": self._loop.run_forever, "events": self._poll, "connections": self._look_after_calls}
        for name, target in targets.items():
            self._threads.append(threading.Thread(target=target, name=f"lanesum-{name}", daemon=True))
            self._threads[-1].start()
        asyncio.run_coroutine_threadsafe(self._accept(), self._loop)

    def close(self, grace_s: float = 0.0) -> None:
        """Stop listening, give open calls ``grace_s`` seconds, cancel them, wait for their handlers. Idempotent."""
        if self._threads:
            self._ending.set()
            self._connections.due.set()
            asyncio.run_coroutine_threadsafe(self._stop(grace_s), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            while self._threads:
                self._threads.pop().join()
            self._loop.close()
        for pool in self._pools.values():
            pool.shutdown()

    async def _stop(self, grace_s: float) -> None:
        down: asyncio.Future[Any] = self._loop.create_future()
        self._server.shutdown(self._queue, Waiter(down))
        await asyncio.wait({down}, timeout=grace_s)
        self._server.cancel_all_calls()
        await down
        while self._tasks:  # calls may arrive until then; gRPC aborts if one of them uses a queue that is shut down
            await asyncio.wait(self._tasks)
        self._server.destroy()
        self._queue.shutdown()

    def _poll(self) -> None:
        ended = cygrpc().CompletionType.queue_shutdown
        while (event := self._queue.poll()).completion_type != ended:
            if isinstance(event, cygrpc().RequestCallEvent) and event.success and self._is_of_ended(event.call):
                event.call.cancel()  # here, because thousands of them would hold the loop
                with contextlib.suppress(ValueError):  # the server ends
                    self._server.request_call(self._queue, self._queue, event.tag)
            else:
                self._loop.call_soon_threadsafe(event.tag, event)
            del event  # a reference to the last event would keep its call

    def _is_of_ended(self, call: Any) -> bool:
        return self._connections.is_ended(source_of(call))

    def _look_after_calls(self) -> None:
        closed, revoked_s, cut_off_s = 0, 0.0, 0.0
        while not self._ending.is_set():
            if is_due := self._connections.due.wait(_LOOK_S):  # one that is set after a wait is for the next one
                self._connections.due.clear()
            calls, now = tuple(self._calls), time.monotonic()
            with contextlib.suppress(OSError):  # no descriptor is free; connections that end free some
                if now >= revoked_s + _REVOKED_S:
                    revoked_s = now
                    if closed:
                        logger.warning("Ended %d connections that sent too much, or of hosts with too many", closed)
                    closed = 0
                    for call in calls:
                        if self._is_revoked is not None and self._is_revoked(call.caller):
                            self._loop.call_soon_threadsafe(call.revoke)
                if self.port and now >= cut_off_s + PROBE_AFTER_S:
                    cut_off, cut_off_s = cut_off_peers(self.port), now
                    for call in calls:
                        call.is_cut_off = call.caller.source in cut_off
                if self.port:
                    closed += self._connections.look({call.caller.source for call in calls}, is_due=is_due)

    async def _accept(self) -> None:
        while True:
            arrived: asyncio.Future[Any] = self._loop.create_future()
            self._server.request_call(self._queue, self._queue, Waiter(arrived))
            event = await arrived
            if not event.success:  # the server ends
                return
            task = self._loop.create_task(self._serve(event))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            del event, arrived, task

    async def _serve(self, event: Any) -> None:
        call = Call(event, self.limits, self._shares, self._pools)
        self._calls.add(call)
        task = asyncio.current_task()
        assert task is not None
        call.ended.add_done_callback(lambda ended: ended.result().batch_operations[0].cancelled() and task.cancel())
        try:
            await self._answer(call, event.call_details.method, task)
        except asyncio.CancelledError:
            if call.evicted:
                text = f"This caller has {self.limits.silent} newer calls that wait for their message."
                await call.finish(self._codes.RESOURCE_EXHAUSTED, text)
            elif call.revoked:
                await call.finish(self._codes.UNAUTHENTICATED, "The token of this caller was withdrawn.")
            if not call.has_message and not call.revoked:
                self._connections.blame(call.caller.source)
        except RefusedError as error:
            if error.code is self._codes.UNAUTHENTICATED:
                self._connections.blame(call.caller.source)
            await call.finish(error.code, str(error), error.metadata)
        except Exception:
            logger.exception("A call ended by an error of the server")
            await call.finish(self._codes.UNKNOWN, "Internal error of the server.")
        finally:
            call.leave()
            self._calls.discard(call)

    async def _answer(self, call: Call, path: bytes, task: asyncio.Task[None]) -> None:
        handler = self._open.get(path) or self._handlers.get(path)
        if handler is None:
            raise RefusedError(self._codes.UNIMPLEMENTED, "Method not found!")
        if len(self._tasks) > self.limits.calls:
            text = f"The server has {self.limits.calls} open calls already. Call again later."
            raise RefusedError(self._codes.RESOURCE_EXHAUSTED, text)
        if self._authenticate is not None and path in self._handlers:
            try:
                known = self._authenticate(call.metadata, call.auth_context())
            except LanesumError as error:
                raise RefusedError(self._codes.UNAUTHENTICATED, str(error)) from error
            call.caller = replace(known, source=call.caller.source)
        if path in self._handlers and (call.caller.name or call.caller.role is CallerRole.OPERATOR):
            self._connections.trust(call.caller.source)
        await call.enter(task)
        await call.finish(self._codes.OK, answer=await handler(call))

    async def _check(self, call: Call) -> bytes:
        if await call.receive() not in self._healthy:
            raise RefusedError(self._codes.NOT_FOUND, "The server has no such service.")
        await call.run(int)  # no answer while all threads are held
        return self._health

    async def _watch(self, call: Call) -> None:
        known = await call.receive() in self._healthy
        call.become_stream()
        sent = b""
        while not call.ended.done():
            changed, health = self._health_changed, self._health if known else _SERVICE_UNKNOWN
            if health != sent:
                await call.send(sent := health)
            await asyncio.wait((call.ended, changed), return_when=asyncio.FIRST_COMPLETED)


def cannot_listen(address: str, owner: str) -> ConfigurationError:
    """Return the error of a service whose address is taken."""
    return ConfigurationError(
        f"The {owner} cannot listen at {address}.",
        "Stop the process that uses it, or choose another address of this host (host:port or unix:PATH).",
    )


def _check_address(address: str, owner: str) -> None:
    """Check what gRPC does not: it reads a missing port as 443, truncates one beyond 65535, and removes a socket file
    at which another server listens.
    """
    if not address.startswith("unix:"):
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65535:
            raise ConfigurationError(
                f"{address!r} is not an address to listen at.", "Give host:port (port 0 takes a free one) or unix:PATH."
            )
        return
    path = Path(address.removeprefix("unix:"))
    with socket.socket(socket.AF_UNIX) as probe:
        if path.is_socket() and probe.connect_ex(str(path)) != 0:
            return
    if path.exists():
        raise cannot_listen(address, owner)
