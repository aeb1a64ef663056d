# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of mutual TLS runs the whole path in both settings."""

from __future__ import annotations

import json

import pytest

from lanesum_lab.bench import mutual_tls


def test_both_settings_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutual_tls.main(["--quick", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown.keys() == {"plain", "mutual"}
    for figures in shown.values():
        assert len(figures["join_ms"]) == len(figures["reduce_mbit_s"]) == 1
        assert all(value > 0 for values in figures.values() for value in values)
