# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of a P4Info with malformed programs."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from lanesum_switch.api import InvalidArgumentError
from lanesum_switch.bmv2.loader import parse_json
from lanesum_switch.p4runtime.consistency import check_program
from lanesum_switch.p4runtime.p4info import build_index
from lanesum_switch.p4runtime.status import StatusError
from tests.softswitch.bmv2.mutants import Mutator

from .client import Program


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("actions", [{"name": []}], r"\$\.actions\[0\]\.name"),
        ("pipelines", 5, r"\$\.pipelines"),
        ("header_types", [{"name": "h", "fields": [7]}], r"\$\.header_types\[0\]\.fields\[0\]"),
    ],
)
def test_check_program_malformed_field_names_its_path(small: Program, key: str, value: Any, path: str) -> None:
    with pytest.raises(StatusError, match=f"INVALID_ARGUMENT: The device config is malformed at {path}"):
        check_program(build_index(small.p4info), {**json.loads(small.json), key: value})


def test_check_program_mutant_passes_or_raises_a_status(everything: Program) -> None:
    index, refused = build_index(everything.p4info), 0
    mutator = Mutator(everything.json, random.Random(1), ["nowhere"])
    for _ in range(200):
        try:
            check_program(index, parse_json(mutator.mutant()))
        except (StatusError, InvalidArgumentError):
            refused += 1
    assert 0 < refused < 200
