# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum job admit --seed``: the same seeds give the same sums, bit for bit."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from lanesum.joining import join
from lanesum.rpc import controller as rpc
from lanesum.server import AggregationServer
from lanesum.session import Session
from lanesum_control.controller.controller import Controller
from lanesum_control.controller.service import ControllerService
from lanesum_control.planner.network import Network
from lanesum_fabric.topology import load
from tests.command_line import invoke


@pytest.fixture
def address() -> Iterator[str]:
    with AggregationServer(("127.19.0.96", 0)) as server:
        network = dataclasses.replace(Network.of(load("star4"), loopback=True), servers=(server.address,))
        with ControllerService(Controller(network, server), "127.0.0.1:0") as service:
            yield f"127.0.0.1:{service.port}"


def sums(address: str, seed: int) -> bytes:
    """Return the sums of three all-reduces by a codec that dithers, in a job with this seed."""
    admit = ["job", "admit", "seeded", "--workers", "w1,w2", "--codec", "thc"]
    admitted = invoke([*admit, "--seed", str(seed), "--controller", address])
    assert admitted.exit_code == 0, admitted.output
    results: dict[int, bytes] = {}

    def work(worker: int) -> None:
        ticket = join(controller=address, job="seeded", worker=worker)
        assert ticket.seed == seed
        with Session(ticket, codec="thc") as session:
            vectors = [np.random.default_rng([worker, step]).normal(size=5000).astype(np.float32) for step in range(3)]
            results[worker] = b"".join(session.all_reduce(vector).tobytes() for vector in vectors)
            session.leave()

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rpc.call(address, rpc.REMOVE, {"job": "seeded"})
    assert results[0] == results[1]
    return results[0]


def test_admit_with_same_seed_gives_same_bits(address: str) -> None:
    first = sums(address, 7)
    assert sums(address, 7) == first
    assert sums(address, 8) != first


@pytest.mark.parametrize("seed", ["-1", str(1 << 64), "seven"])
def test_admit_with_invalid_seed_is_refused(address: str, seed: str) -> None:
    refused = invoke(["job", "admit", "seeded", "--workers", "w1", f"--seed={seed}", "--controller", address])
    assert refused.exit_code != 0 and "seed" in refused.output
