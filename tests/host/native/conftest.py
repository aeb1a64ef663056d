# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Provide the native extension to tests, where it is installed."""

from __future__ import annotations

from types import ModuleType

import pytest

from lanesum._internal.native import availability


@pytest.fixture(scope="session")
def native() -> ModuleType:
    """Return the native extension; skip the test, with the reason, where it is not installed."""
    found = availability()
    if found.core is None:
        pytest.skip(found.reason)
    return found.core


@pytest.fixture(scope="module", params=["baseline", "avx2", "avx512"])
def level_name(request: pytest.FixtureRequest, native: ModuleType) -> str:
    """Return the name of each level of vector instructions that the processor has."""
    name: str = request.param
    if name not in native.CodecKernels.levels():
        pytest.skip(f"This processor has no {name}.")
    return name
