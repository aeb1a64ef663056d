# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Whether kernels can run on a device: Triton has to be there, and the device must be one that it compiles for."""

from __future__ import annotations

import functools
import importlib.util
import os

import torch

from lanesum.errors import MissingToolError

#: Compute capability from which kernels are compiled and tested to compile.
LEAST_CAPABILITY = (8, 0)
_WITHOUT = "hand tensors over with .cpu(), or set LANESUM_GPU=off"


class GpuError(MissingToolError):
    """A device on which the kernels cannot run."""


def interpreting() -> bool:
    """Whether Triton runs kernels with NumPy, on tensors of the host; it looks when it is imported, and never again."""
    return os.environ.get("TRITON_INTERPRET") == "1"


@functools.cache
def require(device: torch.device) -> None:
    """Raises GpuError where kernels cannot run on ``device``, saying what is missing."""
    if importlib.util.find_spec("triton") is None:
        raise GpuError(
            f"A tensor on {device} needs Triton, which is not installed:",
            f"pip install 'lanesum[gpu]', {_WITHOUT}.",
        )
    if device.type == "cpu":
        from triton.runtime.interpreter import InterpretedFunction

        from lanesum.gpu.philox import block_dithers

        if not isinstance(block_dithers, InterpretedFunction):
            raise GpuError("Kernels run on a tensor of the host only interpreted:", "set TRITON_INTERPRET=1 at start.")
        return
    if device.type != "cuda":
        raise GpuError(f"There are no kernels for a device of type {device.type!r}:", f"{_WITHOUT}.")
    capability = torch.cuda.get_device_capability(device)
    if torch.version.hip is None and capability < LEAST_CAPABILITY:
        has, needed = (".".join(map(str, one)) for one in (capability, LEAST_CAPABILITY))
        raise GpuError(
            f"{torch.cuda.get_device_name(device)} has compute capability {has}; the kernels need {needed}:",
            f"{_WITHOUT}.",
        )
    from triton.runtime import driver

    try:
        _ = driver.active  # compiles what launches kernels, unless it is kept from another time
    except Exception as error:  # of a compiler that is not there, of one that finds no headers, of CUDA
        raise GpuError(
            f"Triton cannot launch kernels on {torch.cuda.get_device_name(device)}: {error}",
            f"Install a C compiler and Python's headers (apt install gcc python3-dev), {_WITHOUT}.",
        ) from error
