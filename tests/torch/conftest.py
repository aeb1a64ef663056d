# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Two ranks for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")
from torch_ranks import Ranks  # noqa: E402  needs torch


@pytest.fixture(scope="session")
def ranks() -> Iterator[Ranks]:
    pair = Ranks(2)
    yield pair
    pair.close()
