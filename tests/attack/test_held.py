# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Hundreds of connections that hold what they can; ``make hold`` has ten thousand."""

from __future__ import annotations

import pytest

from .held import measure

pytestmark = pytest.mark.long


def test_job_lives_beside_idle_and_slow_connections() -> None:
    figures = measure(idle=300, slow=100, seconds=3.0)
    assert figures["held"] >= 380
    assert (figures["jobs"], figures["events of loss"], figures["superseded"]) == (["job"], [], False)
    assert figures["calls"] > 0 and figures["failed calls"] == 0
