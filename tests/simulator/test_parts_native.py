# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled workers and servers in the simulator: they keep every promise, and schedules go as with the Python ones."""

from __future__ import annotations

import dataclasses
import functools

import pytest

from lanesum._internal.native import VARIABLE, availability
from tests.simulator import Outcome, Schedule, run
from tests.simulator.__main__ import main
from tests.simulator.parts import Parts

pytestmark = pytest.mark.long


SEEDS = range(6_000_000, 6_000_300)


@functools.cache
def in_python(seed: int) -> Outcome:
    return run(Schedule.draw(seed))


@pytest.fixture(params=["workers", "server"])
def parts(request: pytest.FixtureRequest) -> Parts:
    found = availability()
    if found.core is None:
        pytest.skip(found.reason)
    return Parts(native_workers=request.param == "workers", native_server=request.param == "server")


def test_every_schedule_goes_alike(parts: Parts) -> None:
    contributions = served = 0
    for seed in SEEDS:
        python, native = in_python(seed), run(Schedule.draw(seed), parts=parts)
        assert native.violation is None
        assert native == python
        contributions += native.contributions
        served += sum(count for name, count in native.decisions.items() if name.startswith("server "))
    assert contributions > 1000 and served > 1000


def test_workers_with_shares_keep_every_promise(parts: Parts) -> None:
    if not parts.native_workers:
        pytest.skip("The server does not know the shares of workers.")
    contributions = 0
    for seed in SEEDS:
        outcome = run(Schedule.draw(seed), parts=dataclasses.replace(parts, shares=3))
        assert outcome.violation is None, (seed, outcome.violation)
        contributions += outcome.contributions
    assert contributions > 1000


def test_steps_go_alike(parts: Parts) -> None:
    for seed in SEEDS[:20]:
        steps: list[str] = []
        native: list[str] = []
        run(Schedule.draw(seed), steps.append)
        run(Schedule.draw(seed), native.append, parts)
        assert steps and native == steps


@pytest.mark.parametrize(("flag", "what"), [("--native", "workers"), ("--native-server", "server")])
def test_command_line(
    flag: str, what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if availability().core is not None:
        assert main(["--schedules", "5", "--processes", "1", flag]) == 0
        assert "5 schedules" in capsys.readouterr().out
    monkeypatch.setenv(VARIABLE, "off")
    assert main(["--schedules", "5", flag]) == 2
    assert f"No native {what} to simulate: LANESUM_NATIVE=off." in capsys.readouterr().err
