# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Choice of tests for a planted bug, and the table of its results."""

from __future__ import annotations

import json
from pathlib import Path

from tests.planted import report
from tests.planted.selection import Calls, enclosing, key

_SOURCE = """\
limit = 3


class Window:
    @property
    def size(self):
        def half():
            return limit // 2
        return half()
"""


def test_enclosing_functions_are_outermost_first() -> None:
    functions = enclosing(_SOURCE, 8)
    assert [one.name for one in functions] == ["size", "half"]
    assert key("window.py", functions[0]) == "window.py:5"  # Python counts from the decorator
    assert enclosing(_SOURCE, 1) == []


def test_calls_select_tests_by_function_specific_first(tmp_path: Path) -> None:
    rows = [
        ["tests/test_all.py::test_everything", "call", ["window.py:5", "a.py:1", "b.py:1"], 0.1],
        ["tests/test_all.py::test_slow", "call", ["window.py:5"], 2.0],
        ["tests/test_all.py::test_other", "call", ["a.py:1"], 0.1],
        ["tests/test_server.py::test_first", "setup", ["window.py:5"]],
        ["tests/test_window.py::test_size", "call", ["window.py:5"], 0.1],
    ]
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    calls = Calls.read(path)
    known = [str(row[0]) for row in rows] + ["tests/test_server.py::test_second"]
    found = calls.ordered(calls.of_function("window.py:5", known), "window.py", "the size is wrong")
    assert list(found) == ["tests/test_window.py", "tests/test_server.py", "tests/test_all.py"]
    assert found["tests/test_server.py"] == ["tests/test_server.py::test_first", "tests/test_server.py::test_second"]
    assert found["tests/test_all.py"] == ["tests/test_all.py::test_everything", "tests/test_all.py::test_slow"]
    assert set(calls.of_module("a.py", known)) == {known[0], known[2]}


def test_split_counts_tests_of_both_targets() -> None:
    caught = {"tests/test_a.py": ["test_1", "test_2"], "tests/test_b.py": ["test_3"]}
    assert report.split(caught, {"tests/test_a.py::test_1"}) == (
        {"tests/test_a.py": 1},
        {"tests/test_a.py": 1, "tests/test_b.py": 1},
    )
