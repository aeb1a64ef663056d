# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Check of the GPUs, as the driver's own tool sees them: PyTorch takes seconds to import, where there is none for
nothing."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Iterator

from lanesum.doctor.finding import Finding, note, ok, problem
from lanesum.errors import LanesumError

_QUERY = ("nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader")
_TIMEOUT_S = 30.0


def gpus() -> Iterator[Finding]:
    """Whether codecs can use what is there."""
    found = _query()
    if not found:
        yield ok("GPU", "None that nvidia-smi knows of: vectors of the host only.")
        return
    missing = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
    if missing:
        names = ", ".join(name for name, _, _ in found)
        yield note("GPU", f"{names}, but {' and '.join(missing)} missing.", "pip install 'lanesum[gpu]'.")
        return
    from lanesum.gpu.availability import LEAST_CAPABILITY
    from lanesum.gpu.staging import VARIABLE, mode

    try:
        off = mode() == "off"
    except LanesumError as error:
        yield problem("GPU", error.what, error.next_step or "")
        return
    least = ".".join(map(str, LEAST_CAPABILITY))
    for number, (name, capability, driver) in enumerate(found):
        what = f"{name}, driver {driver}, compute capability {capability}"
        if off:
            yield note(f"GPU {number}", f"{what}; vectors are copied to the host, because of {VARIABLE}=off.")
        elif tuple(int(part) for part in capability.split(".")) < LEAST_CAPABILITY:
            yield note(f"GPU {number}", f"{what}; the kernels need {least}.", f"Set {VARIABLE}=off.")
        else:
            yield ok(f"GPU {number}", f"{what}: thc and the sparse codecs run on it.")


def _query() -> list[tuple[str, str, str]]:
    """Name, compute capability and driver of each."""
    try:
        answer = subprocess.run(_QUERY, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    rows = (tuple(cell.strip() for cell in line.split(",")) for line in answer.splitlines())
    return [(row[0], row[1], row[2]) for row in rows if len(row) == 3 and row[1].replace(".", "", 1).isdigit()]
