# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sessions whose slots are shared between several aggregation servers."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.protocol import Header, Kind
from lanesum.protocol.packet import server_of
from lanesum.server import AggregationServer, ServerJob
from lanesum.server.udp import Loss
from lanesum.session import Session
from lanesum.transport import JobTicket
from lanesum.transport.errors import AggregationTimeoutError, MismatchError
from tests.free_ports import LOCALHOST, free_ports
from tests.host.session.workers import random_loss, run_workers
from tests.waiting import with_longer_deadlines

pytestmark = [
    pytest.mark.usefixtures("implementation"),
    pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning"),
]


class Site:
    """Aggregation servers, and the slots of the packets that each has received; ``share``: lost packets of each."""

    def __init__(self, servers: int, stack: contextlib.ExitStack, share: float = 0.0) -> None:
        self.asked: list[collections.Counter[int]] = [collections.Counter() for _ in range(servers)]
        self.servers = [
            stack.enter_context(AggregationServer((LOCALHOST, 0), loss=self._watched(number, share)))
            for number in range(servers)
        ]

    def _watched(self, number: int, share: float) -> Loss:
        lossy = random_loss(number, share)

        def watch(incoming: bool, address: Address, datagram: bytes) -> bool:
            if incoming and datagram:  # a worker at its deadline asks by an empty one whether it can send at all
                self.asked[number][Header.unpack(datagram).slot] += 1
            return lossy(incoming, address, datagram)

        return watch

    def tickets(self, workers: int, **fields: object) -> list[JobTicket]:
        """Return the tickets of a job that all servers have admitted."""
        tickets = [
            JobTicket(
                **{"job": 7, "tag": 0xC0FFEE, "slots": 16, "seed": 5, **fields},  # type: ignore[arg-type]
                worker=worker,
                workers=workers,
                servers=tuple(server.address for server in self.servers),
                local=(LOCALHOST, port),
            )
            for worker, port in enumerate(free_ports(workers))
        ]
        for server in self.servers:
            server.admit(ServerJob.from_tickets(tickets))
        return tickets


@pytest.fixture
def stack() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as opened:
        yield opened


@pytest.mark.parametrize(("servers", "share", "certified"), [(2, 0.0, False), (3, 0.1, False), (3, 0.1, True)], ids=str)
def test_sums_over_servers_are_exact_with_disjoint_slots(
    stack: contextlib.ExitStack, servers: int, share: float, certified: bool
) -> None:
    site = Site(servers, stack, share)

    def work(session: Session) -> list[bytes]:
        generator = np.random.default_rng(session.ticket.worker)
        sizes = (1, 1000, 64 * 40, 3)
        sums = [session.all_reduce(generator.integers(-100, 100, n).astype(np.float32)) for n in sizes]
        assert session.leave(deadline_s=200.0)
        return [one.tobytes() for one in sums]

    results = run_workers(site.tickets(3, certified=certified), work, codec="fixed")
    assert results[0] == results[1] == results[2]
    generators = [np.random.default_rng(worker) for worker in range(3)]
    for index, n in enumerate((1, 1000, 64 * 40, 3)):
        expected = sum(generator.integers(-100, 100, n) for generator in generators)
        np.testing.assert_allclose(np.frombuffer(results[0][index], np.float32), expected, atol=1e-4)
    for number, asked in enumerate(site.asked):
        assert set(asked) == set(range(number, 16, servers))


def test_quorum_at_several_servers_gives_late_worker_sums(stack: contextlib.ExitStack) -> None:
    """The third worker comes after all results are decided."""
    site = Site(2, stack)
    tickets = site.tickets(3, quorum=2)

    decided = threading.Barrier(3)

    def work(session: Session) -> list[bytes]:
        worker = session.ticket.worker
        if worker == 2:
            decided.wait(30)
        rounds = [session.all_reduce(np.full(900, number + worker, np.float32)) for number in range(4)]
        if worker != 2:
            decided.wait(30)
        return [one.tobytes() for one in rounds]

    *first, late = run_workers(tickets, work, codec="fixed")
    assert late == first[0] == first[1]


