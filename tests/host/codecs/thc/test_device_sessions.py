# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs over the network of workers with and without a device: all results have the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="needs Triton: pip install 'lanesum[gpu]'")
from lanesum.codecs import THC, ErrorFeedback  # noqa: E402
from lanesum.codecs.thc import device as device_thc  # noqa: E402
from lanesum.session import Session  # noqa: E402
from tests.host.torch.device_codecs import run  # noqa: E402
from tests.host.torch.ranks import served_job  # noqa: E402

pytestmark = pytest.mark.usefixtures("interpreted")

SIZES = (0, 1, 5000)


def vectors(worker: int) -> list[np.ndarray]:
    return [np.random.default_rng([worker, size]).normal(size=size).astype(np.float32) for size in SIZES]


def test_workers_with_and_without_device_have_same_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rounds with error feedback, in several pieces where the transport supports pieces."""
    monkeypatch.setattr(device_thc, "_PIECE", 512)

    def work(worker: int, made: Any) -> Any:
        def all_of_them(session: Session) -> list[Any]:
            return [
                session.all_reduce(made(vector), average=True, name=f"w{vector.size}")
                for _ in range(2)
                for vector in vectors(worker)
            ]

        return all_of_them

    with served_job(2, "thc") as tickets:
        codec = lambda: ErrorFeedback(THC(workers=2))  # noqa: E731
        alone = run(tickets, [work(0, np.copy), work(1, np.copy)], codec)
    with served_job(2, "thc") as tickets:
        arrays, tensors = run(tickets, [work(0, np.copy), work(1, torch.from_numpy)], codec)
    for expected, array, tensor in zip(alone[0], arrays, tensors, strict=True):
        assert type(tensor) is torch.Tensor
        assert expected.tobytes() == array.tobytes() == tensor.numpy().tobytes()
