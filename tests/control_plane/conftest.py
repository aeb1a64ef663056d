# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the controller's tests: a site with fake switches, its controller, and the address of its service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lanesum_control.controller import Controller
from lanesum_control.service import ControllerService
from tests.control_plane.control_fakes import Site


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def controller(site: Site) -> Controller:
    return site.start()


@pytest.fixture
def address(controller: Controller) -> Iterator[str]:
    with ControllerService(controller, "127.0.0.1:0") as running:
        yield f"127.0.0.1:{running.port}"
