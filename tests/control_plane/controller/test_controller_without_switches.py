# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A real server in this process under the controller, without any switch."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path

import numpy as np
import pytest

from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, FULL_ACCUMULATOR_WORDS
from lanesum.server import AggregationServer
from lanesum.session import Session
from lanesum.transport.errors import AggregationTimeoutError
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.planner.network import Network
from lanesum_control.state.store import Store
from lanesum_fabric.topology import Topology, TopologyBuilder, load
from tests.control_plane.control_fakes import Site


def hosts_alone() -> Topology:
    build = TopologyBuilder("direct")
    build.worker("w1")
    build.worker("w2")
    build.server("server")
    build.controller("controller")
    return build.topology()


@pytest.mark.parametrize(
    ("topology", "hosts"),
    [(load("star4"), ("w1", "w2")), (load("tree2x2"), ("w1", "w3")), (hosts_alone(), ("w1", "w2"))],
)
def test_jobs_are_summed_and_removed(topology: Topology, hosts: tuple[str, str]) -> None:
    with AggregationServer(("127.19.0.99", 0)) as server:
        network = dataclasses.replace(Network.of(topology, loopback=True), servers=(server.address,))
        controller = Controller(network, server)
        job = controller.admit(JobRequest("a", hosts, udp_port=29539))
        assert (job.tickets[0].accumulator_words, job.tickets[0].slots) == (FULL_ACCUMULATOR_WORDS, 512)
        if not topology.switches():
            assert (job.left_out, controller.examine()["hosts"]["w1"]["switch"]) == ({}, None)
        results: list[np.ndarray] = []

        def work(worker: int) -> None:
            with Session(controller.join("a", worker), codec="thc") as session:
                results.append(session.all_reduce(np.full(5000, worker + 1, np.float32)))

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results[0].tobytes() == results[1].tobytes()
        assert abs(float(results[0].mean()) - 3) < 0.1
        counts = controller.counters()["packets"]
        assert counts["aggregate"] == counts["accept"]
        assert counts["contribute_and_complete"] == 1 + 1 + 4  # opening, norms, codes

        late = controller.join("a", 0)  # a new incarnation, because the session before it has ended
        controller.remove("a")
        with Session(late, deadline_s=0.3) as session, pytest.raises(AggregationTimeoutError):
            session.all_reduce(np.ones(8, np.float32))
        counts = controller.counters()["packets"]
        assert counts["aggregate"] > counts["accept"]


def test_packets_follow_switches_unless_jobs_lose_them(tmp_path: Path) -> None:
    """Without switches results fill an Ethernet frame. A job that loses its switches keeps its tickets."""
    network = Network.of(load("star4"), loopback=True)
    site = Site("star4")
    found = []
    for switches in ({}, site.switches, {}):
        with Store(tmp_path / "state") as store:
            controller = Controller(network, site.servers, switches, store=store)
            if not controller.present():
                controller.admit(JobRequest("a", ("w1", "w2")))
            ticket = controller.job("a").tickets[0]
            found.append((ticket.accumulator_words, ticket.slots, ticket.tag))
            controller.close()
    words, slots, tags = zip(*found, strict=True)
    assert words == (FULL_ACCUMULATOR_WORDS, DEFAULT_ACCUMULATOR_WORDS, DEFAULT_ACCUMULATOR_WORDS)
    assert len(set(slots)) == 1, "the request of a job does not change"
    assert tags[0] != tags[1] == tags[2]
