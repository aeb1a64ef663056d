# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Liveness of workers: open streams, and workers that have failed, died or left.

A worker with an open stream lives. The stream of a process that ends is closed by its operating system, and that of a
machine that does not answer by gRPC's pings. Nothing of this is stored: workers open their streams again after a
restart of the controller.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import Any

from lanesum.rpc import controller as rpc

#: Time in which a worker whose stream has ended may open another one.
#: The second one is for an end that is not the worker's: its host did not answer, and it detects the end some seconds
#: later or sooner; or its token was withdrawn, and all workers of a tenant come back at once.
RECONNECT_S, CUT_OFF_RECONNECT_S = 0.3, 10.0
#: Open streams of one worker, at most: a new one may open before the end of the old one is detected.
STREAMS_PER_WORKER = 2


@dataclass(frozen=True, slots=True)
class Gone:
    """A worker that is gone: ``kind`` of ``lanesum.rpc.controller.GONE_KINDS``, and its own words."""

    kind: str
    cause: str


class Watch:
    """Stream of one worker: the state of its incarnation whenever that has changed.

    Args:
        key: job, tag and worker.
        wake: called, in any thread, when the state may have changed, and at the end.
        unwatch: ends the stream at the controller.

    Attributes:
        ended: no further state will come.
    """

    def __init__(
        self,
        key: tuple[int, int, int],
        read: Callable[[], dict[str, Any]],
        wake: Callable[[], None],
        unwatch: Callable[[Watch, bool], None],
    ) -> None:
        self.key = key
        self.wake = wake
        self.ended = False
        self._read, self._unwatch = read, unwatch
        self._last: dict[str, Any] | None = None
        self._asked: dict[str, Any] = {}

    def ask(self, what: dict[str, Any]) -> None:
        """Ask the worker for ``what`` with the next state: ``{"asked": True}`` for its counts."""
        self._asked |= what
        self.wake()

    def poll(self) -> dict[str, Any] | None:
        """Return the state, with the fields of ``ask``; None if it is the last one again."""
        if self.ended:
            return None
        answer = self._read()
        self.ended = answer["state"] in rpc.OVER
        changed = answer != self._last
        self._last = answer
        if self._asked and not self.ended:
            asked, self._asked = self._asked, {}
            return {**answer, **asked}
        return answer if changed else None

    def end(self) -> None:
        """Let the stream end; for the controller."""
        self.ended = True
        self.wake()

    def close(self, is_cut_off: bool = False) -> None:
        """End the stream at the controller; idempotent. ``is_cut_off``: not by the worker, see ``Messages.close``."""
        self._unwatch(self, is_cut_off)


class Liveness:
    """Liveness of the workers of all jobs. Not thread-safe: the controller's lock protects every call.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._watches: list[Watch] = []
        self._lost_at: dict[tuple[int, int, int], float] = {}  # of workers without a stream, which had one
        self._gone: dict[tuple[int, int], dict[int, Gone]] = {}

    def open(self, watch: Watch) -> bool:
        """Add the stream of a worker, which lives now. Its oldest stream ends if needed.

        Returns True if it seemed lost; the others are woken then.
        """
        job, tag, worker = watch.key
        self._watches.append(watch)
        streams = [one for one in self._watches if one.key == watch.key]
        for oldest in streams[:-STREAMS_PER_WORKER]:
            self._watches.remove(oldest)
            oldest.end()
        self._lost_at.pop(watch.key, None)
        gone = self.gone(job, tag)
        if worker in gone and gone[worker].kind == rpc.LOST:
            del gone[worker]
            self.wake(job)
            return True
        return False

    def close(self, watch: Watch, is_cut_off: bool = False) -> bool:
        """Remove a stream; its worker has some time to open another one. Return False if it was removed."""
        watch.end()
        if watch not in self._watches:
            return False
        self._watches.remove(watch)
        job, tag, worker = watch.key
        if not self.is_alive(*watch.key) and worker not in self.gone(job, tag):
            self._lost_at[watch.key] = self._clock() + (CUT_OFF_RECONNECT_S if is_cut_off else RECONNECT_S)
        return True

    def end_all(self) -> None:
        """End all streams, and forget the workers that are silent or seem lost: they may call another controller."""
        watches, self._watches = self._watches, []
        self._lost_at.clear()
        for gone in self._gone.values():
            for worker in [worker for worker, one in gone.items() if one.kind == rpc.LOST]:
                del gone[worker]
        for watch in watches:
            watch.end()

    def is_alive(self, job: int, tag: int, worker: int) -> bool:
        """Return True if the worker has an open stream."""
        return any(watch.key == (job, tag, worker) for watch in self._watches)

    def is_gone(self, job: int, tag: int, worker: int) -> bool:
        """Return True if the worker had a stream or gave a report, and is no longer there."""
        return worker in self.gone(job, tag) or (job, tag, worker) in self._lost_at

    def gone(self, job: int, tag: int) -> dict[int, Gone]:
        """Return the workers of an incarnation that are gone."""
        return self._gone.get((job, tag), {})

    def report(self, job: int, tag: int, worker: int, gone: Gone) -> bool:
        """Store that a worker is gone, and wake the others; return False if that was known."""
        if worker in self.gone(job, tag):
            return False
        self._gone.setdefault((job, tag), {})[worker] = gone
        self._lost_at.pop((job, tag, worker), None)
        self.wake(job)
        return True

    def take_lost(self) -> list[tuple[int, int, int]]:
        """Return the workers (job, tag, number) whose streams have not come back in time, each once."""
        now = self._clock()
        lost = [key for key, lost_at in self._lost_at.items() if now >= lost_at]
        for key in lost:
            del self._lost_at[key]
        return lost

    def deadlines(self) -> Iterable[float]:
        """Return the times from which on ``take_lost`` returns a worker."""
        return self._lost_at.values()

    def alive(self) -> set[tuple[int, int, int]]:
        """Return all workers (job, tag, number) with an open stream."""
        return {watch.key for watch in self._watches}

    def ask(self, jobs: Container[int], what: dict[str, Any]) -> None:
        """Ask the workers of these jobs, see ``Watch.ask``."""
        for watch in self._watches:
            if watch.key[0] in jobs:
                watch.ask(what)

    def wake(self, job: int) -> None:
        """Let the workers of a job, of all its incarnations, read their states again."""
        for watch in self._watches:
            if watch.key[0] == job:
                watch.wake()

    def forget(self, job: int, tag: int) -> None:
        """Forget an incarnation that has ended; its workers read that."""
        self._gone.pop((job, tag), None)
        for key in [key for key in self._lost_at if key[:2] == (job, tag)]:
            del self._lost_at[key]
        self.wake(job)
