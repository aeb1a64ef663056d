# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Supervision of the links of ports."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from lanesum._internal.closing import Serving

_INTERVAL_S = 0.5


class LinkWatch(Serving):
    """Calls ``changed`` with a port, and True for a link that is up, after each change. Use as a context manager.

    ``links``: for each port a function that returns True if its link is up.
    """

    def __init__(
        self,
        links: Mapping[int, Callable[[], bool]],
        changed: Callable[[int, bool], None],
        interval_s: float = _INTERVAL_S,
    ) -> None:
        self._links, self._changed, self._interval_s = links, changed, interval_s
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lanesum-links", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop; idempotent."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        known = {port: is_up() for port, is_up in self._links.items()}
        while not self._ending.wait(self._interval_s):
            for port, is_up in self._links.items():
                if (now := is_up()) != known[port]:
                    known[port] = now
                    self._changed(port, now)
