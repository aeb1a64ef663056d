# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""If-conversion of conditional values."""

from __future__ import annotations

from lanesum_switch.bmv2 import ir
from lanesum_switch.bmv2.loader import load_program
from lanesum_switch.compiler.structuring import convert_ifs
from tests.softswitch.conftest import PROGRAMS


def test_conditional_values_become_expressions() -> None:
    program = load_program((PROGRAMS / "lanes.json").read_bytes())
    largest = next(a for a in program.actions.values() if a.name == "I.largest")
    assert any(p.op == "_jump_if_zero" for p in largest.body)
    converted = convert_ifs(largest.body)
    assert not any(p.op.startswith("_jump") for p in converted)
    assert sum(isinstance(p.args[1], ir.Op) and p.args[1].op == "?" for p in converted if p.op == "assign") == 16
