# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sessions of three workers through one switch on loopback, with a controller and a server."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from lanesum import codecs
from lanesum.joining import join
from lanesum.server import AggregationServer
from lanesum.session import Session
from lanesum.transport.constants import DEFAULT_DEADLINE_S
from lanesum_control.controller.controller import AdmittedJob, Controller
from lanesum_control.planner.network import Network
from lanesum_control.switches.managed import RemoteSwitch
from lanesum_fabric.topology import Topology, available
from lanesum_fabric.topology.files import parse
from lanesum_lab import codec_simulation as simulate
from lanesum_switch.p4runtime import P4RuntimeServer
from lanesum_switch.ports.runner import PortRunner
from lanesum_switch.ports.topology import loopback_ports

HOSTS = ("w1", "w2", "w3")
SIZE = 3000


@dataclass
class Site:
    controller: Controller
    server: AggregationServer
    words: int  # that a packet's sum has

    def reduce(
        self,
        job: AdmittedJob,
        codec: codecs.Codec | Callable[[], codecs.Codec] | str,
        rounds: int = 2,
        deadline_s: float = DEFAULT_DEADLINE_S,
        address: str = "",
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the means of consecutive vectors, equal at every worker, and those of the codec alone.

        A codec with state is given by its constructor. With the ``address`` of the controller's service workers keep
        the job alive.
        """
        results: dict[int, list[np.ndarray]] = {}
        completed = threading.Barrier(len(HOSTS))

        def own() -> codecs.Codec | str:
            return codec() if callable(codec) else codec

        def work(worker: int) -> None:
            with contextlib.ExitStack() as on_error:
                on_error.callback(completed.abort)
                reduce_all(worker)
                on_error.pop_all()

        def reduce_all(worker: int) -> None:
            name = job.request.name
            ticket = (
                join(controller=address, job=name, worker=worker, take_over=True)
                if address
                else self.controller.join(name, worker)
            )
            with Session(ticket, codec=own(), deadline_s=deadline_s) as session:
                results[worker] = [
                    session.all_reduce(vector(worker, number), average=True, name="t") for number in range(rounds)
                ]
                completed.wait()  # others may lack the last result

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(len(HOSTS))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(results) == set(range(len(HOSTS)))
        for other in results.values():
            assert [got.tobytes() for got in other] == [got.tobytes() for got in results[0]]
        lookup = job.tickets[0].code_table is not None
        team = [
            codecs.for_job(one, workers=len(HOSTS), lookup=lookup) if isinstance(one, str) else one
            for one in (own() for _ in HOSTS)
        ]
        alone = [
            simulate.simulate(
                team,
                [vector(worker, number) for worker in range(len(HOSTS))],
                seed=self.controller.job(job.request.name).tickets[0].seed,
                round=number,
                tensor="t",
                complete=True,
            ).values
            for number in range(rounds)
        ]
        return results[0], alone


def assert_exact(got: list[np.ndarray], alone: list[np.ndarray]) -> None:
    """Check that sums are those of the codec alone, bit for bit."""
    assert [sum_.tobytes() for sum_ in got] == [sum_.tobytes() for sum_ in alone]


def vector(worker: int, number: int) -> np.ndarray:
    return np.random.default_rng((worker, number)).normal(size=SIZE).astype(np.float32)


@contextlib.contextmanager
def running(
    folder: Path, device: Any, pipeline: Any, prefix: str, ports: Mapping[int, int] = MappingProxyType({})
) -> Iterator[Site]:
    """Run a site around ``device``.

    ``prefix``: prefix of unused addresses. ``ports``: other numbers for ports of the switch.
    """
    star = parse(star_text(prefix, ports), "star")
    switch = RemoteSwitch(f"unix:{folder}/p4runtime", pipeline)
    with (
        P4RuntimeServer(device, switch.address, device_id=1),
        PortRunner(device, loopback_ports(star, "s1", None)),
        controlling(star, switch, pipeline.accumulator_words) as site,
    ):
        yield site


def star_text(prefix: str, ports: Mapping[int, int] = MappingProxyType({})) -> str:
    """Return the topology file of a site; see ``running``."""
    text = available()["star4"].read_text().replace("10.19.", prefix)
    for port, other in ports.items():
        text = text.replace(f"s1:{port}", f"s1:{other}")
    return text


@contextlib.contextmanager
def controlling(star: Topology, switch: RemoteSwitch, words: int) -> Iterator[Site]:
    """Run the server and the controller of a site whose switch runs."""
    with AggregationServer(star.server_backend("server", loopback=True)) as server:
        controller = Controller(
            Network.of(star, loopback=True), server, {"s1": switch}, accumulator_words=words, connect_timeout_s=120.0
        )
        yield Site(controller, server, words)
        controller.close()
