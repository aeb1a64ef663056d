# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Threads that compile programs at the same time."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from lanesum_switch import EmbeddedSwitch
from lanesum_switch.compiler import packet_function

PROGRAM = Path(__file__).parents[1] / "programs" / "tables.json"


def test_python_parser_runs_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 raises SystemError if another thread parses while it makes the nodes of a tree."""
    parse, locked = ast.parse, []

    def watched(*arguments: Any, **options: Any) -> ast.AST:
        locked.append(packet_function._parsing.locked())
        return parse(*arguments, **options)

    monkeypatch.setattr(ast, "parse", watched)
    EmbeddedSwitch().load(PROGRAM.read_bytes())
    assert len(locked) > 2 and all(locked)
