# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the control plane for ``lanesum doctor``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lanesum.doctor import Status, usable
from lanesum.errors import ConfigurationError
from lanesum_control import doctor, resources


def test_checks_compiler_on_path_is_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: f"/opt/{program}")
    checks = {finding.name: finding for finding in doctor.checks()}
    assert (checks["p4c"].status, checks["p4c"].what) == (Status.OK, "/opt/p4c-bm2-ss.")


def test_checks_no_compiler_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    checks = {finding.name: finding for finding in doctor.checks()}
    assert checks["p4c"].status is Status.NOTE
    assert "p4c-bm2-ss is not on PATH" in checks["p4c"].what


def test_checks_missing_data_files_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Path:
        raise ConfigurationError(f"Missing {name}.", "Reinstall lanesum-control.")

    monkeypatch.setattr(resources, "directory", missing)
    findings = list(doctor.checks())
    assert not usable(findings)
    assert findings[0].next_step == "Reinstall lanesum-control."
