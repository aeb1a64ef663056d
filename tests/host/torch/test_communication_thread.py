# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs are begun while others are under way, and completed in their order."""

from __future__ import annotations

import threading

from lanesum.torch.communication_thread import MAX_IN_FLIGHT, CommunicationThread


class Job:
    """Ends when somebody says so; waits as a session does, which anybody may wake."""

    def __init__(self, number: int, seen: list[tuple[str, int]], woken: threading.Event) -> None:
        self.number = number
        self.ended = False
        self.complete_ = threading.Event()
        self._seen = seen
        self._woken = woken

    def begin(self) -> Job:
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


def test_a_few_are_under_way_and_end_in_their_order() -> None:
    seen: list[tuple[str, int]] = []
    woken, alone = threading.Event(), threading.Event()
    thread = CommunicationThread("lanesum-test", woken.set, woken.set)
    jobs = [Job(number, seen, woken) for number in range(MAX_IN_FLIGHT + 1)]
    for job in jobs:
        thread.submit(job.begin)
    thread.submit(alone.set, alone=True)
    for job in reversed(jobs[1:]):
        job.ended = True
    jobs[0].ended = True
    woken.set()
    assert alone.wait(60)
    thread.stop()
    begins = [number for what, number in seen if what == "begin"]
    completes = [number for what, number in seen if what == "complete"]
    assert begins == completes == list(range(MAX_IN_FLIGHT + 1))
