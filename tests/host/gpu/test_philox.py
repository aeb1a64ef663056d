# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Random bits inside kernels are those of the NumPy loops."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton", reason="needs Triton: pip install 'lanesum[gpu]'")
import triton.language as tl  # noqa: E402

from lanesum.codecs.kernels.philox import shared_dithers  # noqa: E402
from lanesum.gpu.availability import GpuError, require  # noqa: E402
from lanesum.gpu.philox import as_int32, block_dithers, keys  # noqa: E402


@triton.jit(do_not_specialize=["first", "round", "key0", "key1"])
def _store_dithers(out, first, round, key0, key1, GROUPS: tl.constexpr):
    pid = tl.program_id(0)
    first_half, second_half = block_dithers(first + pid, round, key0, key1, GROUPS)
    at = out + pid * GROUPS * 64 + tl.arange(0, GROUPS)[:, None] * 64 + tl.arange(0, 16)[None, :]
    tl.store(at, first_half & 0xFFFF)
    tl.store(at + 16, (first_half >> 16) & 0xFFFF)
    tl.store(at + 32, second_half & 0xFFFF)
    tl.store(at + 48, (second_half >> 16) & 0xFFFF)


@pytest.mark.parametrize(
    ("seed", "round_", "first", "length"),
    [(0, 0, 0, 64), (2**64 - 1, 2**32 - 1, 2**31 - 1, 128), (0x0123456789ABCDEF, 1, 5, 4096), (1 << 63, 16, 0, 1024)],
)
def test_block_dithers_equal_shared_dithers(seed: int, round_: int, first: int, length: int) -> None:
    out = torch.zeros(2, length, dtype=torch.int32)
    _store_dithers[(2,)](out, as_int32(first), as_int32(round_), *keys(seed), GROUPS=length // 64)
    expected = shared_dithers(2, length, seed=seed, round=round_, first=first)
    np.testing.assert_array_equal(out.numpy(), expected)


def test_require_on_device_without_kernels_names_it() -> None:
    require(torch.device("cpu"))
    with pytest.raises(GpuError, match=r"There are no kernels for a device of type 'meta'.*\.cpu\(\)"):
        require(torch.device("meta"))


def test_require_on_host_with_compiled_kernels_suggests_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum.gpu.philox.block_dithers", object())
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
