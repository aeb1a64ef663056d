# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Background thread that services a transport between calls.

A worker that has all its results may still be needed: when a switch has lost its registers, other workers need its
contribution once more. They cannot wait for its next round, which may not begin before they have their results: a
barrier, a checkpoint or another collective of the training loop may stand in between.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

# Delay of an answer between calls, at most: the shortest probe timeout of the worker that waits for it.
SERVICE_INTERVAL_S = 0.02
THREAD_NAME = "lanesum-service"


class ServiceThread:
    """Thread that calls ``service`` every 20 ms, whenever ``lock`` is free.

    Args:
        lock: held by a caller in a round, who services the transport meanwhile.
        service: a bound method that raises nothing. Only a weak reference is kept, so a session that is never closed
            leaves no thread behind.
    """

    def __init__(self, lock: threading.Lock, service: Callable[[], None]) -> None:
        self._stop = threading.Event()
        arguments = (self._stop, lock, weakref.WeakMethod(service))
        threading.Thread(target=_run, args=arguments, name=THREAD_NAME, daemon=True).start()

    def close(self) -> None:
        """Begin no further calls; idempotent, and never waits."""
        self._stop.set()


def _run(stop: threading.Event, lock: threading.Lock, method: weakref.WeakMethod[Callable[[], None]]) -> None:
    while not stop.wait(SERVICE_INTERVAL_S):
        service = method()
        if service is None:
            return
        if lock.acquire(blocking=False):
            try:
                if not stop.is_set():
                    service()
            finally:
                lock.release()
        del service
