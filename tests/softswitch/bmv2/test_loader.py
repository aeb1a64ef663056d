# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that the loader refuses."""

from __future__ import annotations

from typing import Any

import pytest

from lanesum_switch.api import InvalidArgumentError, UnsupportedProgramError
from lanesum_switch.dataplane import EmbeddedSwitch
from tests.softswitch.bmv2.mutants import with_item


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["extern_instances"], [{"name": "my_extern"}], "my_extern"),
        (["__meta__", "version"], [3, 0], "version 3.0"),
        (
            ["actions", 0, "primitives", 0],
            {"op": "frobnicate", "parameters": [], "source_info": {"filename": "a.p4", "line": 12}},
            r"primitive 'frobnicate' at a.p4\(12\)",
        ),
        (["parsers", 0, "parse_states", 0, "parser_ops", 0, "op"], "guess", "parser operation 'guess'"),
        (["pipelines", 0, "name"], "sideways", "pipeline 'sideways'"),
        (["pipelines", 0, "tables", 0, "key"], [{"match_type": "fuzzy", "target": ["order", "what"]}], "'fuzzy'"),
    ],
)
def test_unknown_constructs_are_refused_by_name(path: list[Any], value: Any, message: str) -> None:
    with pytest.raises(UnsupportedProgramError, match=message):
        EmbeddedSwitch().load(with_item("copies", path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["headers"], []),
        (["pipelines", 0, "init_table"], "nowhere"),
        (["parsers", 0, "parse_states", 0, "transitions", 0, "next_state"], "nowhere"),
        (["actions"], "none"),
    ],
)
def test_malformed_json_raises_invalid_argument(path: list[Any], value: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        EmbeddedSwitch().load(with_item("copies", path, value))
