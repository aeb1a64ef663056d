# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""An aggregation server for sessions in tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lanesum.server import AggregationServer
from tests.host.session.workers import LOCALHOST


@pytest.fixture
def server() -> Iterator[AggregationServer]:
    with AggregationServer((LOCALHOST, 0)) as server:
        yield server
