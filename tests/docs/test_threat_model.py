# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Every row of the threat model names a test. ``test_documents`` checks that the names exist."""

from __future__ import annotations

import re

import pytest

from tests.docs.names import defines
from tests.paths import ROOT

PAGE = ROOT / "docs" / "threat-model.md"
_TEST = re.compile(r"`((?:tests|bmv2_tests)/[\w/]+\.py):(test_\w+)`")
SECTIONS = {
    title.strip(): [line for line in body.splitlines() if line.startswith("| ") and not line.startswith("| attack")]
    for title, _, body in (part.partition("\n") for part in PAGE.read_text().split("\n## ")[1:])
}


def test_threat_model_has_a_section_for_every_attacker() -> None:
    attackers = {title for title, rows in SECTIONS.items() if rows}
    assert attackers >= {
        "Another tenant", "A host on the network", "A peer worker", "A local user", "A foreign P4Runtime client",
        "The author of a hostile program",
    }  # fmt: skip


@pytest.mark.parametrize("row", [row for rows in SECTIONS.values() for row in rows], ids=lambda row: row[2:50])
def test_row_names_tests_that_exist(row: str) -> None:
    found = _TEST.findall(row.split(" | ")[-1])
    assert found, "a row without a test"
    for path, name in found:
        assert defines(ROOT / path, name), f"there is no {path}:{name}"
