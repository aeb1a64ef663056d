# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Lock whose waiting callers take turns."""

from __future__ import annotations

import collections
import contextlib
import threading
from collections.abc import Iterator


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
