# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Event loop of the control plane: one thread that waits for all switches and servers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_lock = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []


def event_loop() -> asyncio.AbstractEventLoop:
    """Return the loop, which runs in a daemon thread of its own."""
    with _lock:
        if not _loops:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="lanesum-events", daemon=True).start()
            _loops.append(loop)
        return _loops[0]


def run(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run ``work`` in the loop and return its result. For callers in other threads, which wait for it."""
    return asyncio.run_coroutine_threadsafe(work, event_loop()).result()


async def listening(address: str) -> None:
    """Return if ``host:port`` or ``unix:path`` accepts connections. Raises OSError."""
    if address.startswith("unix:"):
        _, writer = await asyncio.open_unix_connection(address.removeprefix("unix:"))
    else:
        host, _, port = address.rpartition(":")
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), 1.0)
    writer.close()
