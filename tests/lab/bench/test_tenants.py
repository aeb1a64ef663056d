# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One tenant beside a flood of another one's admissions: what it admits and sums is exact and never refused."""

from __future__ import annotations

import dataclasses
import os

import pytest

from lanesum_lab.bench import tenants


@pytest.mark.parametrize(("limited", "apart"), [(True, False), (False, True)])
def test_tenant_beside_flood_admits_and_sums(limited: bool, apart: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if apart and len(os.sched_getaffinity(0)) == 1:
        pytest.skip("one core cannot be divided")
    # The admissions of the quiet tenant, and one more. The rate is far below that of a flood on a busy machine.
    quota = dataclasses.replace(tenants.DEFAULT_QUOTA, admissions_per_minute=16)
    monkeypatch.setattr(tenants, "DEFAULT_QUOTA", quota)
    settings = tenants.TenantsSettings(repeats=1, admissions=5, flood=40, callers=8, chunks=64)
    result = tenants.measure(settings, limited=limited, apart=apart)
    for way in ("alone", "beside_a_thousand_admissions", "beside_a_spinning_process"):
        figures = result[way]
        assert (figures["admissions_refused"], figures["words_wrong"]) == (0, 0)
        assert figures["words"] > 1000
        assert figures["sums_mbyte_s"]["min"] > 0
    assert result["alone"]["flood_admitted"] == 0
    flooded = result["beside_a_thousand_admissions"]
    assert flooded["flood_admitted"] + flooded["flood_refused"] == settings.flood
    assert (flooded["flood_refused"] > 0) == limited
