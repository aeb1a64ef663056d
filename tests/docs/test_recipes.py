# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Each recipe of docs/extending names files and names that exist, and counts the hand-written ones."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

from tests.docs.names import defines
from tests.paths import ROOT

RECIPES = ("codec", "lane-operation", "header-field", "retransmission-policy", "switch-target")
_SECTION = re.compile(r"^## Files[^\n]*\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"\b(\d+) hand-written files?\b")
_ITEM = re.compile(r"^- `(?P<path>[\w./-]+)(?::(?P<symbol>[\w.]+))?`(?: \((?P<mark>new|generated)\))?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Checklist:
    """A section *Files* of a page: its number, and (path, symbol, mark) of each item."""

    number: int
    items: list[tuple[str, str | None, str | None]]


def read(name: str) -> list[Checklist]:
    page = ROOT / "docs" / "extending" / f"{name}.md"
    if not page.exists():
        pytest.skip(f"docs/extending/{name}.md is not written yet")
    checklists = []
    for section in _SECTION.findall(page.read_text()):
        (number,) = _NUMBER.findall(section)
        items = [(found["path"], found["symbol"], found["mark"]) for found in _ITEM.finditer(section)]
        assert len(items) == len(re.findall("^- ", section, re.MULTILINE)), f"{name}: an item begins with no path"
        checklists.append(Checklist(int(number), items))
    assert checklists, f"{name} has no section Files"
    return checklists


def test_readme_lists_every_recipe() -> None:
    text = (ROOT / "docs" / "extending" / "README.md").read_text()
    names = re.findall(r"^\| \[?([\w ]+?)(?:\]\([\w.-]+\))? \|", text, re.MULTILINE)[1:]
    assert [name.replace(" ", "-") for name in names] == list(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_number_is_that_of_hand_written_files(name: str) -> None:
    for checklist in read(name):
        assert checklist.number == len({path for path, _, mark in checklist.items if mark != "generated"})


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_files_and_names_exist(name: str) -> None:
    for path, symbol, mark in (item for checklist in read(name) for item in checklist.items):
        if mark == "new":
            assert not (ROOT / path).exists(), f"{path} is there already"
            assert (ROOT / path).parent.is_dir(), f"no folder for {path}"
        else:
            assert (ROOT / path).exists(), path
        if symbol:
            assert defines(ROOT / path, symbol), f"{path} defines no {symbol}"


def test_codec_recipe_class_passes_conformance_test() -> None:
    """In a process of its own, because the codecs of this one are registered for all tests."""
    page = ROOT / "docs" / "extending" / "codec.md"
    if not page.exists():
        pytest.skip("docs/extending/codec.md is not written yet")
    (module,) = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    (name,) = re.findall(r'register\("(\w+)"', module)
    arguments = ["-q", "-n", "0", "-p", "no:cacheprovider", "tests/host/codecs/test_conformance.py", "-k", name]
    program = f"{module}\nimport sys\nimport pytest\n\nsys.exit(pytest.main({arguments!r}))\n"
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout
