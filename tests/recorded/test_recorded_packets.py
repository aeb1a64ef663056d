# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packets, tickets and journals of this protocol version, as an earlier build recorded them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from lanesum.protocol import Header, Packet, PacketError
from lanesum.protocol.spec import HEADER, VERSION
from lanesum.server import ServerJob
from lanesum.server.native_aggregator import make_aggregator
from lanesum.transport.ticket import JobTicket
from tests.host.server.contributions import Workers
from tests.recorded.record import FOLDER, jobs_of

NAME = f"server-{VERSION}.json"
RECORDED: dict[str, Any] = json.loads((FOLDER / NAME).read_text())
JOBS = jobs_of(NAME)


def replay(job: ServerJob, exchange: list[dict[str, Any]], folder: Path | None = None) -> list[list[list[Any]]]:
    """Return the answers of a server to recorded datagrams."""
    aggregator = make_aggregator(folder)
    aggregator.admit(job)
    answers = []
    for one in exchange:
        found = aggregator.handle((one["from"][0], one["from"][1]), bytes.fromhex(one["datagram"]))
        answers.append(sorted([*address, bytes(answer).hex()] for address, answer in found))
    aggregator.close()
    return answers


@pytest.mark.parametrize(("job", "exchange"), JOBS, ids=["operations", "racks", "quorum"])
def test_server_answers_recorded_contributions_bit_for_bit(
    implementation: str, job: ServerJob, exchange: list[dict[str, Any]]
) -> None:
    assert sum(bool(one["answers"]) for one in exchange) >= 2
    assert replay(job, exchange) == [one["answers"] for one in exchange], implementation


def test_recorded_packets_are_read_and_packed_again() -> None:
    hexes = {
        text for _, exchange in JOBS for one in exchange for text in (one["datagram"], *(a[2] for a in one["answers"]))
    }
    versions = set()
    for text in hexes:
        data = bytes.fromhex(text)
        header = Header.unpack(data)
        versions.add(header.version)
        if header.version == VERSION:
            assert Packet.unpack(data).pack() == data
        else:
            with pytest.raises(PacketError, match=f"Packet of protocol version {VERSION + 1}"):
                Packet.unpack(data)
    assert versions == {VERSION, VERSION + 1} and len(hexes) > 20


def test_recorded_contribution_has_the_fields_of_its_bytes() -> None:
    """The layout of the header, spelled out: a field that moves needs a new protocol version."""
    _, exchange = JOBS[0]
    number = int(exchange[0]["datagram"][:64], 16)
    fields = {"version": VERSION, "kind": 1, "job": 1, "tag": 0xC0FFEE, "workers": 1, "racks": 40, "words": 8}
    for field in reversed(HEADER):
        assert number & (1 << field.bits) - 1 == fields.get(field.name, 0), field.name
        number >>= field.bits


def test_recorded_journal_brings_back_the_same_results(implementation: str, tmp_path: Path) -> None:
    for name, data in RECORDED["journals"].items():
        (tmp_path / name).write_bytes(bytes.fromhex(data))
    (job, exchange) = JOBS[2]
    aggregator = make_aggregator(tmp_path)
    aggregator.admit(job)
    workers = Workers(job, aggregator)
    # Another contribution, in a different order: only the journal can tell the first decision.
    answers = workers.handle(2, workers.packet(2))
    aggregator.close()
    decided = exchange[-2]["answers"][0][2]
    assert [bytes(answer).hex() for _, answer in answers] == [decided], implementation


def test_recorded_tickets_are_read_and_written_again() -> None:
    tickets = [JobTicket.from_json(text) for text in RECORDED["tickets"]]
    assert [ticket.to_json() for ticket in tickets] == RECORDED["tickets"]
    assert tickets[1].server_names == "10.0.0.1:19539, 10.0.0.2:19540"
    assert dataclasses.replace(tickets[0], worker=0).seed == (1 << 64) - 1


def test_recorded_jobs_are_read_and_written_again() -> None:
    texts = [one["job"] for one in RECORDED["jobs"]]
    assert [job.to_json() for job, _ in JOBS] == texts
