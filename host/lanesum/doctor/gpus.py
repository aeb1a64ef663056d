# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Check of GPUs."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

from lanesum.doctor.finding import Finding, note, ok, problem
from lanesum.errors import LanesumError
from lanesum.gpu import driver


def gpus() -> Iterator[Finding]:
    """Report if codecs can use the GPUs."""
    found = driver.gpus()
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
