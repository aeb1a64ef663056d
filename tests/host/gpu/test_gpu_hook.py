# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The hook with kernels: means and error feedback on a device have the bits of the host."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="needs Triton: pip install 'lanesum[gpu]'")
import lanesum.torch  # noqa: E402
from lanesum.codecs import ErrorFeedback, get  # noqa: E402
from lanesum.gpu import staging  # noqa: E402
from lanesum.session import Session  # noqa: E402
from tests.host.torch.buckets import FakeBucket, parameters, take_step  # noqa: E402
from tests.host.torch.fake_device import FakeDevice  # noqa: E402
from tests.host.torch.ranks import served_job  # noqa: E402

# Sizes of the parameters in each bucket. As DDP does, the first bucket has all of them, and later ones a part.
BUCKETS = [(5000, 300, 1), (5000,), (300, 1), (5000,), (300, 1), (300, 1)]


def gradient(worker: int, step: int) -> np.ndarray:
    generator = np.random.default_rng([worker, step])
    return generator.standard_normal(sum(BUCKETS[step]), np.float32) * np.float32(10.0**step)


def hooked(codec: str, on_device: bool) -> tuple[list[bytes], dict[str, bytes], list[bytes]]:
    """Return means and error feedback of a worker with the hook, and the means of a worker without PyTorch."""
    others: list[bytes] = []

    def plain(ticket: Any) -> None:
        with Session(ticket, codec=ErrorFeedback(get(codec, workers=2)), deadline_s=200.0) as session:
            for step in range(len(BUCKETS)):
                others.append(session.all_reduce(gradient(1, step), average=True, name=f"bucket {step}").tobytes())

    with pytest.MonkeyPatch.context() as patch, served_job(2, codec) as (first, second):
        fake = FakeDevice()
        patch.setitem(staging._stagings, torch.device("cpu"), fake)
        if not on_device:
            patch.delenv(staging.VARIABLE)
        thread = threading.Thread(target=plain, args=(second,))
        thread.start()
        with lanesum.torch.State(Session(first, codec=codec, deadline_s=200.0), error_feedback=True) as state:
            shown = parameters(5000, 300, 1)
            futures = []
            for step, sizes in enumerate(BUCKETS):
                bucket = FakeBucket(torch.from_numpy(gradient(0, step)), [p for p in shown if p.numel() in sizes])
                bucket.index = lambda step=step: step  # type: ignore[misc,method-assign]
                futures.append(lanesum.torch.hook(state, bucket))
            means = [future.wait().numpy().tobytes() for future in futures]
            waited = set(fake.threads_of("synchronize"))
            take_step(shown)
            memory = state.state_dict()["memory"]
            assert state.error_feedback is not None
        thread.join()
        assert bool(fake.threads_of("copy to host")) == on_device and threading.current_thread().name not in waited
    return means, {key: one.numpy().tobytes() for key, one in memory.items()}, others


@pytest.mark.long
@pytest.mark.parametrize("codec", ["thc", "sketch"])
@pytest.mark.parametrize("native", ["off", "auto"])
def test_hook_on_device_has_bits_of_host(codec: str, native: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Buckets change and several are in flight; the other worker has no device."""
    monkeypatch.setenv("LANESUM_NATIVE", native)
    here, there = hooked(codec, True), hooked(codec, False)
    assert here == there and here[0] == here[2]
    assert any(any(kept) for kept in here[1].values())
