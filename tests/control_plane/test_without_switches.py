# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A real server in this process under the controller, without any switch."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest

from lanesum.server import AggregationServer
from lanesum.session import Session
from lanesum.transport.errors import AggregationTimeoutError
from lanesum_control.controller import Controller, JobRequest
from lanesum_control.network import Network
from lanesum_control.topology import load


@pytest.mark.parametrize(("topology", "hosts"), [("star4", ("w1", "w2")), ("tree2x2", ("w1", "w3"))])
def test_jobs_are_summed_and_removed(topology: str, hosts: tuple[str, str]) -> None:
    with AggregationServer(("127.19.0.99", 0)) as server:
        network = dataclasses.replace(Network.of(load(topology), loopback=True), servers=(server.address,))
        controller = Controller(network, server)
        controller.admit(JobRequest("a", hosts, udp_port=29539))
        results: list[np.ndarray] = []

        def work(worker: int) -> None:
            with Session(controller.join("a", worker), codec="thc") as session:
                results.append(session.all_reduce(np.full(1000, worker + 1, np.float32)))

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results[0].tobytes() == results[1].tobytes()
        assert abs(float(results[0].mean()) - 3) < 0.1
        counts = controller.counters()["packets"]
        assert counts["aggregate"] == counts["accept"]
        assert counts["contribute_and_complete"] == 1 + 4  # one packet of norms, four of codes

        late = controller.join("a", 0)  # a new incarnation, because the session before it has ended
        controller.remove("a")
        with Session(late, deadline_s=0.3) as session, pytest.raises(AggregationTimeoutError):
            session.all_reduce(np.ones(8, np.float32))
        counts = controller.counters()["packets"]
        assert counts["aggregate"] > counts["accept"]
