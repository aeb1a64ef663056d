# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The catalogue of planted bugs fits the sources, and each bug has a result."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.planted import planting, report
from tests.planted.bug import Bug
from tests.planted.catalogue import BUGS, MUTANTS, ROOT


def test_catalogue_names_are_unique() -> None:
    names = [bug.name for bug in (*BUGS, *MUTANTS)]
    assert len(set(names)) == len(names)
    assert len(BUGS) >= 120


@pytest.mark.parametrize("file", sorted({bug.file for bug in BUGS}))
def test_bug_text_occurs_once_and_replacement_compiles(file: str) -> None:
    source = (ROOT / file).read_text()
    for bug in BUGS:
        if bug.file == file:
            assert compile(bug.replaced(source), file, "exec") != compile(source, file, "exec"), bug.name


def test_every_bug_has_a_test_that_exists() -> None:
    found = report.results()
    assert {bug.name for bug in BUGS} == {name for name, caught in found.items() if caught}
    for file, tests in (item for caught in found.values() for item in caught.items()):
        source = (ROOT / file).read_text()
        for name in tests:
            function = name.partition("[")[0].rpartition("::")[2]
            assert f"def {function}(" in source, f"{file} has no {function}: run python -m tests.planted check"


def test_in_file_plants_and_restores(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("def double(x):\n    return 2 * x\n")
    time = path.stat().st_mtime_ns
    bug = Bug("test", "module.py", "a double is a triple", "2 * x", "3 * x")
    with planting.in_file(bug, tmp_path):
        assert "3 * x" in path.read_text()
        assert path.stat().st_mtime_ns != time
    assert "2 * x" in path.read_text()
    assert path.stat().st_mtime_ns == time
