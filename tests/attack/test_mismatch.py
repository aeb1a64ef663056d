# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Workers that do not mean the same: noticed when they join or in the first round, and told to every one of them.

Controller, aggregation server and sessions on loopback, each worker in a thread.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from lanesum import codecs, joining, keep_alive
from lanesum.codecs.base import Codec
from lanesum.codecs.thc.codec import THC
from lanesum.errors import ConfigurationError
from lanesum.joining import DescriptionMismatchError
from lanesum.protocol import LaneOp
from lanesum.rpc import controller as rpc
from lanesum.server import AggregationServer
from lanesum.session import Session
from lanesum.transport.errors import MismatchError, SessionClosedError
from lanesum_control.controller.controller import Controller
from lanesum_control.controller.service import ControllerService
from lanesum_control.planner.network import Network
from lanesum_fabric.topology import load
from lanesum_lab.baselines.thc_paper.codec import PaperTHC

pytestmark = pytest.mark.usefixtures("implementation")

WORKERS = 3
UDP_PORT = 29641


@dataclass
class Site:
    """Controller that workers join. Every job has a name and ports of its own."""

    address: str
    jobs: int = 0

    def admit(self, **fields: Any) -> str:
        self.jobs += 1
        message = {
            "name": f"job {self.jobs}", "workers": ["w1", "w2", "w3"][:WORKERS], "slots": 8,
            "udp_port": UDP_PORT + self.jobs, **fields,
        }  # fmt: skip
        rpc.call(self.address, rpc.ADMIT, message)
        return str(message["name"])

    def run(self, job: str, described: list[str | None], work: Callable[[Session], Any], **options: Any) -> list[Any]:
        """``work`` at every worker, once all have joined with what they say; exceptions are outcomes.

        ``options`` of the sessions; a list has one for each worker.
        """
        outcomes: list[Any] = [None] * len(described)

        def one(worker: int) -> None:
            own = {name: value[worker] if isinstance(value, list) else value for name, value in options.items()}
            try:
                ticket = joining.join(
                    controller=self.address, job=job, worker=worker, description=described[worker], wait=True
                )
                with Session(ticket, **own) as session:
                    outcomes[worker] = work(session)
            except Exception as error:
                outcomes[worker] = error

        threads = [threading.Thread(target=one, args=(worker,)) for worker in range(len(described))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return outcomes


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with AggregationServer(("127.19.0.98", 0)) as server:
        network = dataclasses.replace(Network.of(load("star4"), loopback=True), servers=(server.address,))
        controller = Controller(network, server)
        with ControllerService(controller, "127.0.0.1:0") as service:
            yield Site(f"127.0.0.1:{service.port}")
        controller.close()


CODECS: dict[str, Callable[[], list[Codec]]] = {
    "another codec": lambda: [codecs.get("fixed", workers=3), *[codecs.get("thc", workers=3)] * 2],
    "another block": lambda: [*[THC(workers=3)] * 2, THC(workers=3, block=1 << 10)],
    "other lanes": lambda: [*[THC(workers=3)] * 2, THC(workers=3, lanes=16)],
    "another budget": lambda: [
        codecs.get("thc", workers=3, budget=2),
        *[codecs.get("thc", workers=3, budget=3)] * 2,
    ],
    "a budget": lambda: [*[codecs.get("thc", workers=3)] * 2, codecs.get("thc", workers=3, budget=4)],
    "another chunk": lambda: [*[PaperTHC(workers=3)] * 2, PaperTHC(workers=3, chunk=1 << 10)],
    "another clamp": lambda: [PaperTHC(workers=3, p=1 / 64), *[PaperTHC(workers=3)] * 2],
    "another rotation": lambda: [PaperTHC(workers=3), PaperTHC(workers=3, rotation="block"), PaperTHC(workers=3)],
    "another diagonal": lambda: [PaperTHC(workers=3), PaperTHC(workers=3, diagonal_seed=1), PaperTHC(workers=3)],
}


@pytest.mark.parametrize("case", list(CODECS))
def test_codecs_and_their_parameters_are_compared_at_join(site: Site, case: str) -> None:
    """Before anything is sent; each of them tells what every worker has."""
    described = [codec.describe() for codec in CODECS[case]()]
    assert len(set(described)) == 2
    outcomes = site.run(site.admit(), list(described), lambda session: session.all_reduce(np.ones(9, np.float32)))
    for outcome in outcomes:
        assert isinstance(outcome, DescriptionMismatchError)
        # An early caller gets the descriptions of those that had joined, two different ones among them.
        assert all(one in str(outcome) for one in set(described))


@pytest.mark.parametrize("sizes", [(1000, 1010, 1000), (10, 12, 11), (5000, 5000, 5001), (1000, 1000, 9000)])
@pytest.mark.parametrize("codec", ["thc", "thc-paper", "thc-uniform", "fixed"])
def test_lengths_are_compared_in_the_first_round(site: Site, codec: str, sizes: tuple[int, ...]) -> None:
    """Also where padding makes the packets equal. The session ends: the vectors of others may be anywhere."""
    job = site.admit(codec=codec)

    def work(session: Session) -> MismatchError:
        with pytest.raises(MismatchError) as caught:
            session.all_reduce(np.ones(sizes[session.ticket.worker], np.float32))
        with pytest.raises(SessionClosedError):
            session.all_reduce(np.ones(4, np.float32))
        return caught.value

    for worker, error in enumerate(site.run(job, [None] * 3, work, codec=codec)):
        assert isinstance(error, MismatchError), error
        assert error.brought != error.expected
        if {error.brought.words, error.expected.words} == {min(sizes), max(sizes)}:
            assert f"{min(sizes):,} to {max(sizes):,} values" in str(error)
            assert f"worker {worker} itself has {sizes[worker]:,}" in str(error)
        else:  # so different that not even the packets of the norms are as many
            assert codec in ("fixed", "thc") and str(error.brought) in str(error) and str(error.expected) in str(error)


def test_codecs_without_description_differ_by_their_operations(site: Site) -> None:
    job = site.admit(codec=None)
    outcomes = site.run(
        job, [None] * 3, lambda session: session.all_reduce(np.ones(1000, np.float32)),
        codec=["thc-uniform", "fixed", "thc-uniform"],
    )  # fmt: skip
    for outcome in outcomes:
        assert isinstance(outcome, MismatchError)
        assert {str(outcome.brought), str(outcome.expected)} == {"1,000 words for ADD32", "128 words for EXPAND8"}


def test_all_reduce_float_widths_agree_and_integers_raise(site: Site) -> None:
    """Everything is computed in float32; what is no floating-point number is refused where it is, before it is sent."""
    job = site.admit(codec="fixed")
    kinds = (np.float16, np.float32, np.float64)

    def work(session: Session) -> bytes:
        with pytest.raises(ConfigurationError, match="not int32"):
            session.all_reduce(np.ones(100, np.int32))
        sums = session.all_reduce(np.full(100, 0.5, kinds[session.ticket.worker]))
        np.testing.assert_allclose(sums, 1.5, rtol=1e-6)
        return sums.tobytes()

    outcomes = site.run(job, [None] * 3, work, codec="fixed")
    assert isinstance(outcomes[0], bytes), outcomes
    assert len(set(outcomes)) == 1


def test_ranks_names_and_quotas_are_refused_with_numbers(site: Site) -> None:
    """Over the wire, as a second process gets it."""
    job = site.admit()
    one = {"job": job, "worker": 1, "claimant": "one", "origin": "process 1 at w2"}
    assert rpc.call(site.address, rpc.JOIN, one)["host"] == "w2"
    with pytest.raises(rpc.ControllerError, match=r"Worker 1 \(w2\).* claimed twice: by process 1 at w2, and now by"):
        rpc.call(site.address, rpc.JOIN, {**one, "claimant": "two", "origin": "process 2 at w2"})
    with pytest.raises(rpc.ControllerError, match="has no worker 3; it has 3"):
        rpc.call(site.address, rpc.JOIN, {**one, "worker": 3})
    with pytest.raises(rpc.ControllerError, match=f"{job!r} is admitted already"):
        site.admit(name=job)
    with pytest.raises(rpc.ControllerError, match="slots = 40000 is not between 1 and 32768"):
        site.admit(slots=40_000)
    with pytest.raises(rpc.ControllerError, match="No job 'unassigned' is admitted"):
        rpc.call(site.address, rpc.REMOVE, {"job": "unassigned"})


def test_forged_contribution_names_source_address_to_all(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member lies about the size of the round: all errors name its host and address, as the controller has them."""
    monkeypatch.setattr(keep_alive, "_REPORT_TIMEOUT_S", 120.0)  # on a busy machine
    job = site.admit()

    def work(session: Session) -> None:
        session._transport.exchange(LaneOp.ADD32, np.zeros(7 + (session.ticket.worker == 1), np.uint32))

    for outcome in site.run(job, [None] * WORKERS, work, codec="fixed"):
        assert isinstance(outcome, MismatchError) and outcome.worker is not None
        number = outcome.worker + 1  # of a worker that disagreed with those before it
        assert outcome.sender == f"w{number} (127.19.0.{number}:{UDP_PORT + site.jobs})"
        assert str(outcome).endswith(f" Worker {outcome.worker} is {outcome.sender}.")
