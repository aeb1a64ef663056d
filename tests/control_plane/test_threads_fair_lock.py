# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Turns of the callers that wait for the lock."""

from __future__ import annotations

import threading
import time

from lanesum_control.threads import FairLock


def queue(lock: FairLock, caller: str, order: list[str]) -> threading.Thread:
    """Let a thread wait for the lock; return after it has a place in the queue."""

    def run() -> None:
        with lock.held_for(caller):
            order.append(caller)

    before = sum(map(len, lock._waiting.values()))
    thread = threading.Thread(target=run)
    thread.start()
    while sum(map(len, lock._waiting.values())) == before:
        time.sleep(0.001)
    return thread


def test_callers_with_many_calls_take_turns_with_others() -> None:
    lock, order = FairLock(), list[str]()
    with lock.held_for("a"):
        threads = [queue(lock, caller, order) for caller in "aaaabcb"]
    for thread in threads:
        thread.join()
    assert "".join(order) == "abcabaa"


def test_holder_may_take_it_again() -> None:
    lock, order = FairLock(), list[str]()
    with lock.held_for("a"):
        with lock.held_for("b"):
            thread = queue(lock, "c", order)
        assert order == []
    thread.join()
    assert order == ["c"]


def test_lock_is_free_after_an_error() -> None:
    lock = FairLock()
    try:
        with lock.held_for("a"):
            raise KeyError
    except KeyError:
        pass
    order: list[str] = []
    threads = [threading.Thread(target=lambda: lock.held_for("b").__enter__() or order.append("b"))]
    threads[0].start()
    threads[0].join(120)
    assert order == ["b"]
