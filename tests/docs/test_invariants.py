# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The invariants of docs/protocol.md are cited where P4, Python, C++, models and tests uphold them."""

from __future__ import annotations

import re

import pytest

from tests.docs.names import tracked_files
from tests.paths import ROOT

INVARIANTS = ("INV-1", "INV-2", "INV-3", "INV-4", "INV-5")
KINDS = {
    "P4": r"p4src/(?!build/).*\.p4",
    "Python": r"(host|fabric|control_plane|softswitch)/lanesum.*\.py",
    "C++": r"host/native/src/.*\.(cpp|hpp|inl)",
    "models": r"models/.*\.pml",
    "tests": r"(bmv2_tests|tests/simulator|tests/attack)/.*\.py",
}
CITATION = re.compile(r"\bINV-\d+\b")


def citations(pattern: str) -> set[str]:
    files = [ROOT / name for name in tracked_files() if re.fullmatch(pattern, name)]
    return {cited for path in files if path.exists() for cited in CITATION.findall(path.read_text())}


def test_protocol_page_defines_each_invariant_once() -> None:
    page = (ROOT / "docs" / "protocol.md").read_text()
    section = page.partition("\n## Invariants\n")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"^- \*\*(INV-\d), [\w ]+\.\*\*", section, re.MULTILINE)) == INVARIANTS


@pytest.mark.parametrize("kind", KINDS)
def test_sources_cite_each_invariant(kind: str) -> None:
    assert citations(KINDS[kind]) == set(INVARIANTS)
