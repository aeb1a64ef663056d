# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Devices without kernels are refused with what is missing."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton", reason="needs Triton: pip install 'lanesum[gpu]'")
from lanesum.gpu.availability import GpuError, require  # noqa: E402


def test_require_on_device_without_kernels_names_it() -> None:
    require(torch.device("cpu"))
    with pytest.raises(GpuError, match=r"There are no kernels for a device of type 'meta'.*\.cpu\(\)"):
        require(torch.device("meta"))


def test_require_on_host_with_compiled_kernels_suggests_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET")
    require.cache_clear()
    with pytest.raises(GpuError, match="Kernels on host tensors must be interpreted: set TRITON_INTERPRET=1"):
        require(torch.device("cpu"))


def test_require_on_old_gpu_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA T4")
    with pytest.raises(GpuError, match=r"NVIDIA T4 has compute capability 7\.5; the kernels need 8\.0"):
        require(torch.device("cuda", 5))


def test_require_without_compiler_names_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    class Driver:
        @property
        def active(self) -> None:
            raise RuntimeError("Failed to find C compiler.")

    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H200")
    monkeypatch.setattr(triton.runtime, "driver", Driver())
    with pytest.raises(GpuError, match="Triton cannot launch kernels on NVIDIA H200: Failed to find C compiler"):
        require(torch.device("cuda", 7))


def test_require_without_triton_names_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(GpuError, match=r"needs Triton, which is not installed.*lanesum\[gpu\]"):
        require(torch.device("cuda", 6))
