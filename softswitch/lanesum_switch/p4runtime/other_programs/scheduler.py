# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Thread for periodic work of the server: digest and idle-timeout sweeps."""

from __future__ import annotations

import contextlib
import logging
import sched
import threading
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)


class ScheduledTask:
    """A task of the scheduler; ``cancel`` is safe from any thread."""

    def __init__(self, scheduler: Scheduler, action: Callable[[], None], due: float, period: float | None) -> None:
        self._scheduler, self._action, self._period = scheduler, action, period
        self.cancelled = False
        self._event = scheduler.queue.enterabs(due, 0, self._run, (due,))

    def cancel(self) -> None:
        self.cancelled = True
        with contextlib.suppress(ValueError):  # it has begun
            self._scheduler.queue.cancel(self._event)

    def _run(self, due: float) -> None:
        if self.cancelled or self._scheduler.stopped:
            return
        try:
            self._action()
        except Exception:
            # A failing sweep must not end the others.
            logger.exception("A periodic task failed")
        if self._period is not None and not self.cancelled:
            due = max(due + self._period, time.monotonic())
            self._event = self._scheduler.queue.enterabs(due, 0, self._run, (due,))


class Scheduler:
    """Runs actions later or periodically, one at a time."""

    def __init__(self) -> None:
        self.queue = sched.scheduler(time.monotonic)
        self.stopped = False
        self._changed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="p4runtime-scheduler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.stopped = True
        self._changed.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5.0)

    def once(self, delay: float, action: Callable[[], None]) -> ScheduledTask:
        return self._add(action, delay, None)

    def every(self, period: float, action: Callable[[], None]) -> ScheduledTask:
        """Run an action periodically; first after one period."""
        return self._add(action, period, period)

    def _add(self, action: Callable[[], None], delay: float, period: float | None) -> ScheduledTask:
        task = ScheduledTask(self, action, time.monotonic() + delay, period)
        self._changed.set()
        return task

    def _run(self) -> None:
        while not self.stopped:
            self._changed.wait(self.queue.run(blocking=False))
            self._changed.clear()
