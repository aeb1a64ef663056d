# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of mutual TLS runs the whole path in both settings."""

from __future__ import annotations

from lanesum_lab.bench import mutual_tls


def test_both_settings_are_measured() -> None:
    result = mutual_tls.run(mutual_tls.QUICK)
    for name in ("plain", "mutual"):
        assert len(result[name]["join_ms"]) == len(result[name]["reduce_mbit_s"]) == 1
        assert all(value > 0 for values in result[name].values() for value in values)
    assert [len(row) for row in mutual_tls.rows(result)] == [len(mutual_tls.COLUMNS)] * 2
