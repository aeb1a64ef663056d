# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the embedded switch for ``lanesum doctor``."""

from __future__ import annotations

import errno
import os
import socket

import pytest

from lanesum.doctor import Severity, usable
from lanesum_switch import doctor


def test_checks_without_root_are_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused(socket.socket):
        def __init__(self, *_: object) -> None:
            raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(socket, "socket", Refused)
    findings = list(doctor.checks())
    checks = {finding.name: finding for finding in findings}
    assert usable(findings)
    assert checks["user"].status is Severity.OK
    assert "Operation not permitted" in checks["AF_PACKET"].what
    assert "CAP_NET_RAW" in checks["AF_PACKET"].next_step
