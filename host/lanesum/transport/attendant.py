# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Somebody who looks after a session between its rounds.

A worker that has all its results may still be needed: when a switch has lost its registers, others ask for its
contribution once more. They cannot be left to wait until its own next round, because that round may never begin before
they have their results: a barrier, a checkpoint or any other collective of the training loop stands in between.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

# How late an answer between rounds may be: as late as the shortest resend timer of who asks.
INTERVAL_S = 0.02


class Attendant:
    """Calls ``attend`` every 20 ms from a thread of its own, whenever ``lock`` is free.

    Args:
        lock: held by whoever is in a round, which looks after itself.
        attend: a bound method, of which only a weak reference is kept: who forgets to close a session leaves no thread.
            Must not raise.
    """

    def __init__(self, lock: threading.Lock, attend: Callable[[], None]) -> None:
        self._stop = threading.Event()
        arguments = (self._stop, lock, weakref.WeakMethod(attend))
        threading.Thread(target=_watch, args=arguments, name="lanesum-attendant", daemon=True).start()

    def close(self) -> None:
        """No more calls begin; idempotent, and never waits."""
        self._stop.set()


def _watch(stop: threading.Event, lock: threading.Lock, method: weakref.WeakMethod[Callable[[], None]]) -> None:
    while not stop.wait(INTERVAL_S):
        attend = method()
        if attend is None:
            return
        if lock.acquire(blocking=False):
            try:
                if not stop.is_set():
                    attend()
            finally:
                lock.release()
        del attend
