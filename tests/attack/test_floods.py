# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Short floods of callers without identity; ``make floods`` has those of a minute."""

from __future__ import annotations

import pytest

from .floods import FLOODS, measure

pytestmark = pytest.mark.long


@pytest.mark.parametrize("name", FLOODS)
def test_members_are_answered_beside_flood(name: str) -> None:
    figures = measure(name, 3.0)
    assert figures["calls"] > 0 and figures["failed calls"] == 0
    assert figures["failed scrapes"] == 0 and figures["events of loss"] == []
