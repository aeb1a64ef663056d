# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Idle timeout notifications (specification, section 16.3)."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import RLock
from typing import Any

from p4.v1 import p4runtime_pb2 as p4rt

from .matches import key_of, write_key
from .program import Program
from .scheduler import Scheduler, Task

# BMv2 looks for expired entries once a second; PI then gathers notifications for 100 ms.
SWEEP_SECONDS = 1.0


class IdleMonitor:
    """Sweeps the switch and tells the primary which entries have expired."""

    def __init__(
        self,
        program: Program,
        lock: RLock,
        scheduler: Scheduler,
        send: Callable[[Any], None],
        sweep_seconds: float = SWEEP_SECONDS,
    ) -> None:
        self._program = program
        self._lock = lock
        self._send = send
        self._ids = {info.name: info for info in program.index.tables.values() if info.idle_timeout}
        self._task: Task | None = scheduler.every(sweep_seconds, self.sweep) if self._ids else None

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def sweep(self) -> None:
        """One round: at most one message, with all entries that expired since the last round."""
        response = p4rt.StreamMessageResponse()
        notification = response.idle_timeout_notification
        with self._lock:
            now = time.monotonic_ns()
            for name, entry in self._program.switch.expire_idle(now):
                info = self._ids.get(name)
                if info is None:
                    continue
                key = key_of(entry)
                state = self._program.store.get(info.id, key)
                if state is None or not state.idle_timeout_ns:
                    continue
                message = notification.table_entry.add(
                    table_id=info.id,
                    controller_metadata=state.controller_metadata,
                    idle_timeout_ns=state.idle_timeout_ns,
                )
                write_key(info, key, message)
        if notification.table_entry:
            notification.timestamp = now
            self._send(response)
