# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Statistics over several runs, the machine of a measurement, and the error of one that failed."""

from __future__ import annotations

import os
import platform
import re
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lanesum.errors import LanesumError
from lanesum_fabric.resources import checkout_root


class BenchError(LanesumError):
    """A benchmark could not measure: a process did not answer, or packets were lost that must not be."""


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return median, minimum and maximum, JSON-ready."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def text(figure: dict[str, float], digits: int = 2) -> str:
    """Return ``median (min to max)``."""
    median, low, high = (f"{figure[key]:,.{digits}f}" for key in ("median", "min", "max"))
    return f"{median} ({low} to {high})"


def machine() -> dict[str, str | int | None]:
    """Return processor, cores, kernel, Python and, in a checkout, the commit."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "commit": _commit(),
    }


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1) if found else platform.machine()


def _commit() -> str | None:
    root = checkout_root()
    if root is None:
        return None
    command = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
