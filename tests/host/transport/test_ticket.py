# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tickets from files and controllers: wrong ones are refused before anything is built from them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from lanesum.errors import ConfigurationError
from lanesum.joining import take_ticket
from lanesum.transport import JobTicket
from lanesum.transport.errors import timeout_error

TICKET = JobTicket(job=1, tag=2, worker=0, workers=2, slots=8, places=((0, 0), (1, 0)), code_table=bytes(16))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("slots", 4.5, r"Job ticket: slots = 4\.5: expected 1 to "),
        ("slots", True, "Job ticket: slots = True: expected 1 to "),
        ("slots", 10**400, "ticket"),
        ("worker", 0.0, r"Job ticket: worker = 0\.0: expected 0 to 1"),
        ("workers", "2", "ticket"),
        ("tag", -1, "Job ticket: tag = -1: expected 0 to "),
        ("seed", -1, "Job ticket: seed = -1: expected 0 to "),
        ("seed", 1 << 64, "Job ticket: seed = 18446744073709551616: expected 0 to "),
        ("seed", "5", "Job ticket: seed = '5': expected 0 to "),
        ("epoch", 1.0, r"Job ticket: epoch = 1\.0: expected 0 to "),
        ("places", [[0, 0.5], [1, 0]], "expected racks < 32 and bits < 32"),
        ("places", [[0, 0], ["1", 0]], "expected racks < 32 and bits < 32"),
        ("places", [[0, 0]], r"Job ticket: places = \[\(0, 0\)\]: expected 2 different places, one per worker"),
        ("places", [[0, 1], [0, 1]], "expected 2 different places, one per worker"),
        ("servers", [["127.0.0.1", 1], ["127.0.0.1", 1]], "expected 1 to 256 different addresses"),
        ("servers", [["nowhere", 1]], "expected IPv4 addresses and ports"),
        ("servers", [["127.0.0.1", 70000]], "expected IPv4 addresses and ports"),
        ("servers", [["127.0.0.1", "1"]], "expected IPv4 addresses and ports"),
        ("servers", [[5, 1]], "expected IPv4 addresses and ports"),
        ("servers", 7, "ticket"),
        ("local", ["127.0.0.1", -1], "expected IPv4 addresses and ports"),
        ("local", ["127.0.0.1"], "ticket"),
        ("codec", 5, "ticket"),
        ("controller", None, "ticket"),
        ("joined_packets", 1, "ticket"),
        ("name", 5, "ticket"),
        ("code_table", "x", "ticket"),
        ("code_table", "00", "Job ticket: code table of 1 bytes: expected 16 bytes"),
        ("quorum", 3, "Job ticket: quorum = 3: expected 0 to 2"),
    ],
)
def test_ticket_with_wrong_value_is_refused(name: str, value: Any, message: str) -> None:
    fields = json.loads(TICKET.to_json())
    assert JobTicket.from_json(json.dumps(fields)) == TICKET
    with pytest.raises(ConfigurationError, match=message):
        JobTicket.from_json(json.dumps({**fields, name: value}))


def test_ticket_with_name_gives_it_in_errors() -> None:
    named = dataclasses.replace(TICKET, name="train")
    assert JobTicket.from_json(named.to_json()) == named and "name" not in json.loads(TICKET.to_json())
    said = [
        timeout_error(ticket, 0, 2.0, missing=(1,), refused=False, answered=True).what for ticket in (named, TICKET)
    ]
    assert said[0].startswith("Job 'train', round 0: no progress for 2 s")
    assert said[1].startswith("Job 1, round 0: no progress for 2 s")


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe{", b"[" * 100_000, TICKET.to_json().encode()[:-20], b'{"servers": "\xc3\x28"}']
)
def test_ticket_file_without_a_ticket_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "ticket.json"
    path.write_bytes(data)
    with pytest.raises(ConfigurationError, match="Invalid job ticket"):
        take_ticket(path)
