# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The pinned packages are as reviewed, and the audit notices what is not."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from tests.dependencies import PRODUCTION, WORKER, Reviewed, changed_files, closure, problems
from tests.paths import ROOT

REVIEWED = Reviewed.read(ROOT)


def test_dependencies_are_as_reviewed() -> None:
    assert list(problems(REVIEWED)) == []


def test_dependencies_of_a_worker_are_two_packages() -> None:
    assert closure(WORKER) == {"lanesum", "numpy", "grpcio", "typing-extensions"}


def test_installed_production_files_are_those_of_wheels() -> None:
    assert list(changed_files(closure(PRODUCTION) & REVIEWED.pinned.keys())) == []


@pytest.mark.parametrize(
    ("field", "change", "says"),
    [
        ("licences", {"numpy": None}, 'numpy is pinned and not reviewed. Add to dependencies.toml: numpy = "BSD'),
        ("licences", {"unused": "MIT"}, "unused is in dependencies.toml and not in constraints.txt"),
        ("licences", {"numpy": "MIT"}, "numpy states the licence 'BSD-3-Clause AND .*reviewed with 'MIT'"),
        ("licences", {"protobuf": "GPL-2.0-only"}, "licence 'GPL-2.0-only' of protobuf does not allow"),
        ("licences", {"scapy": "Proprietary"}, "licence 'Proprietary' of scapy does not allow"),
        ("pinned", {"numpy": None}, "numpy is required and not pinned. Add to constraints.txt: numpy=="),
        ("pinned", {"numpy": "1.0"}, "numpy .* is installed, but 1.0 is pinned"),
        ("minimum", {"numpy": "99.0"}, "numpy .* has known vulnerabilities. Pin at least 99.0"),
        ("minimum", {"unknown": "1.0"}, "unknown None has known vulnerabilities"),
    ],
)
def test_audit_names_what_differs_from_the_review(field: str, change: dict[str, str | None], says: str) -> None:
    changed = {**getattr(REVIEWED, field), **change}
    found = list(problems(dataclasses.replace(REVIEWED, **{field: {k: v for k, v in changed.items() if v}})))
    assert any(re.search(says, one) for one in found), found


def test_audit_names_changed_and_missing_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "example-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1.0\n")
    empty = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"  # SHA-256 of no bytes, as PEP 376 encodes it
    (info / "RECORD").write_text(
        f"example.py,sha256={empty},0\nother.py,sha256={empty},0\nexample-1.0.dist-info/RECORD,,\n"
    )
    for name in ("example.py", "other.py"):
        (tmp_path / name).touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert list(changed_files(["example"])) == []
    (tmp_path / "example.py").write_text("import os")
    (tmp_path / "other.py").unlink()
    assert [one.rpartition("/")[2].partition(" ")[0] for one in changed_files(["example"])] == [
        "example.py",
        "other.py",
    ]
