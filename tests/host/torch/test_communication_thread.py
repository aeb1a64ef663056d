# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tasks begin while earlier ones are in flight, and are completed in order."""

from __future__ import annotations

import collections
import threading

from lanesum.torch.communication_thread import MAX_IN_FLIGHT, CommunicationThread


class FakeTask:
    """Ends when the test says so; waits as a session does, until another thread wakes it."""

    def __init__(self, number: int, seen: list[tuple[str, int]], woken: threading.Event) -> None:
        self.number = number
        self.ended = False
        self.complete_ = threading.Event()
        self._seen = seen
        self._woken = woken

    def begin(self) -> FakeTask:
        self._seen.append(("begin", self.number))
        return self

    def wait(self) -> bool:
        if not self.ended:
            self._woken.wait()
            self._woken.clear()
        return self.ended

    def complete(self) -> None:
        self._seen.append(("complete", self.number))
        self.complete_.set()


def test_tasks_in_flight_complete_in_order_of_submission() -> None:
    seen: list[tuple[str, int]] = []
    woken, alone = threading.Event(), threading.Event()
    thread = CommunicationThread("lanesum-test", woken.set, woken.set, collections.deque())
    tasks = [FakeTask(number, seen, woken) for number in range(MAX_IN_FLIGHT + 1)]
    for task in tasks:
        thread.submit(task.begin)
    thread.submit(alone.set, alone=True)
    for task in reversed(tasks[1:]):
        task.ended = True
    tasks[0].ended = True
    woken.set()
    assert alone.wait(60)
    thread.stop()
    begins = [number for what, number in seen if what == "begin"]
    completes = [number for what, number in seen if what == "complete"]
    assert begins == completes == list(range(MAX_IN_FLIGHT + 1))