def test_restart_of_one_server_keeps_sums_exact(stack: contextlib.ExitStack) -> None:
    site = Site(2, stack, 0.05)
    tickets = site.tickets(2)

    def work(session: Session) -> bytes:
        for number in range(6):
            if number == 3 and session.ticket.worker == 0:
                dead = site.servers[1]
                dead.close()
                site.servers[1] = stack.enter_context(AggregationServer(dead.address))
                site.servers[1].admit(ServerJob.from_tickets(tickets))
            last = session.all_reduce(np.full(900, number, np.float32))
        assert session.leave(deadline_s=200.0)
        return last.tobytes()

    for result in run_workers(tickets, work, codec="fixed"):
        np.testing.assert_allclose(np.frombuffer(result, np.float32), 10, rtol=1e-6)
    assert site.servers[1].status().decisions["contribute_and_complete"] > 0


def test_timeout_names_absent_server(stack: contextlib.ExitStack) -> None:
    def attempt(deadline_s: float) -> None:
        site = Site(2, stack)
        tickets = site.tickets(2)
        site.servers[1].close()
        outcomes = run_workers(
            tickets,
            lambda session: session.all_reduce(np.ones(900, np.float32)),
            codec="fixed",
            deadline_s=deadline_s,
            errors=True,
        )
        for outcome in outcomes:
            assert isinstance(outcome, AggregationTimeoutError)
            assert site.servers[1].address[0] in str(outcome) and f":{site.servers[1].address[1]}" in str(outcome)

    with_longer_deadlines(attempt)


@pytest.mark.parametrize("wrong", ["other order", "one missing"])
def test_timeout_with_different_server_lists_names_them(stack: contextlib.ExitStack, wrong: str) -> None:
    def attempt(deadline_s: float) -> None:
        site = Site(2, stack)
        one, other = site.tickets(2)
        servers = one.servers[::-1] if wrong == "other order" else one.servers[:1]
        outcomes = run_workers(
            [one, dataclasses.replace(other, servers=servers)],
            lambda session: session.all_reduce(np.ones(900, np.float32)),
            codec="fixed",
            deadline_s=deadline_s,
            errors=True,
        )
        for outcome, ticket in zip(outcomes, (one, dataclasses.replace(other, servers=servers)), strict=True):
            assert isinstance(outcome, AggregationTimeoutError)
            if len(ticket.servers) > 1:
                assert f"the same servers in the same order; this one has {ticket.server_names}" in str(outcome)
        assert any("still missing: worker" in str(outcome) for outcome in outcomes)

    with_longer_deadlines(attempt)


def test_mismatch_at_one_server_raises_on_all_workers(stack: contextlib.ExitStack) -> None:
    """The server of the first chunk reports it. That of the second chunk has packets of one worker only."""
    site = Site(2, stack)
    outcomes = run_workers(
        site.tickets(3),
        lambda session: session.all_reduce(np.ones(10 if session.ticket.worker else 900, np.float32)),
        codec="fixed",
        errors=True,
    )
    assert all(isinstance(outcome, MismatchError) for outcome in outcomes)


def test_ticket_with_equal_servers_is_refused() -> None:
    ticket = JobTicket(job=1, tag=2, worker=0, workers=2, slots=4, servers=(("10.0.0.1", 19539), ("10.0.0.2", 19539)))
    assert JobTicket.from_json(ticket.to_json()) == ticket
    assert (ticket.server, ticket.server_names) == (("10.0.0.1", 19539), "10.0.0.1:19539, 10.0.0.2:19539")
    datagrams = [Header(kind=Kind.CONTRIBUTION, slot=slot, shadow=1).pack() for slot in range(3)]
    assert [server_of(one, len(ticket.servers)) for one in datagrams] == [0, 1, 0]
    for servers in ((), (ticket.server, ticket.server)):
        with pytest.raises(
            ConfigurationError, match=r"Job ticket: servers = .*: expected 1 to \d+ different addresses"
        ):
            dataclasses.replace(ticket, servers=servers)
