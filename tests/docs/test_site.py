# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The documentation site: its navigation, and the files that pages link to."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.docs import site
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
