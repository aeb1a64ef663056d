# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Switches that decide as the program for Tofino does: every promise is kept, whatever is lost, late or restarted."""

from __future__ import annotations

import collections
import subprocess
import sys

import pytest

from lanesum_lab import targets
from tests.simulator import Schedule, run, watched_switch
from tests.simulator.ghost import SwitchGhost
from tests.simulator.parts import Parts

SEEDS = range(7_000_000, 7_000_200)
CHIP = Parts(switch=targets.get("tofino1-w32"))


@pytest.mark.long
def test_every_promise_is_kept() -> None:
    """Conflicts, quorums and late workers among them, at which the programs differ."""
    differing = 0
    decisions: collections.Counter[str] = collections.Counter()
    for seed in SEEDS:
        schedule = Schedule.draw(seed)
        outcome = run(schedule, parts=CHIP)
        assert outcome.violation is None, f"seed {seed}: {outcome.violation}"
        decisions.update(outcome.decisions)
        differing += outcome != run(schedule)
    assert differing >= 3
    assert all(decisions[name] for name in ("collide", "pass_late", "ascend_again", "report_pending"))


@pytest.mark.long
def test_ghost_of_the_chip_finds_the_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decisions of the one, held against the other's, are noticed."""

    def of_bmv2(node: str, *, chip: bool) -> SwitchGhost:
        assert chip
        return SwitchGhost(node)

    monkeypatch.setattr(watched_switch, "SwitchGhost", of_bmv2)
    assert sum(run(Schedule.draw(seed), parts=CHIP).violation is not None for seed in SEEDS) >= 3


def test_neither_needs_p4runtime() -> None:
    """The reference switch says what it offers without reading a program."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('google.protobuf', 'grpc')))\n"
        "import tests.simulator.__main__, tests.reference.switch, tests.reference.slots"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
