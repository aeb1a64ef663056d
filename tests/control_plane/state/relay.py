# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A relay of unix sockets whose network can be cut: it passes nothing on, and no peer gets an error."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path
from typing import TypeVar

from lanesum._internal.closing import Serving

_Result = TypeVar("_Result")


class Relay(Serving):
    """Relay from the socket ``path`` to ``target``. Use as a context manager.

    While it is cut, clients still connect, as through a firewall that drops packets, and wait.
    """

    def __init__(self, path: Path, target: Path) -> None:
        self._path, self._target = path, target
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay")
        self._open = asyncio.Event()
        self._open.set()
        self._ended: list[asyncio.StreamWriter] = []  # clients of connections that the target has lost
        self._targets: dict[asyncio.StreamWriter, asyncio.StreamWriter] = {}  # client and target of a connection
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._thread.start()
        self._run(self._start())

    def close(self) -> None:
        """End all connections; idempotent."""
        if self._thread.is_alive():
            self._run(self._close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def cut(self, *, ends: bool = False) -> None:
        """Pass nothing on until ``mend``. ``ends``: the target's connections end, as after TCP's user timeout."""
        self._loop.call_soon_threadsafe(self._cut, ends)

    def mend(self) -> None:
        """Pass on what waits, and end the connections that the target has lost."""
        self._loop.call_soon_threadsafe(self._mend)

    def _run(self, work: asyncio._CoroutineLike[_Result]) -> _Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _start(self) -> None:
        self._server = await asyncio.start_unix_server(self._connected, self._path)

    async def _close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _cut(self, ends: bool) -> None:
        self._open.clear()
        for client, target in self._targets.items() if ends else ():
            target.close()
            self._ended.append(client)

    def _mend(self) -> None:
        self._open.set()
        for client in self._ended:
            client.close()
        self._ended.clear()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await self._open.wait()
            answers, target = await asyncio.open_unix_connection(self._target)
            self._targets[writer] = target
            try:
                await asyncio.gather(self._pass_on(reader, target), self._pass_on(answers, writer))
            finally:
                del self._targets[writer]
                target.close()
        self._tasks.discard(task)
        writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass bytes on until the sender's end; raises ConnectionError then, so that both ways end."""
        while data := await reader.read(1 << 16):
            await self._open.wait()
            writer.write(data)
            await writer.drain()
        await self._open.wait()
        raise ConnectionResetError
