# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Processors that this process may use: affinity, quota of its control groups, and cores instead of hyperthreads."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

_TOPOLOGY = Path("/sys/devices/system/cpu")
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def usable_cores() -> int:
    """Return the number of cores that this process may use, at least 1. Two hyperthreads of a core count once."""
    cores = len({_siblings(processor) for processor in os.sched_getaffinity(0)})
    return max(1, int(min([cores, *_quotas()])))


def _siblings(processor: int) -> str:
    """Return the processors of one core, as the kernel writes them; the number of the processor if it does not say."""
    try:
        return (_TOPOLOGY / f"cpu{processor}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(processor)


def _quotas() -> Iterator[float]:
    """Yield the processors that each control group of this process permits, from the innermost on."""
    with contextlib.suppress(OSError):
        for line in _OWN_GROUPS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            # A container may show the path of its host, and mount its own group as the root.
            own = Path(path.lstrip("/"))
            for group in (own, *own.parents):
                if not controllers:
                    yield from _quota((_GROUPS / group / "cpu.max",))
                elif "cpu" in controllers.split(","):
                    folder = _GROUPS / "cpu" / group
                    yield from _quota((folder / "cpu.cfs_quota_us", folder / "cpu.cfs_period_us"))


def _quota(files: tuple[Path, ...]) -> Iterator[float]:
    """Yield quota over period of one group; nothing without a limit."""
    with contextlib.suppress(OSError, ValueError):
        quota, period = map(int, " ".join(file.read_text() for file in files).split())
        if quota > 0 and period > 0:
            yield quota / period
