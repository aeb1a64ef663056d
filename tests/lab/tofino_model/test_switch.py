# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of a switch on the model that this package cannot write or read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lanesum_lab.tofino_model.chips import TOFINO_1
from lanesum_lab.tofino_model.harness import TofinoModelError
from lanesum_lab.tofino_model.switch import ModelSwitch, _model_table
from lanesum_switch.api import CounterValue, Match
from lanesum_switch.runtime.tables import MatchTable

_NAME = "Ingress.queries"


def test_table_with_range_keys_is_refused() -> None:
    keys = tuple(SimpleNamespace(name=kind, kind=kind, bits=8) for kind in ("exact", "range"))
    table = cast(MatchTable, SimpleNamespace(name=_NAME, keys=keys))
    with pytest.raises(TofinoModelError, match="has keys that this package does not write: exact, range"):
        _model_table({}, table)


@pytest.mark.parametrize("text", [None, "{"])
def test_build_without_a_context_is_refused(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "context.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(TofinoModelError, match=f"Cannot read the context of the profile: {path}: .* Run `make tofino`"):
        ModelSwitch("harness", tmp_path, TOFINO_1)


class CountedTable:
    """A table of two constant entries that keeps the counters written to it."""

    name = _NAME

    def __init__(self) -> None:
        self.counters: dict[tuple[Match, ...], CounterValue] = {}

    def entries(self) -> list[Any]:
        return [SimpleNamespace(match=(Match(value, 0),), priority=0) for value in range(2)]

    def write_counter(self, match: tuple[Match, ...], _priority: int, value: CounterValue) -> None:
        self.counters[match] = value


def read_counters(printed: str) -> dict[tuple[Match, ...], CounterValue]:
    """Read the counters of a table from the text that the model printed."""
    switch = object.__new__(ModelSwitch)
    attributes = {"stage_tables": [{"size": 512}]}
    switch._context = {_NAME: {"match_attributes": attributes, "statistics_table_refs": [{"name": "counter"}]}}
    switch._started = cast(Any, SimpleNamespace(run=lambda commands: printed if list(commands) else ""))
    table = CountedTable()
    switch._read_counters(cast(MatchTable, table))
    return table.counters


def test_counters_are_those_of_the_entries() -> None:
    printed = "(virtual 511)\n(physical 3) at packets=5 bytes=320\n(virtual 510)\n"
    assert read_counters(printed) == {(Match(0, 0),): CounterValue(5, 320), (Match(1, 0),): CounterValue(0, 0)}


def test_counters_of_another_number_of_entries_are_refused() -> None:
    with pytest.raises(TofinoModelError, match=rf"printed 1 counters of table {_NAME}, which has 2 entries"):
        read_counters("(virtual 511)\n(physical 3) at packets=5 bytes=320\n")
