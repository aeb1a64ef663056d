# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The GPUs of this machine as the driver's own tool sees them: PyTorch takes seconds to import, and tells no driver."""

from __future__ import annotations

import subprocess
from typing import NamedTuple

_QUERY = ("nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader")
_TIMEOUT_S = 30.0


class Gpu(NamedTuple):
    name: str
    #: As NVIDIA writes it: "9.0".
    capability: str
    driver: str


def gpus() -> list[Gpu]:
    """In the driver's order; none where the tool is missing, fails, or does not answer in 30 seconds."""
    try:
        answer = subprocess.run(_QUERY, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    rows = (tuple(cell.strip() for cell in line.split(",")) for line in answer.splitlines())
    return [Gpu(*row) for row in rows if len(row) == 3 and row[1].replace(".", "", 1).isdigit()]
