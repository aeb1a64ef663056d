# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Choice of tests for a planted bug, and the table of its results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.planted import report
from tests.planted.selection import Calls, enclosing, key, of_mirrors

_SOURCE = """\
limit = 3


class Window:
    @property
    def size(self):
        def half():
            return limit // 2
        return half()
"""


def test_enclosing_nodes_are_outermost_first() -> None:
    nodes = enclosing(_SOURCE, 8)
    assert [one.name for one in nodes] == ["Window", "size", "half"]
    assert key("window.py", nodes) == "window.py:Window.size.<locals>.half"
    assert key("window.py", nodes[:2]) == "window.py:Window.size"
    assert key("window.py", nodes[:1]) is None
    assert enclosing(_SOURCE, 1) == []


def test_calls_select_tests_by_function_specific_first(tmp_path: Path) -> None:
    rows = [
        ["tests/test_all.py::test_everything", "call", ["window.py:Window.size", "a.py:first", "b.py:second"], 0.1],
        ["tests/test_all.py::test_slow", "call", ["window.py:Window.size"], 2.0],
        ["tests/test_all.py::test_other", "call", ["a.py:first"], 0.1],
        ["tests/test_server.py::test_first", "setup", ["window.py:Window.size"]],
        ["tests/test_window.py::test_size", "call", ["window.py:Window.size"], 0.1],
    ]
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    calls = Calls.read(path)
    known = [str(row[0]) for row in rows] + ["tests/test_server.py::test_second"]
    found = calls.ordered(calls.of_function("window.py:Window.size", known), "window.py", "the size is wrong")
    assert list(found) == ["tests/test_window.py", "tests/test_server.py", "tests/test_all.py"]
    assert found["tests/test_server.py"] == ["tests/test_server.py::test_first", "tests/test_server.py::test_second"]
    assert found["tests/test_all.py"] == ["tests/test_all.py::test_everything", "tests/test_all.py::test_slow"]
    assert set(calls.of_module("a.py", known)) == {known[0], known[2]}


def test_mirrors_are_test_files_named_like_the_module() -> None:
    right = ["tests/host/torch/test_state.py::test_a", "tests/host/torch/test_state_policy.py::test_b"]
    wrong = ["tests/host/torch/test_stats.py::test_a", "tests/host/rpc/test_state.py::test_b"]
    assert of_mirrors("host/lanesum/torch/state.py", [*right, *wrong]) == right
    mirror = "tests/control_plane/test_threads_fair_lock.py::test_a"
    assert of_mirrors("control_plane/lanesum_control/threads.py", [mirror]) == [mirror]


@pytest.mark.parametrize(
    ("caught", "place"),
    [({"tests/a.py": ["1", "2"]}, "make test"), ({"tests/a.py": ["2"]}, "make test-all"), ({}, "none found")],
)
def test_place_of_catch_is_the_shorter_target(caught: dict[str, list[str]], place: str) -> None:
    assert report.place(caught, {"tests/a.py::1"}) == place
