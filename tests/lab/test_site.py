# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The documentation site: its navigation, and the files that pages link to."""

from __future__ import annotations

import itertools
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from lanesum_lab import site, slot_picture
from lanesum_switch.reference.slots import Decision
from tests.docs.names import resolves
from tests.paths import ROOT


def test_navigation_names_every_page_once() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    settings = yaml.safe_load(text)
    made = ["docs/errors.md", *(f"docs/api/{module}.md" for module in site.API)]
    pages = [*site.tracked_pages(ROOT), *made]
    found = list(site._leaves(site.navigation(settings["nav"], [*pages, "docs/new.md"])))
    assert [one.split(": ")[-1] for one in found].count("docs/new.md") == 1
    assert sorted(found) == sorted([*pages, "docs/new.md"])
    assert settings["strict"] is True and settings["theme"]["font"] is False
    for hook in settings["hooks"]:
        assert (ROOT / hook).is_file()


def test_navigation_with_unknown_or_repeated_page_raises() -> None:
    for entries in (["a.md", "b.md"], ["a.md", {"Again": "a.md"}]):
        with pytest.raises(ValueError, match="the navigation names"):
            site.navigation(entries, ["a.md"])


def test_linked_files_are_pictures_and_sources(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("docs/a.svg", "b.py", "c.md"):
        (tmp_path / name).touch()
    (tmp_path / "docs" / "page.md").write_text("![a](a.svg) [b](../b.py#L1) [c](../c.md) [d](https://d.test/x.py)")
    assert site.linked_files(tmp_path, ["docs/page.md", "c.md"]) == ["b.py", "docs/a.svg"]


def test_modules_of_the_reference_exist() -> None:
    for module in site.API:
        assert resolves(module), module


def test_slot_picture_shows_whole_sums_under_faults() -> None:
    steps = slot_picture.run()
    done = [state for step in steps for state in step.sets if state is not None and state[3]]
    assert {(workers, total) for _, workers, total, _ in done} == {(0b111, 1 + 2 + 3)}
    assert {position for position, *_ in done} == {0, 64}
    seen = {step.decision for step in steps}
    assert {Decision.REPLAY, Decision.REPORT_PENDING, Decision.DROP_LATE} < seen
    for before, step in itertools.pairwise(steps):
        counted = step.decision.value.startswith(("claim", "contribute"))
        assert (before.sets != step.sets) == counted, step
    root = ElementTree.fromstring(slot_picture.svg())
    shown = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text in shown if text in {step.decision.value for step in steps}] == [
        step.decision.value for step in steps
    ]
