# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A short operator's day."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanesum import environment
from tests.operator_day.day import opened


@pytest.mark.long
def test_day_ends_without_wrong_sums_and_lost_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.TOKEN_FILE, "")  # restored after the test
    with opened(tmp_path, jobs=3) as day:
        steps = day.run(lambda _step: None)
        report = day.end()
    assert (report["wrong"], report["lost_jobs"]) == (0, [])
    sessions = {step.name: step.sessions for step in steps}
    assert sessions["bring up"] == len(day.jobs) <= sessions["restore a backup"]
    with_new_sessions = {"rotate the token", "restore a backup", "bring up"}
    assert all(count == 0 for name, count in sessions.items() if name not in with_new_sessions)
