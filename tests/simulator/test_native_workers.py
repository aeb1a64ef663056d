# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled workers in the simulator: they keep every promise, and every schedule goes as with the Python ones."""

from __future__ import annotations

import pytest

from lanesum.native import VARIABLE, availability
from lanesum.simulator import Schedule, run
from lanesum.simulator.__main__ import main
from lanesum.simulator.parts import Parts

SEEDS = range(6_000_000, 6_000_300)


@pytest.fixture
def parts() -> Parts:
    found = availability()
    if found.core is None:
        pytest.skip(found.reason)
    return Parts(native_workers=True)


def test_every_schedule_goes_alike(parts: Parts) -> None:
    contributions = 0
    for seed in SEEDS:
        schedule = Schedule.draw(seed)
        python, native = run(schedule), run(schedule, parts=parts)
        assert native.violation is None
        assert native == python
        contributions += native.contributions
    assert contributions > 1000


def test_steps_go_alike(parts: Parts) -> None:
    for seed in SEEDS[:20]:
        steps: list[str] = []
        native: list[str] = []
        run(Schedule.draw(seed), steps.append)
        run(Schedule.draw(seed), native.append, parts)
        assert steps and native == steps


def test_command_line(parts: Parts, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--schedules", "5", "--processes", "1", "--native", "--native-server"]) == 0
    assert "5 schedules" in capsys.readouterr().out


def test_without_compiled_workers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(VARIABLE, "off")
    assert main(["--schedules", "5", "--native"]) == 2
    assert "No compiled workers to simulate: LANESUM_NATIVE=off." in capsys.readouterr().err
