# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the kernels: its arithmetic, and that it invents no figures."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from typing import Any

import pytest

from tests.paths import ROOT

torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="needs Triton: pip install 'lanesum[gpu]'")

from benchmarks import gpu_kernels as gpu  # noqa: E402
from lanesum.codecs import THC  # noqa: E402
from lanesum.gpu import staging  # noqa: E402
from lanesum_lab.bench.devices import Device  # noqa: E402
from tests.host.torch.fake_device import FakeDevice  # noqa: E402


def test_bytes_of_the_kernels() -> None:
    moved = gpu.traffic(THC(workers=4), error_feedback=True)
    assert {name: round(one, 1) for name, one in moved.items()} == {
        "square_sums": 8.0, "encode": 12.5, "decode": 5.0,
    }  # fmt: skip
    wide = gpu.traffic(THC(workers=4, bits=8, block=64), error_feedback=False)
    assert 5.15 < wide["encode"] < 5.2 and wide["decode"] == 6.125


def test_shares_of_copying() -> None:
    def case(what: str, bytes_each: float) -> gpu.KernelCase:
        return gpu.KernelCase(what, "lanesum", bytes_each, lambda: None)

    copy = gpu.timing(case("copy", 8.0), 1000, [3e-6, 1e-6, 2e-6], 0.0)
    assert copy["share"] == 1.0 and copy["bandwidth"] == pytest.approx(4e9) and copy["ns"] == pytest.approx(2.0)
    assert (copy["min_ns"], copy["max_ns"]) == pytest.approx((1.0, 3.0))
    encode = gpu.timing(case("encode", 12.5), 1000, [5e-6], copy["bandwidth"])
    assert encode["share"] == pytest.approx(0.625)


def test_measured_kernel_waits_for_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors are made in the caller's stream, norms in lanesum's, and kernels are timed in the caller's again."""
    device = FakeDevice()
    monkeypatch.setitem(staging._stagings, torch.device("cpu"), device)
    gpu.Vectors(4096, torch.device("cpu"))
    done = [what for what, _ in device.log]
    assert done.index("wait event") < done.index("copy to host") and done[-1] == "hand over"


def test_everything_that_is_measured_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the host, interpreted; times are made up, as there is no GPU that could tell them."""

    def once(work: Any, repeats: int) -> list[float]:
        work()
        return [1e-3] * repeats

    monkeypatch.setattr(gpu, "seconds_of", once)
    found = gpu.measure(Device(torch.device("cpu"), {"name": "none"}), 1 << 13, 2)
    names = [one["what"] for one in found["timings"]]
    assert names == ["copy", "norms", "encode", "norms and encode", "decode"]
    assert found["timings"][2]["share"] == pytest.approx(found["timings"][2]["bytes"] / 8)


def test_script_without_gpu_names_missing_device() -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("TRITON", "LANESUM"))}
    environment["CUDA_VISIBLE_DEVICES"] = ""
    # -S: the editable installation of the packages has no effect.
    environment["PYTHONPATH"] = sysconfig.get_path("purelib")
    command = [sys.executable, "-S", str(ROOT / "benchmarks" / "gpu.py"), "--json"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == 2 and not ended.stdout
    assert ended.stderr.startswith("MissingToolError: PyTorch finds no CUDA device")
