# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""GPUs of this machine, from ``nvidia-smi``: PyTorch takes seconds to import, and does not name the driver."""

from __future__ import annotations

import subprocess
from typing import NamedTuple

_QUERY = ("nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader")
_TIMEOUT_S = 30.0


class Gpu(NamedTuple):
    """A GPU: name, compute capability as NVIDIA writes it (``9.0``), and version of its driver."""

    name: str
    capability: str
    driver: str


def gpus() -> list[Gpu]:
    """Return the GPUs in the driver's order; none if the tool is missing, fails, or takes more than 30 seconds."""
    try:
        answer = subprocess.run(_QUERY, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    rows = (tuple(cell.strip() for cell in line.split(",")) for line in answer.splitlines())
    return [Gpu(*row) for row in rows if len(row) == 3 and row[1].replace(".", "", 1).isdigit()]
