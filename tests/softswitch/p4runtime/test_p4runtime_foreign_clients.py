# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Clients of other authors: p4runtime-shell in the environment that ``make setup`` makes for it, and finsy."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
#: Environment of p4runtime-shell, which requires an old protobuf.
SHELL_PYTHON = Path(sys.prefix) / "p4runtime-shell" / "bin" / "python"


def scenarios(program: Path, target: str) -> list[str]:
    """Return the names in the program's tables of scenarios."""
    tables = ("SCENARIOS", *(("NEED_DATA_PLANE",) if target != "fake" else ()))
    return [
        element.id
        for node in ast.parse(program.read_text()).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in tables
        for element in getattr(node.value, "elts", ())
    ]


@pytest.mark.parametrize(
    ("program", "python"),
    [("shell_client.py", SHELL_PYTHON), ("finsy_client.py", Path(sys.executable))],
    ids=["p4runtime-shell", "finsy"],
)
def test_foreign_client_passes_all_scenarios(address: str, target: str, program: str, python: Path) -> None:
    if not python.exists():
        pytest.skip("p4runtime-shell is not installed: make setup")
    wanted = scenarios(HERE / program, target)
    assert len(wanted) >= 5
    done = subprocess.run([python, HERE / program, address, target], capture_output=True, text=True)
    assert done.stdout.split() == wanted, done.stderr
    assert done.returncode == 0
