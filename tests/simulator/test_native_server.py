# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled server in the simulator: it keeps every promise, and every schedule goes as with the Python one."""

from __future__ import annotations

import pytest

from lanesum.native import VARIABLE, availability
from lanesum.simulator import Schedule, run
from lanesum.simulator.__main__ import main
from lanesum.simulator.parts import Parts

SEEDS = range(5_000_000, 5_000_300)


@pytest.fixture
def parts() -> Parts:
    found = availability()
    if found.core is None:
        pytest.skip(found.reason)
    return Parts(native_server=True)


def test_every_schedule_goes_alike(parts: Parts) -> None:
    served = 0
    for seed in SEEDS:
        schedule = Schedule.draw(seed)
        python, native = run(schedule), run(schedule, parts=parts)
        assert native.violation is None
        assert native == python
        served += sum(count for name, count in native.decisions.items() if name.startswith("server "))
    assert served > 1000


def test_command_line(parts: Parts, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--schedules", "5", "--processes", "1", "--native-server"]) == 0
    assert "5 schedules" in capsys.readouterr().out


def test_without_a_compiled_server(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(VARIABLE, "off")
    assert main(["--schedules", "5", "--native-server"]) == 2
    assert "No compiled server to simulate: LANESUM_NATIVE=off." in capsys.readouterr().err
