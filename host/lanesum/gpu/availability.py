# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Check that kernels can run on a device: Triton must be installed, and must support the device."""

from __future__ import annotations

import functools
import importlib.util

import torch

from lanesum.errors import MissingToolError

#: Lowest compute capability that the kernels are compiled and tested for.
MIN_CAPABILITY = (8, 0)
_WITHOUT = "pass tensors with .cpu(), or set LANESUM_GPU=off"


class GpuError(MissingToolError):
    """The kernels cannot run on a device."""


def _no_work() -> None:
    """Do nothing, as a kernel."""


@functools.cache
def require(device: torch.device) -> None:
    """Raise GpuError, naming what is missing, if kernels cannot run on ``device``."""
    if importlib.util.find_spec("triton") is None:
        raise GpuError(
            f"A tensor on {device} needs Triton, which is not installed:", f"pip install 'lanesum[gpu]', {_WITHOUT}."
        )
    if device.type == "cpu":
        import triton
        from triton.runtime.interpreter import InterpretedFunction

        if not isinstance(triton.jit(_no_work), InterpretedFunction):
            raise GpuError("Kernels on host tensors must be interpreted:", "set TRITON_INTERPRET=1 at start.")
        return
    if device.type != "cuda":
        raise GpuError(f"There are no kernels for a device of type {device.type!r}:", f"{_WITHOUT}.")
    capability = torch.cuda.get_device_capability(device)
    if torch.version.hip is None and capability < MIN_CAPABILITY:
        has, needed = (".".join(map(str, one)) for one in (capability, MIN_CAPABILITY))
        raise GpuError(
            f"{torch.cuda.get_device_name(device)} has compute capability {has}; the kernels need {needed}:",
            f"{_WITHOUT}.",
        )
    from triton.runtime import driver

    try:
        _ = driver.active  # compiles the launcher of kernels, unless it is cached
    except Exception as error:  # no compiler, no headers, or an error of CUDA
        raise GpuError(
            f"Triton cannot launch kernels on {torch.cuda.get_device_name(device)}: {error}",
            f"Install a C compiler and Python's headers (apt install gcc python3-dev), {_WITHOUT}.",
        ) from error
