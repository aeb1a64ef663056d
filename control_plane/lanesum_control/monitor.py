# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Threads that check switches, servers and leases."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable

from lanesum._internal.closing import Serving
from lanesum_control.controller import Controller

DEFAULT_INTERVAL_S = 0.25
logger = logging.getLogger(__name__)


class Monitor(Serving):
    """Checks all parts of ``controller`` every ``interval_s`` seconds. Use as a context manager.

    Every switch and server has a thread of its own, so that a slow one does not delay the others.
    """

    def __init__(self, controller: Controller, interval_s: float = DEFAULT_INTERVAL_S) -> None:
        self._interval_s = interval_s
        self._stop = threading.Event()
        checks: list[Callable[[], None]] = [
            *(functools.partial(controller.check_switch, name) for name in controller.switches),
            *(functools.partial(controller.check_server, name) for name in controller.servers),
            controller.expire,
        ]
        self._threads = [
            threading.Thread(target=self._run, args=(check,), name="lanesum-monitor", daemon=True) for check in checks
        ]

    def _run(self, check: Callable[[], None]) -> None:
        while not self._stop.wait(self._interval_s):
            try:
                check()
            except Exception:  # the thread must not end because of an error
                logger.exception("A check failed; it is tried again.")

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop checking; idempotent."""
        self._stop.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
