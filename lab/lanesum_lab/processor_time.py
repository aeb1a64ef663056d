# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Processor time of another process."""

from __future__ import annotations

import time

_CPU_CLOCK = 2  # clock_getcpuclockid(3): scheduler's clock of a whole process


def processor_s(pid: int) -> float:
    """Return the processor seconds of all threads of a process since its start. Raises OSError if there is none."""
    return time.clock_gettime((~pid << 3) | _CPU_CLOCK)
