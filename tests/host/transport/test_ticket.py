# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tickets from files and controllers: wrong ones are refused before anything is built from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lanesum.errors import ConfigurationError
from lanesum.join import take_ticket
from lanesum.transport import JobTicket

TICKET = JobTicket(job=1, tag=2, worker=0, workers=2, slots=8, places=((0, 0), (1, 0)), code_table=bytes(16))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("slots", 4.5),
        ("slots", True),
        ("slots", 10**400),
        ("worker", 0.0),
        ("workers", "2"),
        ("tag", -1),
        ("seed", -1),
        ("seed", 1 << 64),
        ("seed", "5"),
        ("epoch", 1.0),
        ("places", [[0, 0.5], [1, 0]]),
        ("places", [[0, 0], ["1", 0]]),
        ("servers", [["nowhere", 1]]),
        ("servers", [["127.0.0.1", 70000]]),
        ("servers", [["127.0.0.1", "1"]]),
        ("servers", [[5, 1]]),
        ("servers", 7),
        ("local", ["127.0.0.1", -1]),
        ("local", ["127.0.0.1"]),
        ("codec", 5),
        ("controller", None),
        ("code_table", "x"),
    ],
)
def test_ticket_with_wrong_value_is_refused(name: str, value: Any) -> None:
    fields = json.loads(TICKET.to_json())
    assert JobTicket.from_json(json.dumps(fields)) == TICKET
    with pytest.raises(ConfigurationError, match="ticket"):
        JobTicket.from_json(json.dumps({**fields, name: value}))


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe{", b"[" * 100_000, TICKET.to_json().encode()[:-20], b'{"servers": "\xc3\x28"}']
)
def test_ticket_file_without_a_ticket_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "ticket.json"
    path.write_bytes(data)
    with pytest.raises(ConfigurationError, match="Invalid job ticket"):
        take_ticket(path)
