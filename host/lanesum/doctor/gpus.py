# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Check of GPUs, as ``nvidia-smi`` lists them: PyTorch takes seconds to import, and does not name the driver."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

from lanesum.doctor.finding import Finding, note, ok, problem
from lanesum.errors import LanesumError

_QUERY = ("nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader")
_TIMEOUT_S = 30.0


class Gpu(NamedTuple):
    """A GPU: name, compute capability as NVIDIA writes it (``9.0``), and version of its driver."""

    name: str
    capability: str
    driver: str


def installed() -> list[Gpu]:
    """Return the GPUs in the driver's order; none if the tool is missing, fails, or takes more than 30 seconds."""
    try:
        answer = subprocess.run(_QUERY, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    rows = (tuple(cell.strip() for cell in line.split(",")) for line in answer.splitlines())
    return [Gpu(*row) for row in rows if len(row) == 3 and row[1].replace(".", "", 1).isdigit()]


def gpus() -> Iterator[Finding]:
    """Report if codecs can use the GPUs."""
    found = installed()
    if not found:
        yield ok("GPU", "None found by nvidia-smi: codecs run on the processor.")
        return
    missing = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
    if missing:
        names = ", ".join(gpu.name for gpu in found)
        yield note("GPU", f"{names}, but {' and '.join(missing)} missing.", "pip install 'lanesum[gpu]'.")
        return
    from lanesum.gpu.availability import MIN_CAPABILITY
    from lanesum.gpu.staging import VARIABLE, mode

    try:
        off = mode() == "off"
    except LanesumError as error:
        yield problem("GPU", error.what, error.next_step or "")
        return
    least = ".".join(map(str, MIN_CAPABILITY))
    for number, gpu in enumerate(found):
        what = f"{gpu.name}, driver {gpu.driver}, compute capability {gpu.capability}"
        if off:
            yield note(f"GPU {number}", f"{what}; vectors are copied to the host because of {VARIABLE}=off.")
        elif tuple(int(part) for part in gpu.capability.split(".")) < MIN_CAPABILITY:
            yield note(f"GPU {number}", f"{what}; the kernels need {least}.", f"Set {VARIABLE}=off.")
        else:
            yield ok(f"GPU {number}", f"{what}: thc and the sparse codecs run on it.")
