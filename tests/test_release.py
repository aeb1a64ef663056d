# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A release has one version everywhere, and its workflow builds every package without stored passwords."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from tests.paths import ROOT

WORKFLOWS = ROOT / ".github" / "workflows"


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", ROOT / "scripts" / "release.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(release: ModuleType, tmp_path: Path) -> Path:
    """The files with a version, as for a release of version 1.2.3."""
    for project in release.PROJECTS:
        (tmp_path / project).mkdir(parents=True, exist_ok=True)
        (tmp_path / project / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## 1.2.3, 2026-12-01\n\n### Part\n\n- New.\n\n## 1.2.2, 2026-11-01\n\n- Old.\n"
    )
    return tmp_path


def test_projects_are_all_projects_of_the_checkout(release: ModuleType) -> None:
    found = {str(path.parent.relative_to(ROOT)) for path in ROOT.glob("*/pyproject.toml")}
    assert set(release.PROJECTS) == found | {"host/native"}


def test_versions_of_the_checkout_agree(release: ModuleType) -> None:
    """The date is missing until the release."""
    first = re.search(r"^## (\S+), ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first is not None
    found = release.problems(ROOT, f"v{first[1]}")
    assert [line for line in found if "YYYY-MM-DD" not in line] == []


def test_problems_of_equal_versions_are_none(release: ModuleType, tree: Path) -> None:
    assert release.problems(tree, "v1.2.3") == []
    assert release.notes(tree, "v1.2.3") == "### Part\n\n- New.\n"
    assert release.notes(tree, "v1.2.2") == "- Old.\n"


def test_problems_of_other_tag_name_each_project(release: ModuleType, tree: Path) -> None:
    found = release.problems(tree, "v1.2.4")
    assert found[:2] == [f"{name} has version 1.2.3, but the tag is v1.2.4." for name in ("host", "host/native")]
    assert found[-1] == "CHANGELOG.md does not begin with version 1.2.4." and len(found) == 7
    with pytest.raises(LookupError, match=r"has no version 1\.2\.4"):
        release.notes(tree, "v1.2.4")


def test_unreleased_changelog_is_a_problem(release: ModuleType, tree: Path) -> None:
    page = tree / "CHANGELOG.md"
    page.write_text(page.read_text().replace("2026-12-01", "unreleased"))
    (line,) = release.problems(tree, "v1.2.3")
    assert line.startswith("CHANGELOG.md says 'unreleased'")


def test_workflow_builds_every_project_without_secrets(release: ModuleType) -> None:
    text = (WORKFLOWS / "release.yml").read_text()
    steps = yaml.safe_load(text)["jobs"]["build"]["steps"]
    words = " ".join(step.get("run", "") for step in steps).replace(";", " ").split()
    assert set(release.PROJECTS) <= set(words)
    assert "secrets." not in text
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("form", ["bug", "feature"])
def test_issue_form_has_required_text(form: str) -> None:
    body = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{form}.yml").read_text())["body"]
    assert [field["id"] for field in body if field.get("validations", {}).get("required")]
    names = [field["id"] for field in body if "id" in field]
    assert len(names) == len(set(names))
