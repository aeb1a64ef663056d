# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Forward substitution in basic blocks."""

from __future__ import annotations

from lanesum_switch.bmv2.loader import load_program
from lanesum_switch.compiler.basic_blocks import Assign, RegisterWrite, fuse, statements_of
from lanesum_switch.compiler.field_usage import FieldUsage
from tests.softswitch.conftest import PROGRAMS


def test_register_update_becomes_two_statements() -> None:
    program = load_program((PROGRAMS / "lanes.json").read_bytes())
    usage = FieldUsage(program)
    add = next(a for a in program.actions.values() if a.name == "I.add")
    assert len(add.body) == 48
    fused = fuse(statements_of(usage.bodies[add.id]), usage)
    assert [type(s) for s in fused] == [Assign, RegisterWrite] * 16
