# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tasks that are cancelled long before their time do not stay in memory."""

from __future__ import annotations

import threading

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.api import Digest
from lanesum_switch.p4runtime.other_programs.digests import DigestManager
from lanesum_switch.p4runtime.other_programs.scheduler import Scheduler
from lanesum_switch.p4runtime.p4info import DigestInfo, P4InfoIndex

HOUR_S = 3600.0


def test_cancelled_tasks_leave_memory_before_their_time() -> None:
    scheduler = Scheduler()
    kept = [scheduler.every(HOUR_S, list) for _ in range(100)]
    for _ in range(1000):
        scheduler.every(HOUR_S, list).cancel()
    assert len(scheduler.queue.queue) == 100
    ran = threading.Event()
    scheduler.once(0.0, ran.set)
    scheduler.start()
    assert ran.wait(30)
    scheduler.stop()
    assert not any(task.cancelled for task in kept)


def test_failing_task_ends_neither_itself_nor_others() -> None:
    scheduler, runs = Scheduler(), list[int]()
    twice = threading.Event()

    def fail() -> None:
        runs.append(1)
        if len(runs) == 2:
            twice.set()
        raise ValueError

    scheduler.start()
    scheduler.every(0.001, fail)
    assert twice.wait(30)
    scheduler.stop()


def test_full_digest_lists_leave_no_timers() -> None:
    """The timer of a list that was sent because it was full may be hours away, and packets fill lists."""
    scheduler, sent = Scheduler(), list[p4rt.StreamMessageResponse]()
    info = DigestInfo(1, "seen", "bitstring", (32,))
    manager = DigestManager(P4InfoIndex(digests={1: info}), scheduler, sent.append)
    entry = p4rt.DigestEntry(digest_id=1)
    entry.config.max_list_size, entry.config.max_timeout_ns, entry.config.ack_timeout_ns = 2, 10**13, 10**13
    manager.write(p4rt.Update.INSERT, entry)
    for value in range(1000):
        manager.on_digest(Digest("seen", (value,)))
    assert len(sent) == 500
    assert len(scheduler.queue.queue) <= 200
