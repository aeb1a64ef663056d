# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of the failure of one part."""

from __future__ import annotations

import pytest

from lanesum_fabric.topology import load
from lanesum_fabric.topology.failures import costs

WAITS, BEHIND = "every job waits until it is back", "jobs with workers behind it wait until it is back"
NO_SERVER = f"{WAITS}: packets do not reach a server"
ALONE = "jobs continue; none is admitted, and no sum moves, until it is back"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("star4", {NO_SERVER: ["s1"], WAITS: ["server"], ALONE: ["controller"]}),
        ("tree2x2", {NO_SERVER: ["s0"], BEHIND: ["s1", "s2"], WAITS: ["server"], ALONE: ["controller"]}),
        (
            "tree2x2x2",
            {
                "no job waits: another spine takes its sums over": ["spine1", "spine2"],
                BEHIND: ["s1", "s2"],
                NO_SERVER: ["s3", "s4"],
                WAITS: ["server1", "server2"],
                "another controller takes over, with their state in PostgreSQL; jobs continue": ["ctl1", "ctl2"],
            },
        ),
    ],
)
def test_costs_name_the_parts_that_everything_depends_on(name: str, expected: dict[str, list[str]]) -> None:
    assert costs(load(name)) == expected
