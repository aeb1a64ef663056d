# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Supervision of switches, servers and leases: by events and deadlines, and by audits of what causes no event.

Sessions and streams are read in the event loop. A part is checked in a pool of threads when one of them shows a change.
An idle part keeps no thread. Audits together have a fixed rate, so that their cost does not grow with the number of
parts.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import random
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from lanesum._internal.closing import Serving
from lanesum_control.controller.controller import Controller
from lanesum_control.controller.reconciler import Reconciler
from lanesum_control.errors import StoreError
from lanesum_control.threads import event_loop, run

DEFAULT_INTERVAL_S = 0.25
# Longest time between two audits of programs, and number of switches in each: those in use, and others besides.
_PROGRAM_AUDIT_S, _IN_USE, _IDLE = 1.0, 16, 4
# Longest time between two audits of the entries of all switches together.
_ENTRIES_AUDIT_S = 4.0
_SERVER_INTERVAL_S = 30.0
# Shortest time between two looks at the packet counters of links to spines, and more for each switch.
_LINKS_S, _LINKS_OF_SWITCH_S = 2.0, 0.05
_STORE_S = 1.0  # until the next check after one that could not store a change
_MAX_THREADS = 16
logger = logging.getLogger(__name__)


class Monitor(Serving):
    """Checks all parts of ``controller`` when they change. Use as a context manager.

    ``interval_s``: shortest time between two audits of programs; 16 threads check at most 16 parts at once.
    """

    def __init__(self, controller: Controller, interval_s: float = DEFAULT_INTERVAL_S) -> None:
        pool = ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="lanesum-monitor")
        reconciler = controller.reconciler
        count = len(reconciler.switches)
        entries_s = count * _ENTRIES_AUDIT_S
        self._pool = pool
        self._parts = [_Part(controller.expire, controller.watch_leases, None, pool)]
        switches: dict[str, _Part] = {}
        for name in reconciler.switches:
            check, audit = (functools.partial(do, name) for do in (reconciler.check_switch, reconciler.audit_switch))
            switches[name] = _Part(check, functools.partial(reconciler.watch_switch, name), None, pool)
            self._parts += [switches[name], _Part(audit, lambda _changed: None, entries_s, pool)]
        for name in reconciler.servers:
            watch = functools.partial(reconciler.watch_server, name)
            self._parts.append(_Part(functools.partial(reconciler.check_server, name), watch, _SERVER_INTERVAL_S, pool))

        if reconciler.watches_links:
            links_s = max(_LINKS_S, count * _LINKS_OF_SWITCH_S)
            self._parts.append(_Part(controller.avoid_cut_links, lambda _changed: None, links_s, pool))
        self._programs = _ProgramAudit(controller, reconciler, switches, interval_s)

    def start(self) -> None:
        for part in self._parts:
            part.start()
        self._programs.start()

    def close(self) -> None:
        """Stop checking, and wait for checks that run; idempotent."""
        self.stop()
        self._pool.shutdown()

    def stop(self) -> None:
        """Begin no check any more."""
        run(self._stop())

    async def _stop(self) -> None:
        self._programs.stop()
        for part in self._parts:
            part.stop()


class _Part:
    """A check that runs when it is due, never twice at once.

    Args:
        check: returns the seconds after which it is due again, or None.
        watch: takes the function to call when the check is due.
        interval_s: time after which the check is due in any case; None for what ``check`` returns.
    """

    def __init__(
        self,
        check: Callable[[], float | None],
        watch: Callable[[Callable[[], None]], None],
        interval_s: float | None,
        pool: ThreadPoolExecutor,
    ) -> None:
        self._check, self._watch, self._interval_s, self._pool = check, watch, interval_s, pool
        self._loop = event_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._is_running = self._is_due_again = self._is_stopped = False

    def start(self) -> None:
        self._watch(self.wake)
        self.wake()

    def wake(self) -> None:
        """Run the check soon. From any thread."""
        self._loop.call_soon_threadsafe(self._run)

    def stop(self) -> None:
        """Begin no check any more. In the event loop."""
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _run(self) -> None:
        if self._is_stopped:
            return
        if self._is_running:
            self._is_due_again = True
            return
        if self._timer is not None:
            self._timer.cancel()
        self._is_running = True
        self._loop.run_in_executor(self._pool, self._checked).add_done_callback(self._ran)

    def _checked(self) -> float | None:
        try:
            return self._check()
        except StoreError as error:
            logger.error("A check failed; it is tried again: %s", error)
            return _STORE_S
        except Exception:  # the next check must run in spite of an error
            logger.exception("A check failed; it is tried again.")
            return DEFAULT_INTERVAL_S

    def _ran(self, future: asyncio.Future[float | None]) -> None:
        self._is_running = False
        if self._is_due_again:
            self._is_due_again = False
            self._run()
        else:
            self._rest(future.result())

    def _rest(self, pause_s: float | None) -> None:
        if self._interval_s is not None:  # checks of many parts at once would delay each other
            pause_s = self._interval_s * random.uniform(0.8, 1.0)
        if pause_s is not None:
            self._timer = self._loop.call_later(pause_s, self._run)


class _ProgramAudit:
    """Audits of programs, which let the switches be checked whose program is another one.

    A few switches are asked together, because the process wakes up once for all of them then. Switches that sum for
    live workers come before the others. A switch that does not answer delays no other.

    Args:
        controller: has the jobs, by which switches are in use.
        interval_s: shortest time between two audits.
    """

    def __init__(
        self, controller: Controller, reconciler: Reconciler, parts: Mapping[str, _Part], interval_s: float
    ) -> None:
        self._controller, self._reconciler = controller, reconciler
        self._parts = parts
        self._pause_s = max(interval_s, min(_PROGRAM_AUDIT_S, (len(parts) - 1) * _PROGRAM_AUDIT_S / 2))
        self._waiting = list(parts)  # those audited last are at the end
        self._asked: dict[str, asyncio.Task[None]] = {}
        self._loop = event_loop()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        if self._parts:
            self._loop.call_soon_threadsafe(self._rest)

    def stop(self) -> None:
        """Begin no audit any more. In the event loop."""
        if self._timer is not None:
            self._timer.cancel()

    def _rest(self) -> None:
        self._timer = self._loop.call_later(self._pause_s, self._run)

    def _run(self) -> None:
        in_use = self._controller.switches_in_use()
        due = [name for name in self._waiting if name in in_use][:_IN_USE]
        due += [name for name in self._waiting if name not in in_use][:_IDLE]
        self._waiting = [name for name in self._waiting if name not in due] + due
        for name in due:
            if name not in self._asked:
                self._asked[name] = self._loop.create_task(self._ask(name))
        self._rest()

    async def _ask(self, name: str) -> None:
        try:
            is_unchanged = await self._reconciler.switch_unchanged(name)
        except Exception:  # the check finds the reason
            logger.exception("An audit failed.")
            is_unchanged = False
        del self._asked[name]
        if not is_unchanged:
            self._parts[name].wake()
