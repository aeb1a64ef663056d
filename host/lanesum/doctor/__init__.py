# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of this machine: what lanesum uses, and what to do about what is missing.

Installed packages add checks of their own through the entry-point group ``lanesum.doctor``. An entry point refers to a
function without arguments that yields findings, or in ``PATH_GROUP`` with a controller's address and a job's name.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterator

from lanesum.doctor import gpus, software, system
from lanesum.doctor.finding import Finding, Severity, note, problem

__all__ = ["GROUP", "Finding", "Severity", "examine", "usable"]

GROUP = "lanesum.doctor"
PATH_GROUP = "lanesum.doctor.path"

# In the order in which a reader needs them: what runs, how fast it can be, and what else could be used.
_CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    software.versions,
    software.implementations,
    software.lanes,
    software.threads,
    system.sockets,
    system.steering,
    system.offload,
    gpus.gpus,
    software.packages,
)


def examine(controller: str | None = None, job: str | None = None) -> list[Finding]:
    """Run all checks, or those of a controller or job. None of them raises, and none leaves anything behind."""
    group, arguments = (PATH_GROUP, (controller, job)) if controller or job else (GROUP, ())
    points = sorted(importlib.metadata.entry_points(group=group), key=lambda point: point.name)
    if arguments and not points:
        what = "Checks of a controller or a job need lanesum-control, which is not installed."
        return [problem("lanesum-control", what, "pip install lanesum-control")]
    findings = [] if arguments else [finding for check in _CHECKS for finding in check()]
    for point in points:
        try:
            findings += point.load()(*arguments)
        except ImportError as error:
            what = f"The checks of {point.module.split('.')[0]} cannot be loaded: {error}."
            findings.append(note(f"{point.name} checks", what, "Reinstall the package."))
    return findings


def usable(findings: list[Finding]) -> bool:
    """Return True if there is no problem."""
    return all(finding.status is not Severity.PROBLEM for finding in findings)
