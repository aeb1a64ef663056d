# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the laboratory for ``lanesum doctor``."""

from __future__ import annotations

from collections.abc import Iterator

from lanesum.doctor.finding import Finding, note, ok
from lanesum_lab import targets, veth
from lanesum_lab.run.plan import mininet_obstacle


def checks() -> Iterator[Finding]:
    """Check what runs and benchmarks use."""
    for name, obstacle, without in (
        ("network namespaces", veth.obstacle(), "Benchmarks and tests in namespaces are left out."),
        ("Mininet", mininet_obstacle(), "Runs take place on loopback."),
    ):
        if obstacle:
            yield note(name, f"{obstacle[0].upper()}{obstacle[1:]}. {without}")
        else:
            yield ok(name, "Can be used.")
    for target in targets.targets():
        finding = target.finding()
        if finding is not None:
            yield finding
