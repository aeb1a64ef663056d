# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Event loop of the control plane: one thread that waits for all switches and servers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from lanesum.rpc.tls import PLAINTEXT, UNIX

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
    """Return if ``address`` accepts connections. Raises OSError, ValueError if it is malformed."""
    if address.startswith(UNIX):
        _, writer = await asyncio.open_unix_connection(address.removeprefix(UNIX))
    else:
        host, _, port = address.removeprefix(PLAINTEXT).rpartition(":")
        _, writer = await asyncio.wait_for(asyncio.open_connection(host.strip("[]"), int(port)), 1.0)
    writer.close()
