# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One thread that does a state's communication, a few buckets at a time, while backward goes on.

And, where gradients are made on a device, another one that waits for them: packets of earlier buckets must not wait for
a device that is still computing the next one.
"""

from __future__ import annotations

import collections
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Protocol, TypeAlias


class UnderWay(Protocol):
    """What a job has begun."""

    def wait(self) -> bool:
        """Work until it has ended; False when somebody has woken the thread before."""

    def complete(self) -> None:
        """It has ended, well or not; must not raise."""


Job = Callable[[], UnderWay | None]

# So many are begun before the first has ended: one that is encoded, one that is on its way, one that comes back. Each
# has vectors of its size in memory.
MOST_UNDER_WAY = 3

Jobs: TypeAlias = "queue.SimpleQueue[tuple[Job, bool] | None]"
# Jobs, each with what waits until it may begin.
Arrivals: TypeAlias = "queue.SimpleQueue[tuple[Callable[[], object], Job, bool] | None]"

# A thread that hangs in the network must not keep the process from ending: it is a daemon. It is interrupted after this
# time, and left behind after as much again.
_STOP_WAIT_S = 2.0


class CommunicationThread:
    """Begins jobs in the order of ``submit``, and completes them in that order; started by the first one.

    A job that begins something returns that, and the next ones begin while it is under way. Jobs catch their own
    exceptions. The thread ends with ``stop``, with the object, or with the interpreter.

    Args:
        name: of the thread.
        interrupt: makes a job that waits end soon; must not refer to this object.
        wake: makes ``UnderWay.wait`` come back, or the next one not wait.
    """

    def __init__(self, name: str, interrupt: Callable[[], object], wake: Callable[[], object]) -> None:
        self._name = name
        self._interrupt = interrupt
        self._wake = wake
        # Not bounded here: DDP submits at most the buckets of one backward pass and then waits for them.
        self._jobs: Jobs = queue.SimpleQueue()
        self._arrivals: Arrivals | None = None
        self._thread: threading.Thread | None = None
        self._finalizer: weakref.finalize | None = None

    def submit(self, job: Job, *, alone: bool = False, after: Callable[[], object] | None = None) -> None:
        """Queue ``job``; returns at once. ``alone``: it begins when all before it are complete. ``after`` waits until
        it may begin; called in another thread, it must not raise."""
        if self._thread is None:
            # The thread refers to the queue alone: a reference to the owner would keep it alive for ever.
            self._thread = threading.Thread(target=_work, args=(self._jobs,), name=self._name, daemon=True)
            self._finalizer = weakref.finalize(self, _stop, self._jobs, self._thread, self._interrupt, self._wake)
            self._thread.start()
        if after is not None and self._arrivals is None:
            self._arrivals = queue.SimpleQueue()
            arguments = (self._arrivals, self._jobs, self._wake)
            threading.Thread(target=_wait_for_each, args=arguments, name=f"{self._name}-device", daemon=True).start()
            weakref.finalize(self, self._arrivals.put, None)
        if self._arrivals is not None:
            # Those that wait for nothing, too: jobs begin in the order in which they came.
            self._arrivals.put((after or _nothing, job, alone))
        else:
            self._jobs.put((job, alone))
            self._wake()

    def stop(self) -> None:
        """End after the jobs already queued, waiting a little for them; idempotent."""
        if self._arrivals is not None:
            passed = threading.Event()
            self._arrivals.put((passed.set, _no_job, False))
            self._arrivals.put(None)
            self._arrivals = None
            passed.wait(_STOP_WAIT_S)
        if self._finalizer is not None:
            self._finalizer()


def _nothing() -> None:
    """Begins at once."""


def _no_job() -> None:
    """Begins nothing."""


def _wait_for_each(arrivals: Arrivals, jobs: Jobs, wake: Callable[[], object]) -> None:
    while (item := arrivals.get()) is not None:
        after, job, alone = item
        after()
        jobs.put((job, alone))
        wake()
        del item, after, job


def _work(jobs: Jobs) -> None:
    under_way: collections.deque[UnderWay] = collections.deque()
    while True:
        # More of them only where nobody would have to wait for it.
        while under_way and (len(under_way) >= MOST_UNDER_WAY or jobs.empty()):
            if under_way[0].wait():
                under_way.popleft().complete()
        item = jobs.get()
        if item is None or item[1]:
            _complete(under_way)
        if item is None:
            return
        begun = item[0]()
        if begun is not None:
            under_way.append(begun)
        # The last job would otherwise hold its bucket and its state until the next one comes.
        del item, begun


def _complete(under_way: collections.deque[UnderWay]) -> None:
    while under_way:
        if under_way[0].wait():
            under_way.popleft().complete()


def _stop(jobs: Jobs, thread: threading.Thread, interrupt: Callable[[], object], wake: Callable[[], object]) -> None:
    jobs.put(None)
    wake()
    if thread is threading.current_thread():
        return
    thread.join(_STOP_WAIT_S)
    if thread.is_alive():
        # Left to itself it might come back, and complete its bucket, while the interpreter is ending. PyTorch's C++
        # aborts the process then.
        interrupt()
        thread.join(_STOP_WAIT_S)
