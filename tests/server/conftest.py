# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Two servers, one suite."""

from __future__ import annotations

import pytest

from lanesum.native import VARIABLE, availability


@pytest.fixture(params=["python", "native"])
def implementation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which server the test is about; skipped, saying why, where the compiled one is not there."""
    found = availability()
    if request.param == "native" and found.core is None:
        pytest.skip(found.reason)
    monkeypatch.setenv(VARIABLE, "required" if request.param == "native" else "off")
    return request.param
