# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The support matrix and the tests of its rows name each other."""

from __future__ import annotations

import re

import pytest

from tests.docs.names import defines
from tests.paths import ROOT

PAGE = ROOT / "docs" / "support.md"
_TEST = re.compile(r"\[`(\w+)`\]\(\.\./(tests/[\w/]+\.py)\)")
# Every test of these files is a row.
FILES = ("tests/examples/test_frameworks.py",)


def rows() -> list[list[str]]:
    """Return the cells of all tables, without headings and without the table that a test writes."""
    written = re.sub(r"<!-- generated: .*<!-- end: ", "", PAGE.read_text(), flags=re.DOTALL)
    lines = re.findall(r"^\| (.*) \|$", written, re.MULTILINE)
    return [line.split(" | ") for line in lines if not line.startswith("feature |")]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_row_names_an_answer_and_its_test(row: list[str]) -> None:
    _, supported, _, test = row
    assert supported in ("yes", "no")
    found = _TEST.fullmatch(test)
    assert found is not None and found[1].startswith("test_")
    assert defines(ROOT / found[2], found[1])


def test_rows_of_results_name_their_tests() -> None:
    lines = re.findall(r"^\| (?!change \|)(.*) \|$", (ROOT / "docs" / "results.md").read_text(), re.MULTILINE)
    assert len(lines) > 20
    for line in lines:
        ((test, file),) = _TEST.findall(line)
        assert defines(ROOT / file, test)


def test_every_test_of_a_feature_is_a_row() -> None:
    named = {test for row in rows() for test, _ in _TEST.findall(row[-1])}
    for name in FILES:
        assert set(re.findall(r"^def (test_\w+)", (ROOT / name).read_text(), re.MULTILINE)) <= named
