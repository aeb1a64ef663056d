# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Devices that codecs are measured on: the processor, or a GPU with its asynchronous clock."""

from __future__ import annotations

import importlib.util
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanesum.codecs.base import Codec, CodecContext, Steps, Vector
from lanesum.doctor import gpus
from lanesum.errors import ConfigurationError, MissingToolError

NAMES = ("cpu", "cuda")


@dataclass(frozen=True)
class Device:
    """Device that holds the vectors.

    Attributes:
        of: PyTorch device; None for the processor, where vectors are arrays.
        described: kind, name and versions, JSON-ready, for every figure.
    """

    of: Any
    described: dict[str, Any]

    @property
    def name(self) -> str:
        """Name of the part of the machine that did the work."""
        return str(self.described["name"])

    def clock(self) -> float:
        """Return seconds: process time on the processor; on a GPU wall-clock time after all its work is complete."""
        if self.of is None:
            return time.process_time()
        self._wait()
        return time.perf_counter()

    def _wait(self) -> None:
        if self.of.type == "cuda":
            import torch

            torch.cuda.synchronize(self.of)

    def vector(self, vector: Vector) -> Any:
        """Return ``vector`` on the device."""
        if self.of is None:
            return vector
        import torch

        return torch.from_numpy(vector).to(self.of)

    def steps(self, codec: Codec, vector: Any, context: CodecContext) -> Steps:
        """Return the steps of ``codec`` as in a session: a codec without kernels gets a host copy."""
        if self.of is None:
            return codec.all_reduce(vector, context)
        from lanesum.codecs import tensors

        return tensors.make_steps(codec, vector, context)[0]

    def values(self, values: Any) -> Vector:
        """Return a result on the host."""
        if self.of is None:
            assert isinstance(values, np.ndarray)
            return values
        assert values.device.type == self.of.type, "the result is elsewhere"
        self._wait()
        host: Vector = values.cpu().numpy()
        return host


def require_torch(purpose: str) -> None:
    """Raise MissingToolError, which names the purpose, if PyTorch is not installed."""
    if importlib.util.find_spec("torch") is None:
        raise MissingToolError(f"{purpose} needs PyTorch, which is not installed.", "Run: pip install 'lanesum[gpu]'")


def device(name: str) -> Device:
    """Return the device ``name``. Raises ConfigurationError if it is unknown, MissingToolError if it is missing."""
    if name not in NAMES:
        raise ConfigurationError(f"There is no device {name!r} to measure on.", f"Use one of {', '.join(NAMES)}.")
    if name == "cpu":
        from lanesum_lab.bench.figures import machine

        return Device(None, {"kind": "cpu", "name": machine()["processor"]})
    require_torch("--device cuda")
    import torch

    from lanesum.gpu.availability import require

    if not torch.cuda.is_available():
        raise MissingToolError(
            "PyTorch finds no CUDA device on this machine.",
            "Measure the processor (lanesum bench codec --device cpu), or use a machine that has one.",
        )
    of = torch.device("cuda", torch.cuda.current_device())
    require(of)
    import triton

    described = {
        "kind": "cuda",
        "name": torch.cuda.get_device_name(of),
        "driver": next((gpu.driver for gpu in gpus.installed()), None),
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
        "triton": triton.__version__,  # the package has another name beside PyTorch's own builds
    }
    return Device(of, described)
