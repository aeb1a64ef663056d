# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Baselines and learned compression over sessions and a server: results have the bits of the codec alone."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from lanesum import codecs
from lanesum.server import AggregationServer, ServerJob
from lanesum.session import Session
from lanesum_lab.codec_simulation import simulate
from tests.host.session.workers import LOCALHOST, random_loss, run_workers, tickets_for

pytestmark = pytest.mark.usefixtures("implementation")

WORKERS, ROUNDS = 3, 5
SIZES = {"a": 6000, "b": 2500}
LEARNED: dict[str, Any] = {"warm_up": 1, "training": 2, "passes": 2, "guard": 1.0}
CODECS: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("none", "fp16", "bf16", "eden", "powersgd")},
    "dgc": {"density": 0.05},
    "lgc": LEARNED,
    "lgc-server": LEARNED,
}


def gradient(worker: int, tensor: str, number: int) -> np.ndarray:
    scales = np.exp(np.arange(SIZES[tensor]) // 1024 % 5)
    return (scales * np.random.default_rng((worker, scales.size, number)).normal(size=scales.size)).astype(np.float32)


@pytest.mark.parametrize("name", CODECS)
def test_baseline_over_network_has_bits_of_codec_alone(name: str) -> None:
    """Two tensors are in flight at a time, so that a wrong order of rounds shows; a few packets are lost."""
    if name.startswith("lgc") and importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed.")

    def build() -> Any:
        return codecs.get(name, workers=WORKERS, **CODECS[name])

    with AggregationServer((LOCALHOST, 0), loss=random_loss(1, 0.02)) as server:
        tickets = tickets_for(server, WORKERS)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> list[np.ndarray]:
            codec, worker, results = build(), session.ticket.worker, []
            for number in range(ROUNDS):
                pending = [
                    session.all_reduce_async(gradient(worker, tensor, number), codec=codec, name=tensor)
                    for tensor in SIZES
                ]
                results += [one.result() for one in pending]
            return results

        results = run_workers(tickets, work, codec="fixed")
    job = [build() for _ in range(WORKERS)]
    expected = [
        simulate(
            job,
            [gradient(worker, tensor, number) for worker in range(WORKERS)],
            seed=tickets[0].seed,
            round=number * len(SIZES) + place,
            tensor=tensor,
            average=False,
            complete=True,
        ).values
        for number in range(ROUNDS)
        for place, tensor in enumerate(SIZES)
    ]
    for result in results:
        assert [one.tobytes() for one in result] == [one.tobytes() for one in expected]
