# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Each recipe of docs/extending names files and names that exist, and counts the hand-written ones."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from tests.docs.names import defines
from tests.paths import ROOT

RECIPES = ("codec", "lane-operation", "header-field", "retransmission-policy", "switch-target")
_SECTION = re.compile(r"^## Files\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"\b(\d+) hand-written files?\b")
_ITEM = re.compile(r"^- `(?P<path>[\w./-]+)(?::(?P<symbol>[\w.]+))?`(?: \((?P<mark>new|generated)\))?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The section *Files* of a page: its number, and (path, symbol, mark) of each item."""

    number: int
    items: list[tuple[str, str | None, str | None]]


def read(name: str) -> Recipe:
    page = ROOT / "docs" / "extending" / f"{name}.md"
    if not page.exists():
        pytest.skip(f"docs/extending/{name}.md is not written yet")
    (section,) = _SECTION.findall(page.read_text())
    (number,) = _NUMBER.findall(section)
    items = [(found["path"], found["symbol"], found["mark"]) for found in _ITEM.finditer(section)]
    assert len(items) == len(re.findall("^- ", section, re.MULTILINE)), f"{name}: an item begins with no path"
    return Recipe(int(number), items)


def test_readme_lists_every_recipe() -> None:
    text = (ROOT / "docs" / "extending" / "README.md").read_text()
    names = re.findall(r"^\| \[?([\w ]+?)(?:\]\([\w.-]+\))? \|", text, re.MULTILINE)[1:]
    assert [name.replace(" ", "-") for name in names] == list(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_number_is_that_of_hand_written_files(name: str) -> None:
    recipe = read(name)
    assert recipe.number == len({path for path, _, mark in recipe.items if mark != "generated"})


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_files_and_names_exist(name: str) -> None:
    for path, symbol, mark in read(name).items:
        if mark == "new":
            assert not (ROOT / path).exists(), f"{path} is there already"
            assert (ROOT / path).parent.is_dir(), f"no folder for {path}"
        else:
            assert (ROOT / path).exists(), path
        if symbol:
            assert defines(ROOT / path, symbol), f"{path} defines no {symbol}"
