# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One thread that does a state's communication, bucket after bucket, while backward goes on."""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable

Job = Callable[[], None]

# A thread that hangs in the network must not keep the process from ending: it is a daemon. It is interrupted after this
# time, and left behind after as much again.
_STOP_WAIT_S = 2.0


class CommunicationThread:
    """Runs jobs in the order of ``submit``; started by the first one.

    Jobs catch their own exceptions. The thread ends with ``stop``, with the object, or with the interpreter.

    Args:
        name: of the thread.
        interrupt: makes a job that waits end soon; must not refer to this object.
    """

    def __init__(self, name: str, interrupt: Callable[[], object]) -> None:
        self._name = name
        self._interrupt = interrupt
        # Not bounded here: DDP submits at most the buckets of one backward pass and then waits for them.
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._finalizer: weakref.finalize | None = None

    def submit(self, job: Job) -> None:
        """Queue ``job``; returns at once."""
        if self._thread is None:
            # The thread refers to the queue alone: a reference to the owner would keep it alive for ever.
            self._thread = threading.Thread(target=_work, args=(self._jobs,), name=self._name, daemon=True)
            self._finalizer = weakref.finalize(self, _stop, self._jobs, self._thread, self._interrupt)
            self._thread.start()
        self._jobs.put(job)

    def stop(self) -> None:
        """End after the jobs already queued, waiting a little for them; idempotent."""
        if self._finalizer is not None:
            self._finalizer()


def _work(jobs: queue.SimpleQueue[Job | None]) -> None:
    while (job := jobs.get()) is not None:
        job()
        # The last job would otherwise hold its bucket and its state until the next one comes.
        del job


def _stop(jobs: queue.SimpleQueue[Job | None], thread: threading.Thread, interrupt: Callable[[], object]) -> None:
    jobs.put(None)
    if thread is threading.current_thread():
        return
    thread.join(_STOP_WAIT_S)
    if thread.is_alive():
        # Left to itself it might come back, and complete its bucket, while the interpreter is ending. PyTorch's C++
        # aborts the process then.
        interrupt()
        thread.join(_STOP_WAIT_S)
