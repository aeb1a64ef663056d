# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sessions of workers through the program for Tofino: sockets, controller and server around the embedded switch."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from lanesum import codecs
from lanesum.codecs import simulate
from lanesum.protocol import LaneOp
from lanesum.run.switch_ports import loopback_ports
from lanesum.server import AggregationServer
from lanesum.session import Session
from lanesum_control.controller import AdmittedJob, Controller, JobRequest
from lanesum_control.managed import RemoteSwitch
from lanesum_control.network import Network
from lanesum_control.pipelines import tofino_pipeline
from lanesum_control.topology import available
from lanesum_control.topology.files import parse
from lanesum_switch.p4runtime import P4RuntimeServer
from lanesum_switch.ports.runner import PortRunner
from lanesum_switch.tna.switch import TofinoSwitch

# Addresses of its own, so that a run on this machine is not in the way.
STAR = parse(available()["star4"].read_text().replace("10.19.", "10.93."), "star")
HOSTS = ("w1", "w2", "w3")
SIZE = 3000


@dataclass
class Site:
    controller: Controller
    server: AggregationServer
    words: int  # that a packet's sum has

    def reduce(self, job: AdmittedJob, codec: codecs.Codec | str) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Means of two vectors in a row, the same at every worker; and the codec's own."""
        results: dict[int, list[np.ndarray]] = {}

        def work(worker: int) -> None:
            ticket = self.controller.join(job.request.name, worker)
            with Session(ticket, codec=codec) as session:
                results[worker] = [session.all_reduce(vector(worker, number), average=True) for number in range(2)]

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(len(HOSTS))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(results) == set(range(len(HOSTS)))
        for other in results.values():
            assert [got.tobytes() for got in other] == [got.tobytes() for got in results[0]]
        if isinstance(codec, str):
            codec = codecs.for_job(codec, workers=len(HOSTS), lookup=job.tickets[0].code_table is not None)
        seed = job.tickets[0].seed
        alone = [
            simulate.simulate(
                codec, [vector(worker, number) for worker in range(len(HOSTS))], seed=seed, round=number, complete=True
            ).values
            for number in range(2)
        ]
        return results[0], alone


def vector(worker: int, number: int) -> np.ndarray:
    return np.random.default_rng((worker, number)).normal(size=SIZE).astype(np.float32)


@pytest.fixture(scope="module", params=["tofino1-w32", "tofino2-w256"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("tofino")
    device = TofinoSwitch()
    pipeline = tofino_pipeline(request.param)
    words = pipeline.accumulator_words
    switch = RemoteSwitch(f"unix:{folder}/p4runtime", pipeline)
    with (
        P4RuntimeServer(device, switch.address, device_id=1),
        PortRunner(device, loopback_ports(STAR, "s1", None)),
        AggregationServer(STAR.server_backend("server", loopback=True)) as server,
    ):
        controller = Controller(
            Network.of(STAR, loopback=True), server, {"s1": switch}, accumulator_words=words, connect_timeout_s=5.0
        )
        yield Site(controller, server, words)
        controller.close()


@pytest.mark.parametrize(
    ("codec", "op"),
    [
        (codecs.get("thc-uniform", workers=len(HOSTS)), LaneOp.EXPAND8),
        ("thc", LaneOp.EXPAND8),
        (codecs.THC(workers=len(HOSTS), bits=4, lanes=16), LaneOp.EXPAND16),
        (codecs.THC(workers=len(HOSTS), bits=8), LaneOp.EXPAND8TO16),
        (codecs.get("fixed", workers=len(HOSTS)), LaneOp.ADD32),
    ],
    ids=lambda what: what.name if isinstance(what, LaneOp) else "",
)
def test_sums_of_the_chip_s_program_are_the_codec_s(site: Site, codec: codecs.Codec | str, op: LaneOp) -> None:
    before = site.controller.counters()
    name = codec if isinstance(codec, str) else None
    job = site.controller.admit(JobRequest(op.name.lower(), HOSTS, slots=8, codec=name))
    assert op in job.switch_jobs["s1"].ops
    got, alone = site.reduce(job, codec)
    assert [sum_.tobytes() for sum_ in got] == [sum_.tobytes() for sum_ in alone]
    after = site.controller.counters()
    summed = after["switches"]["s1"]["contribute_and_complete"] - before["switches"]["s1"]["contribute_and_complete"]
    values = op.shape.uplink_words(site.words) * 32 // op.shape.code_bits
    assert summed >= 2 * (SIZE // values)
    site.controller.remove(job.request.name)


def test_what_the_program_lacks_is_summed_by_the_server(site: Site) -> None:
    """TABLE8: the same job has its other operations at the switch."""
    codec = codecs.get("thc-paper", workers=len(HOSTS))
    before = site.controller.counters()
    job = site.controller.admit(JobRequest("paper", HOSTS, slots=8, codec="thc-paper"))
    assert LaneOp.TABLE8 in job.tickets[0].ops
    assert LaneOp.TABLE8 not in job.switch_jobs["s1"].ops
    got, alone = site.reduce(job, codec)
    assert [sum_.tobytes() for sum_ in got] == [sum_.tobytes() for sum_ in alone]
    after = site.controller.counters()
    passed = after["switches"]["s1"]["route_other_size"] - before["switches"]["s1"].get("route_other_size", 0)
    assert passed >= len(HOSTS) * 2 * (SIZE // (4 * site.words))
    site.controller.remove("paper")
