# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Threads of the control plane: an event loop, calls beside each other, and a lock whose callers take turns.

One thread waits for all switches and servers. A call that has no answer delays no other.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from lanesum.rpc.tls import PLAINTEXT, UNIX

_Result = TypeVar("_Result")
_lock = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []


def event_loop() -> asyncio.AbstractEventLoop:
    """Return the loop, which runs in a daemon thread of its own."""
    with _lock:
        if not _loops:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="lanesum-events", daemon=True).start()
            _loops.append(loop)
        return _loops[0]


def run(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run ``work`` in the loop and return its result. For callers in other threads, which wait for it."""
    return asyncio.run_coroutine_threadsafe(work, event_loop()).result()


async def listening(address: str) -> None:
    """Return if ``address`` accepts connections. Raises OSError, ValueError if it is malformed."""
    if address.startswith(UNIX):
        _, writer = await asyncio.open_unix_connection(address.removeprefix(UNIX))
    else:
        host, _, port = address.removeprefix(PLAINTEXT).rpartition(":")
        _, writer = await asyncio.wait_for(asyncio.open_connection(host.strip("[]"), int(port)), 1.0)
    writer.close()


class FairLock:
    """Reentrant lock that serves its waiting callers round-robin.

    A caller waits for at most one turn of every other caller, however many calls each of them has waiting.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._holder: int | None = None  # thread
        self._depth = 0
        self._waiting: dict[str, collections.deque[tuple[int, threading.Event]]] = {}  # by caller, next one first

    @contextlib.contextmanager
    def held_for(self, caller: str = "") -> Iterator[None]:
        """Hold the lock on behalf of ``caller``."""
        self._acquire(caller)
        try:
            yield
        finally:
            self._release()

    def _acquire(self, caller: str) -> None:
        thread = threading.get_ident()
        with self._mutex:
            if self._holder in (None, thread):
                self._holder = thread
                self._depth += 1
                return
            turn = threading.Event()
            self._waiting.setdefault(caller, collections.deque()).append((thread, turn))
        turn.wait()

    def _release(self) -> None:
        with self._mutex:
            self._depth -= 1
            if self._depth:
                return
            self._holder = None
            if not self._waiting:
                return
            caller = next(iter(self._waiting))
            queue = self._waiting.pop(caller)
            self._holder, turn = queue.popleft()
            self._depth = 1
            if queue:
                self._waiting[caller] = queue  # behind all others
        turn.set()


def begin(tasks: Mapping[str, Callable[[], _Result]]) -> dict[str, Future[_Result]]:
    """Begin each task in a thread of its own, for which the end of the process does not wait."""
    futures = {}
    for name, task in tasks.items():
        future: Future[_Result] = Future()
        threading.Thread(target=_run, args=(task, future), name=f"lanesum-{name}", daemon=True).start()
        futures[name] = future
    return futures


def _run(task: Callable[[], _Result], future: Future[_Result]) -> None:
    try:
        future.set_result(task())
    except BaseException as error:
        future.set_exception(error)


def results(tasks: Mapping[str, Callable[[], _Result]], timeout_s: float) -> dict[str, _Result]:
    """Return the results of the tasks that end in time, by name. Raises the first exception of these."""
    futures = begin(tasks)
    wait(futures.values(), timeout_s)
    return {name: future.result() for name, future in futures.items() if future.done()}
