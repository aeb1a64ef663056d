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

RECIPES = (
    "codec",
    "lane-operation",
    "header-field",
    "retransmission-policy",
    "switch-target",
    "benchmark",
    "metric",
    "error",
)
_SECTION = re.compile(r"^## Files[^\n]*\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"\b(\d+) hand-written files?\b")
_ITEM = re.compile(r"^- `(?P<path>[\w./-]+)(?::(?P<symbol>[\w.]+))?`(?: \((?P<mark>new|generated)\))?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Checklist:
    """A section *Files* of a page: its number, and (path, symbol, mark) of each item."""

    number: int
    items: list[tuple[str, str | None, str | None]]


def text(name: str) -> str:
    return (ROOT / "docs" / "extending" / f"{name}.md").read_text()


def read(name: str) -> list[Checklist]:
    checklists = []
    for section in _SECTION.findall(text(name)):
        (number,) = _NUMBER.findall(section)
        items = [(found["path"], found["symbol"], found["mark"]) for found in _ITEM.finditer(section)]
        assert len(items) == len(re.findall("^- ", section, re.MULTILINE)), f"{name}: an item begins with no path"
        checklists.append(Checklist(int(number), items))
    assert checklists, f"{name} has no section Files"
    return checklists


def test_readme_lists_every_recipe() -> None:
    links = re.findall(r"^\| \[([\w ]+)\]\(([\w-]+)\.md\) \|", text("README"), re.MULTILINE)
    assert [name.replace(" ", "-") for name, _ in links] == [page for _, page in links] == list(RECIPES)


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


def run_with_module(name: str, *arguments: str) -> None:
    """Run pytest after the module of a recipe, in a process of its own because the module registers its class."""
    (module,) = re.findall(r"^```python\n(.*?)^```", text(name), re.MULTILINE | re.DOTALL)
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", *arguments]
    program = f"{module}\nimport sys\nimport pytest\n\nsys.exit(pytest.main({options!r}))\n"
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout


def test_codec_recipe_class_passes_conformance_test() -> None:
    run_with_module("codec", "tests/host/codecs/test_base_conformance.py", "-k", "coarse")


def test_benchmark_recipe_module_measures_its_cases() -> None:
    module = re.findall(r"^```python\n(.*?)^```", text("benchmark"), re.MULTILINE | re.DOTALL)[0]
    program = f"{module}\nfor row in rows(run(QUICK)):\n    print(*row, sep=',')\n"
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert [line.partition(",")[0] for line in run.stdout.splitlines()] == ["bytearray", "NumPy"]


@pytest.mark.long
def test_switch_target_recipe_passes_conformance_tests() -> None:
    files = ("tests/lab/targets/test_targets.py", "bmv2_tests/test_lane_operations.py")
    run_with_module("switch-target", *files, "-k", "embedded-w128")
