# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Thread for periodic work of the server, and idle timeout notifications (specification, section 16.3)."""

from __future__ import annotations

import contextlib
import logging
import sched
import threading
import time
from collections.abc import Callable, Iterable
from threading import RLock
from typing import Any

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.api import TableEntry
from lanesum_switch.p4runtime.entries import EntryStore
from lanesum_switch.p4runtime.matches import MatchKey, key_of, write_key
from lanesum_switch.p4runtime.p4info import TableInfo
from lanesum_switch.p4runtime.status import StatusError, on_target
from lanesum_switch.runtime.tables import MatchTable

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


# interval of BMv2
_SWEEP_SECONDS = 1.0


class IdleMonitor:
    """Sweeps the ``tables`` that age, and notifies the primary of expired entries.

    Sweeps are as in BMv2: an entry that stays expired is reported at every second sweep, until it is hit, modified or
    deleted.
    """

    def __init__(
        self,
        tables: Iterable[TableInfo],
        store: EntryStore,
        target: Callable[[TableInfo], MatchTable],
        lock: RLock,
        scheduler: Scheduler,
        send: Callable[[Any], None],
    ) -> None:
        self._store, self._target = store, target
        self._lock = lock
        self._send = send
        tables = [info for info in tables if info.idle_timeout]
        self._reported: dict[int, set[MatchKey]] = {info.id: set() for info in tables}
        self._tables = tables
        self._task: ScheduledTask | None = scheduler.every(_SWEEP_SECONDS, self.sweep) if tables else None

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def sweep(self) -> None:
        """Run one sweep: send at most one message with all expired entries."""
        response = p4rt.StreamMessageResponse()
        notification = response.idle_timeout_notification
        with self._lock:
            for info in self._tables:
                self._sweep_table(info, notification)
        if notification.table_entry:
            notification.timestamp = time.monotonic_ns()
            self._send(response)

    def _sweep_table(self, info: TableInfo, notification: Any) -> None:
        before = self._reported[info.id]
        report = [key for key in self._expired(info) if key not in before]
        self._reported[info.id] = set(report)
        for key in report:
            state = self._store.get(info.id, key)
            assert state is not None
            message = notification.table_entry.add(
                table_id=info.id,
                controller_metadata=state.controller_metadata,
                idle_timeout_ns=state.idle_timeout_ns,
            )
            write_key(info, key, message)

    def _expired(self, info: TableInfo) -> list[MatchKey]:
        if not self._store.uses_timeout(info.id):
            return []
        try:
            with on_target(f"sweeping {info.name}"):
                entries = self._target(info).entries()
        except StatusError:
            return []
        now = time.monotonic_ns()
        return [key_of(e) for e in entries if self._is_expired(info, e, now)]

    def _is_expired(self, info: TableInfo, entry: TableEntry, now: int) -> bool:
        state = self._store.get(info.id, key_of(entry))
        if state is None:
            return False
        # BMv2 stores timeouts in milliseconds; one that rounds to zero never expires.
        timeout = state.idle_timeout_ns // 1_000_000 * 1_000_000
        return 0 < timeout <= now - entry.last_hit_ns
