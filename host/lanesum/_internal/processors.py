# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Processors that this process may use: affinity, quota of its control groups, and cores instead of hyperthreads.

The number of threads of the native extension follows from them.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lanesum import environment
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import SLOT_SHARES

#: Threads that the native kernels permit.
MAX_THREADS = 256
# More threads were no faster: 4 ranks on 16 cores, 25 M values, see docs/codecs.md.
_MAX_DEFAULT_THREADS = 4
# On 2 busy cores two threads take 1.25 times as long as one for 500,000 values of thc, and .95 for 4 million.
_MIN_SHARE = 3
# See docs/native-transport.md.
_DEFAULT_TRANSPORT_THREADS = 2
_MIN_TRANSPORT_SHARE = 4
_TOPOLOGY = Path("/sys/devices/system/cpu")
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


class ThreadChoice(NamedTuple):
    """Number of threads of the native extension for one purpose, and the reason."""

    number: int
    reason: str


def thread_choice() -> ThreadChoice:
    """Return the number of threads of the codec loops, which is fixed at its first use, and the reason.

    Raises ConfigurationError if ``LANESUM_THREADS`` or ``LOCAL_WORLD_SIZE`` is invalid.
    """
    return _chosen(environment.THREADS, MAX_THREADS)


def transport_thread_choice() -> ThreadChoice:
    """Return the number of threads that send and receive for a session, at most, and the reason; see ``thread_choice``.

    Raises ConfigurationError if ``LANESUM_TRANSPORT_THREADS`` or ``LOCAL_WORLD_SIZE`` is invalid.
    """
    return _chosen(environment.TRANSPORT_THREADS, SLOT_SHARES)


def _chosen(variable: str, highest: int) -> ThreadChoice:
    ranks = os.environ.get(environment.SPAWNED_RANKS) or os.environ.get(environment.LOCAL_WORLD_SIZE)
    return _chosen_by(variable, highest, os.environ.get(variable), ranks)


@functools.cache
def _chosen_by(variable: str, highest: int, given: str | None, ranks: str | None) -> ThreadChoice:
    if given is not None:
        return ThreadChoice(_parsed(variable, given, highest), f"{variable} says so")
    if ranks is None:
        return ThreadChoice(1, f"{environment.LOCAL_WORLD_SIZE} does not say how many ranks share the host")
    sharing, cores = _parsed(environment.LOCAL_WORLD_SIZE, ranks, 1 << 16), usable_cores()
    share = cores // sharing
    if variable == environment.TRANSPORT_THREADS:
        number = _DEFAULT_TRANSPORT_THREADS if share >= _MIN_TRANSPORT_SHARE else 1
    else:  # the thread that sends needs a core as well
        number = min(share, _MAX_DEFAULT_THREADS) if share >= _MIN_SHARE else 1
    return ThreadChoice(number, f"usable cores: {cores}, ranks of this host: {sharing}")


def _parsed(variable: str, text: str, highest: int) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= highest:
        raise ConfigurationError(f"Invalid {variable}={text!r}: expected an integer from 1 to {highest}.")
    return int(text)


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
