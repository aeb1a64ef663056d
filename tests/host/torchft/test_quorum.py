# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Notes in the store of a quorum: invalid ones, missing ones, and ranks that do not fit together."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch.distributed as dist

from lanesum.errors import ConfigurationError, LanesumError
from lanesum.joining import DescriptionMismatchError, NotReadyError
from lanesum.torchft.quorum import Quorum
from lanesum.transport import JobTicket
from tests.free_ports import LOCALHOST, free_ports

TICKET = JobTicket(job=1, tag=7, worker=0, workers=2, slots=4, local=(LOCALHOST, 9)).to_json()


def quorum(rank: int, store: dist.Store | None = None, **changes: Any) -> Quorum:
    made = Quorum(
        store=dist.HashStore() if store is None else store,
        rank=rank,
        size=2,
        address=LOCALHOST,
        timeout_s=0.5,
        description="fixed",
        label="quorum 5",
        controller=None,
        job="",
    )
    return dataclasses.replace(made, **changes)


def error_of(one: Quorum) -> LanesumError | None:
    with contextlib.ExitStack() as opened:
        try:
            one.enter(opened)
        except LanesumError as error:
            return error
    return None


def errors_of_two(*changes: dict[str, Any]) -> list[LanesumError | None]:
    store = dist.HashStore()
    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(error_of, [quorum(rank, store, **one) for rank, one in enumerate(changes)]))


PLACE = json.dumps([LOCALHOST, 4000, 4000, "fixed"])


@pytest.mark.parametrize(
    ("place", "ticket"),
    [
        ("{", json.dumps(TICKET)),
        ("null", json.dumps(TICKET)),
        ("[1]", json.dumps(TICKET)),
        ('["127.0.0.1", 4000, 4000]', json.dumps(TICKET)),
        ('["127.0.0.1", [], 4000, "fixed"]', json.dumps(TICKET)),
        ('["127.0.0.1", 4000, null, "fixed"]', json.dumps(TICKET)),
        ('["127.0.0.1", 4000, 65536, "fixed"]', json.dumps(TICKET)),
        (json.dumps("[" * 100_000), json.dumps(TICKET)),
        ("[" * 5_000, json.dumps(TICKET)),
        (PLACE, "{}"),
        (PLACE, "null"),
        (PLACE, json.dumps("x" * 40_000)),
        (PLACE, json.dumps("ticket")),
        (PLACE, json.dumps(TICKET.replace('"slots": 4', '"slots": 0'))),
        (PLACE, json.dumps(TICKET.replace('"workers": 2', '"workers": 3'))),
        (PLACE, json.dumps(TICKET.replace("127.0.0.1", "localhost"))),
    ],
)
def test_invalid_notes_are_typed_errors(place: str, ticket: str) -> None:
    store = dist.HashStore()
    store.set("lanesum.0.1", json.dumps(place) if place[:1] != '"' else place)
    store.set("lanesum.0.2", ticket)
    error = error_of(quorum(1, store))
    assert isinstance(error, ConfigurationError), repr(error)
    assert "The store of quorum 5 has an invalid note: " in str(error) and error.next_step


@pytest.mark.parametrize("place", [["localhost", 4000], [LOCALHOST, 0], [LOCALHOST, 70_000], ["1.2.3", 4]])
def test_invalid_address_of_a_rank_is_refused(place: list[Any]) -> None:
    store = dist.HashStore()
    store.set("lanesum.1.1", json.dumps(json.dumps([*place, None, "fixed"])))
    assert isinstance(error_of(quorum(0, store)), ConfigurationError)


def test_absent_rank_is_named() -> None:
    error = error_of(quorum(0))
    assert isinstance(error, NotReadyError) and "No note of rank 1 within 0.5 s" in str(error)


def test_rank_that_does_not_connect_is_named() -> None:
    store = dist.HashStore()
    (port,) = free_ports(1)
    store.set("lanesum.1.1", json.dumps(json.dumps([LOCALHOST, port, None, "fixed"])))
    error = error_of(quorum(0, store))
    assert isinstance(error, NotReadyError) and "Rank 1 of the quorum has not connected to rank 0" in str(error)


def test_other_codec_is_named_on_all_ranks() -> None:
    for error in errors_of_two({}, {"description": "thc"}):
        assert isinstance(error, DescriptionMismatchError)
        assert "Rank 1 of quorum 5 uses thc, rank 0 fixed." in str(error)


def test_foreign_address_is_named_on_all_ranks() -> None:
    for error in errors_of_two({}, {"address": "192.0.2.1"}):
        assert isinstance(error, ConfigurationError)
        assert "Rank 1 of quorum 5 cannot use address '192.0.2.1'" in str(error) and "address=" in error.next_step


def test_loopback_beside_other_address_is_refused() -> None:
    store = dist.HashStore()
    store.set("lanesum.1.1", json.dumps(json.dumps(["192.0.2.1", 4000, None, "fixed"])))
    error = error_of(quorum(0, store))
    assert isinstance(error, ConfigurationError) and "Some ranks of quorum 5 have loopback addresses" in str(error)


def test_too_many_ranks_are_refused() -> None:
    error = error_of(quorum(0, size=1025))
    assert isinstance(error, ConfigurationError) and "1025 ranks, a job at most 1024" in str(error)


def tickets_of(size: int) -> list[JobTicket]:
    store = dist.HashStore()

    def enter(rank: int) -> JobTicket:
        with contextlib.ExitStack() as opened:
            return quorum(rank, store, size=size, timeout_s=20.0).enter(opened)[0]

    with ThreadPoolExecutor(size) as threads:
        return list(threads.map(enter, range(size)))


def test_ranks_of_quorum_get_one_job() -> None:
    tickets = tickets_of(33)
    assert [ticket.worker for ticket in tickets] == list(range(33))
    assert len({ticket.local for ticket in tickets}) == 33
    same = {dataclasses.replace(ticket, worker=0, local=(LOCALHOST, 1)) for ticket in tickets}
    assert len(same) == 1 and tickets[32].place == (1, 0)


def test_other_programs_may_listen_at_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.ExitStack() as opened:

        class TakenInTcp(socket.socket):
            """A UDP socket whose port's number is in use in TCP."""

            def bind(self, address: Any) -> None:
                super().bind(address)
                with contextlib.suppress(OSError):  # taken already
                    if self.type == socket.SOCK_DGRAM:
                        opened.enter_context(socket.create_server(self.getsockname()))

        monkeypatch.setattr(socket, "socket", TakenInTcp)
        assert [ticket.worker for ticket in tickets_of(2)] == [0, 1]
