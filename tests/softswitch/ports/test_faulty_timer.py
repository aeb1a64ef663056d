# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A timer with a descriptor."""

from __future__ import annotations

import select
import time

from lanesum_switch.ports.faulty import DeadlineTimer


def test_timer_polls_readable_after_its_deadline() -> None:
    timer = DeadlineTimer()
    ready = select.poll()
    ready.register(timer.fileno(), select.POLLIN)
    assert not ready.poll(0)
    start = time.monotonic()
    timer.set(start + 0.02)
    assert ready.poll(5000)
    assert time.monotonic() >= start + 0.02
    timer.set(None)
    assert not ready.poll(0)
    timer.set(0.0)  # in the past
    assert ready.poll(0)
    timer.close()
    timer.close()
