# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Two implementations of transport and server, one suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lanesum._internal.native import VARIABLE, availability


@pytest.fixture(params=["python", "native"], scope="module")
def implementation(request: pytest.FixtureRequest) -> Iterator[str]:
    """Select the transport and server to test; skip, with the reason, where the native extension is missing."""
    found = availability()
    if request.param == "native" and found.core is None:
        pytest.skip(found.reason)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "required" if request.param == "native" else "off")
        yield request.param
