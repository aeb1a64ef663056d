# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The data centre of ``scale``, small: what holds at any size and speed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.control_plane import scale


def test_small_data_centre_survives_restart_and_loss(tmp_path: Path) -> None:
    """``measure`` itself checks places after a restart, and after the loss of a spine."""
    figures = scale.measure(tmp_path, switches=9, jobs=48, tenants=8, turns=10)
    assert figures.workers == 480 and len(figures.admissions_s) == 10
    assert figures.jain > 0.9
    assert figures.memory_mb < 1000


def test_requests_across_racks_follow_full_racks() -> None:
    jobs = list(scale.requests(9, 48))
    racks = [len({host.split("-")[0] for host in hosts}) for _, hosts in jobs]
    assert racks == [1] * 40 + [2] * 8
    assert all(len(set(hosts)) == scale.HOSTS for _, hosts in jobs)


def test_jain_of_equal_and_unequal_counts() -> None:
    assert scale.jain([3, 3, 3]) == pytest.approx(1.0)
    assert scale.jain([9, 0, 0]) == pytest.approx(1 / 3)
