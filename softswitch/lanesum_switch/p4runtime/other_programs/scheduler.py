# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Thread for periodic work of the server: digest and idle-timeout sweeps."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)

_MIN_QUEUE = 64  # cancelled tasks are not looked for in a shorter queue


class ScheduledTask:
    """A task of the scheduler; ``cancel`` is safe from any thread."""

    def __init__(self, action: Callable[[], None], period: float | None) -> None:
        self.action = action
        self.period = period
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Scheduler:
    """Runs actions later or periodically, one at a time."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._queue: list[tuple[float, int, ScheduledTask]] = []
        self._max_queue = _MIN_QUEUE  # length at which cancelled tasks leave: their time may be hours away
        self._order = itertools.count()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="p4runtime-scheduler", daemon=True)

    def __len__(self) -> int:
        """Return the number of tasks in memory, also of cancelled ones."""
        return len(self._queue)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._condition:
            self._stopped = True
            self._condition.notify()
        if self._thread.is_alive():
            self._thread.join(timeout=5.0)

    def once(self, delay: float, action: Callable[[], None]) -> ScheduledTask:
        return self._add(delay, ScheduledTask(action, None))

    def every(self, period: float, action: Callable[[], None]) -> ScheduledTask:
        """Run an action periodically; first after one period."""
        return self._add(period, ScheduledTask(action, period))

    def _add(self, delay: float, task: ScheduledTask) -> ScheduledTask:
        with self._condition:
            if len(self._queue) >= self._max_queue:
                self._queue = [entry for entry in self._queue if not entry[2].cancelled]
                heapq.heapify(self._queue)
                self._max_queue = max(_MIN_QUEUE, 2 * len(self._queue))
            heapq.heappush(self._queue, (time.monotonic() + delay, next(self._order), task))
            self._condition.notify()
        return task

    def _next(self) -> tuple[float, ScheduledTask] | None:
        with self._condition:
            while not self._stopped:
                if not self._queue:
                    self._condition.wait()
                    continue
                due, _, task = self._queue[0]
                delay = due - time.monotonic()
                if delay > 0:
                    self._condition.wait(delay)
                    continue
                heapq.heappop(self._queue)
                if not task.cancelled:
                    return due, task
        return None

    def _run(self) -> None:
        while (found := self._next()) is not None:
            due, task = found
            try:
                task.action()
            except Exception:
                # A failing sweep must not end the others.
                logger.exception("A periodic task failed")
            if task.period is not None and not task.cancelled:
                self._add(max(0.0, due + task.period - time.monotonic()), task)
