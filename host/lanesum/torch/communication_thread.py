# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Background thread that communicates a few buckets at a time while backward continues.

For gradients of a device, a second thread waits for the device. So packets of earlier buckets do not wait until the
device has computed the next one.
"""

from __future__ import annotations

import collections
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias


class InFlight(Protocol):
    """Communication that a task has begun."""

    def wait(self) -> bool:
        """Work until it is done; return False if ``wake`` interrupted the wait."""

    def complete(self) -> None:
        """Use the result or the error; must not raise."""


Task = Callable[[], InFlight | None]

#: Communications in flight at once: one is encoded, one is in the network, one is decoded. Each holds vectors of its
#: size in host memory.
MAX_IN_FLIGHT = 3

# A task, and whether it begins only after all earlier ones are complete. None ends the thread.
_Tasks: TypeAlias = "queue.SimpleQueue[tuple[Task, bool] | None]"
# Such tasks, each with a call that waits until it may begin.
_DelayedTasks: TypeAlias = "queue.SimpleQueue[tuple[Callable[[], object], Task, bool] | None]"

# Waiting time of ``stop`` before it interrupts the thread, and again before it gives up. The thread is a daemon, so it
# never keeps the process alive.
_STOP_WAIT_S = 2.0


class CommunicationThread:
    """Thread that begins tasks in the order of ``submit`` and completes them in that order.

    The first task starts it. A task that begins communication returns it, and later tasks begin while it is in flight.
    Tasks catch their own exceptions. The thread ends with ``stop``, with this object, or with the interpreter.

    Args:
        name: name of the thread.
        interrupt: ends a wait of a task soon; must not refer to this object.
        wake: interrupts ``InFlight.wait``, or the next call of it.
        in_flight: what the tasks have begun; the thread appends it, and removes it before ``InFlight.complete``.
    """

    def __init__(
        self, name: str, interrupt: Callable[[], object], wake: Callable[[], object], in_flight: collections.deque[Any]
    ) -> None:
        self._name = name
        self._interrupt = interrupt
        self._wake = wake
        self._in_flight = in_flight
        # Unbounded: DDP submits at most the buckets of one backward pass, and then waits for them.
        self._tasks: _Tasks = queue.SimpleQueue()
        self._delayed: _DelayedTasks | None = None
        self._thread: threading.Thread | None = None
        self._finalizer: weakref.finalize[..., CommunicationThread] | None = None

    def submit(self, task: Task, *, alone: bool = False, after: Callable[[], object] | None = None) -> None:
        """Queue ``task`` and return at once.

        Args:
            task: begins communication.
            alone: begin only after all earlier tasks are complete.
            after: waits until the task may begin; called in another thread; must not raise.
        """
        if self._thread is None:
            # The thread refers to the queues alone: a reference to this object would keep it alive forever.
            queues = (self._tasks, self._in_flight)
            self._thread = threading.Thread(target=_work, args=queues, name=self._name, daemon=True)
            self._finalizer = weakref.finalize(self, _stop, self._tasks, self._thread, self._interrupt, self._wake)
            self._thread.start()
        if after is not None and self._delayed is None:
            self._delayed = queue.SimpleQueue()
            arguments = (self._delayed, self._tasks, self._wake)
            threading.Thread(target=_wait_for_each, args=arguments, name=f"{self._name}-device", daemon=True).start()
            weakref.finalize(self, self._delayed.put, None)
        if self._delayed is not None:
            # Tasks without a delay, too: tasks begin in the order of their submission.
            self._delayed.put((after or (lambda: None), task, alone))
        else:
            self._tasks.put((task, alone))
            self._wake()

    def stop(self) -> None:
        """End the thread after the queued tasks, and wait for it for a few seconds at most; idempotent."""
        if self._delayed is not None:
            passed = threading.Event()
            self._delayed.put((passed.set, lambda: None, False))
            self._delayed.put(None)
            self._delayed = None
            passed.wait(_STOP_WAIT_S)
        if self._finalizer is not None:
            self._finalizer()


def _wait_for_each(delayed: _DelayedTasks, tasks: _Tasks, wake: Callable[[], object]) -> None:
    while (item := delayed.get()) is not None:
        after, task, alone = item
        after()
        tasks.put((task, alone))
        wake()
        del item, after, task


def _work(tasks: _Tasks, in_flight: collections.deque[Any]) -> None:
    while True:
        # The thread begins another task only where it does not have to wait for one.
        while in_flight and (len(in_flight) >= MAX_IN_FLIGHT or tasks.empty()):
            if in_flight[0].wait():
                in_flight.popleft().complete()
        item = tasks.get()
        if item is None or item[1]:
            _complete_all(in_flight)
        if item is None:
            return
        begun = item[0]()
        if begun is not None:
            in_flight.append(begun)
        # Else the last task would keep its bucket and its state alive until the next one comes.
        del item, begun


def _complete_all(in_flight: collections.deque[InFlight]) -> None:
    while in_flight:
        if in_flight[0].wait():
            in_flight.popleft().complete()


def _stop(tasks: _Tasks, thread: threading.Thread, interrupt: Callable[[], object], wake: Callable[[], object]) -> None:
    tasks.put(None)
    wake()
    if thread is threading.current_thread():
        return
    thread.join(_STOP_WAIT_S)
    if thread.is_alive():
        # If the thread completed its bucket while the interpreter ends, PyTorch's C++ code would abort the process.
        interrupt()
        thread.join(_STOP_WAIT_S)
