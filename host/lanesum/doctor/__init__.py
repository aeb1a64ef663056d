# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What lanesum finds on this machine, what it makes of it, and what to do about what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lanesum.doctor import gpus, software, system
from lanesum.doctor.finding import Finding, Status

__all__ = ["Finding", "Status", "examine", "usable"]

# In the order in which a reader wants them: what runs, how fast it can be, and what else could be used.
_CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    software.versions,
    software.files,
    software.implementations,
    software.lanes,
    system.sockets,
    system.offload,
    system.privileges,
    gpus.gpus,
    software.packages,
    software.programs,
)


def examine() -> list[Finding]:
    """All checks; none of them raises, and none leaves anything behind."""
    return [finding for check in _CHECKS for finding in check()]


def usable(findings: list[Finding]) -> bool:
    """Whether there is no problem."""
    return all(finding.status is not Status.PROBLEM for finding in findings)
