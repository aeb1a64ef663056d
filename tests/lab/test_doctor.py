# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the laboratory for ``lanesum doctor``."""

from __future__ import annotations

import os
import shutil

import pytest

from lanesum.doctor import Severity, usable
from lanesum_lab import doctor


def test_checks_without_root_are_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    findings = list(doctor.checks())
    checks = {finding.name: finding for finding in findings}
    assert usable(findings)
    assert "Network namespaces need root." in checks["network namespaces"].what
    assert "Mininet needs root." in checks["Mininet"].what


def test_checks_bmv2_on_path_is_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: f"/opt/{program}")
    checks = {finding.name: finding for finding in doctor.checks()}
    assert (checks["bmv2"].status, checks["bmv2"].what) == (Severity.OK, "/opt/simple_switch_grpc.")


def test_checks_without_any_program_are_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    checks = {finding.name: finding for finding in doctor.checks()}
    for name in ("bmv2", "Mininet", "network namespaces"):
        assert checks[name].status is Severity.NOTE, checks[name]
    assert "simple_switch_grpc is not on PATH" in checks["bmv2"].what
    assert "docs/tools.md says where it comes from" in checks["bmv2"].what
