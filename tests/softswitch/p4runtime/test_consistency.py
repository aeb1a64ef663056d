# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of a P4Info with other programs."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from lanesum_switch.api import SwitchError
from lanesum_switch.bmv2.loader import load_program
from lanesum_switch.p4runtime.consistency import check_program
from lanesum_switch.p4runtime.p4info import build_index
from lanesum_switch.p4runtime.status import StatusError
from tests.softswitch.bmv2.mutants import Mutator

from .client import Program


def item(items: list[Any], name: str) -> Any:
    return next(found for found in items if found["name"] == f"IngressImpl.{name}")


def table(document: Any, name: str) -> Any:
    return item(document["pipelines"][0]["tables"], name)


def rename(document: Any, name: str) -> None:
    document.update(json.loads(json.dumps(document).replace(f"IngressImpl.{name}", "IngressImpl.other")))


@pytest.mark.parametrize(
    ("message", "change"),
    [
        (
            "The parameters of action IngressImpl.metered have widths [16] in the P4Info and [12] in the program",
            lambda d: item(d["actions"], "metered")["runtime_data"][0].update(bitwidth=12),
        ),
        (
            "Table IngressImpl.exact_table has 2 match fields in the P4Info and 1 in the program",
            lambda d: table(d, "exact_table")["key"].pop(),
        ),
        (
            "Field key of table IngressImpl.range_table is matched by range in the P4Info and by ternary in",
            lambda d: table(d, "range_table")["key"][0].update(match_type="ternary"),
        ),
        (
            "Field key of table IngressImpl.exact_table has 16 bits in the P4Info and 12 in the program",
            lambda d: table(d, "exact_table")["key"][0].update(target=table(d, "range_table")["key"][1]["target"]),
        ),
        (
            "The program has no table IngressImpl.exact_table, which the P4Info describes",
            lambda d: rename(d, "exact_table"),
        ),
        (
            "The program has no counter IngressImpl.cells, which the P4Info describes",
            lambda d: rename(d, "cells"),
        ),
        (
            "Table IngressImpl.exact_table of the program has no action IngressImpl.set_choice",
            lambda d: table(d, "exact_table")["action_ids"].remove(item(d["actions"], "set_choice")["id"]),
        ),
    ],
)
def test_check_program_of_another_compilation_names_the_difference(
    everything: Program, message: str, change: Callable[[Any], None]
) -> None:
    document = json.loads(everything.json)
    change(document)
    step = ".*: send the P4Info and the device config of one compilation$"
    with pytest.raises(StatusError, match=f"^INVALID_ARGUMENT: {re.escape(message)}{step}"):
        check_program(build_index(everything.p4info), (load_program(json.dumps(document).encode()),))


def test_check_program_unknown_table_action_names_its_id(everything: Program) -> None:
    config = everything.config()
    config.p4info.tables[0].action_refs[0].id = 0x123
    message = "Table IngressImpl.exact_table refers to action 0x123, which the P4Info does not describe"
    with pytest.raises(StatusError, match=message):
        check_program(build_index(config.p4info), (load_program(everything.json),))


def test_check_program_mutant_passes_or_raises_a_status(everything: Program) -> None:
    index, refused = build_index(everything.p4info), 0
    mutator = Mutator(everything.json, random.Random(1), ["nowhere"])
    for _ in range(200):
        try:
            check_program(index, (load_program(mutator.mutant()),))
        except (StatusError, SwitchError):
            refused += 1
    assert 0 < refused < 200


def test_check_program_accepts_copies_of_called_actions(everything: Program) -> None:
    """p4c gives the copy of an action that the program calls with constants the name of the action."""
    document = json.loads(everything.json)
    called = {
        **item(document["actions"], "metered"),
        "id": len(document["actions"]),
        "runtime_data": [],
        "primitives": [],
    }
    document["actions"].append(called)
    check_program(build_index(everything.p4info), (load_program(json.dumps(document).encode()),))
