# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Every item of the threat model names tests that exist."""

from __future__ import annotations

import re

import pytest

from tests.docs.names import defines
from tests.paths import ROOT

PAGE = ROOT / "docs" / "threat-model.md"
_TEST = re.compile(r"\[`(test_\w+)`\]\(\.\./((?:tests|bmv2_tests)/[\w/]+\.py)\)")
ATTACKERS = {
    title.strip(): re.split(r"^- ", body, flags=re.MULTILINE)[1:]
    for title, _, body in (part.partition("\n") for part in PAGE.read_text().split("\n## ")[1:])
}


def test_threat_model_has_every_attacker() -> None:
    assert {title for title, items in ATTACKERS.items() if len(items) >= 5} == {
        "Another tenant", "A host on the network", "A peer worker", "A local user", "A foreign P4Runtime client",
        "The author of a hostile program",
    }  # fmt: skip


@pytest.mark.parametrize("item", [item for items in ATTACKERS.values() for item in items], ids=lambda item: item[:50])
def test_item_names_tests_that_exist(item: str) -> None:
    found = _TEST.findall(item)
    assert found, "an item without a test"
    for name, path in found:
        assert defines(ROOT / path, name), f"there is no {path}:{name}"
