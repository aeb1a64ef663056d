# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the kernels: its arithmetic, its peers' results, and that it invents no figures."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from typing import Any

import numpy as np
import pytest

from tests.paths import ROOT

torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="needs Triton: pip install 'lanesum[gpu]'")

from lanesum.codecs import THC, Aggregate, CodecContext  # noqa: E402
from lanesum.codecs.kernels.packing import lane_contribution  # noqa: E402
from lanesum.codecs.norms import norms_of  # noqa: E402
from lanesum.gpu import staging  # noqa: E402
from lanesum_lab.bench import gpu, gpu_peers  # noqa: E402
from lanesum_lab.bench.devices import Device  # noqa: E402
from lanesum_lab.bench.gpu_traffic import traffic  # noqa: E402
from tests.host.torch.fake_device import FakeDevice  # noqa: E402


@pytest.mark.parametrize(("workers", "worker", "zero"), [(4, 1, False), (17, 2, False), (1, 0, True)])
def test_plain_pytorch_has_the_codes_of_thc(workers: int, worker: int, zero: bool) -> None:
    codec = THC(workers=workers)
    values, feedback = np.random.default_rng(3).normal(size=(2, 2 * 4096)).astype(np.float32)
    if zero:
        values[:4096] = feedback[:4096] = 0
    context = CodecContext(workers=workers, worker=worker, seed=2**63 + 3, round=5, keep_residual=True)
    norms = norms_of(values + feedback, codec.block, context)
    steps = codec.all_reduce(values + feedback, context)
    next(steps)
    codes = steps.send(Aggregate(norms.view(np.uint32), workers))
    sums = lane_contribution(codec.op, codes.words, codec.code_table) * np.uint32(workers)
    with pytest.raises(StopIteration) as ended:
        steps.send(Aggregate(sums, workers))
    expected: Any = ended.value.value

    plain = gpu_peers.PlainThc(codec, context, norms, norms, torch.device("cpu"))
    words, residual = plain.encode(torch.from_numpy(values), torch.from_numpy(feedback))
    assert words.numpy().view(np.uint32).tobytes() == codes.words.tobytes()
    assert residual.numpy().tobytes() == expected.residual.tobytes()
    assert plain.decode(torch.from_numpy(sums.view(np.int32))).numpy().tobytes() == expected.values.tobytes()


def test_power_sgd_leaves_what_its_mean_lacks() -> None:
    values, feedback = torch.randn(2, 64, generator=torch.Generator().manual_seed(1))
    mean, rest = gpu_peers.power_sgd(values, feedback, torch.eye(8))
    torch.testing.assert_close(mean.reshape(-1), values + feedback, atol=1e-5, rtol=1e-5)  # rank 8 leaves nothing
    assert rest.abs().max() < 1e-5
    assert gpu_peers.half_encode(torch.ones(3), 4).tolist() == [0.25] * 3
    assert gpu_peers.half_decode(torch.ones(3).half(), torch.zeros(3)).dtype == torch.float32


def test_bytes_of_the_kernels() -> None:
    moved = traffic(THC(workers=4), error_feedback=True)
    assert {name: round(one.total, 1) for name, one in moved.items()} == {
        "square_sums": 8.0, "encode": 12.5, "decode": 5.0,
    }  # fmt: skip
    wide = traffic(THC(workers=4, bits=8, block=64), error_feedback=False)
    assert wide["encode"].written == 1.0 and wide["encode"].read > 4.15 and wide["decode"].read == 2.125


def test_shares_of_copying() -> None:
    copy = gpu.timing("copy", "PyTorch", 1000, 8.0, [3e-6, 1e-6, 2e-6], 0.0)
    assert copy.share == 1.0 and copy.bandwidth == pytest.approx(4e9) and copy.ns == pytest.approx(2.0)
    assert (copy.min_ns, copy.max_ns) == pytest.approx((1.0, 3.0))
    encode = gpu.timing("encode", "lanesum", 1000, 12.5, [5e-6], copy.bandwidth or 0.0)
    assert encode.share == pytest.approx(0.625)
    assert gpu.timing("encode", "other", 1000, None, [5e-6], 1.0).share is None


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
    found = gpu.measure(Device(torch.device("cpu"), {"name": "none"}), 1 << 13, 2, False)
    assert not found["failed"] and [one["what"] for one in found["timings"]].count("encode") == 3
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
