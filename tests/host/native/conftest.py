# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled part, where it is there."""

from __future__ import annotations

from types import ModuleType

import pytest

from lanesum._internal.native import availability


@pytest.fixture(scope="session")
def native() -> ModuleType:
    """Tests that take it are skipped where the compiled part is not installed, and say why."""
    found = availability()
    if found.core is None:
        pytest.skip(found.reason)
    return found.core
