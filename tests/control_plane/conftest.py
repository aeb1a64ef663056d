# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the controller's tests: a site with fake switches, its controller, its service, and its databases."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from lanesum_control.controller.controller import Controller
from lanesum_control.controller.service import ControllerService
from lanesum_control.state.leadership import Leadership
from lanesum_control.state.postgresql import PostgresqlDatabase, PostgresqlUrl
from lanesum_control.state.store import Store
from tests.control_plane import postgresql_server
from tests.control_plane.control_fakes import Site


@pytest.fixture(autouse=True)
def patient_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a switch on a busy machine."""
    monkeypatch.setattr("lanesum_control.switches.session._ARBITRATION_S", 120.0)
    monkeypatch.setattr("lanesum_control.switches.bfruntime.session._BIND_S", 120.0)


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


@pytest.fixture(scope="session")
def postgresql() -> Iterator[postgresql_server.PostgresqlServer]:
    with postgresql_server.running() as server:
        yield server


@pytest.fixture
def database(postgresql: postgresql_server.PostgresqlServer) -> PostgresqlUrl:
    """A database without tables."""
    return PostgresqlUrl.parse(postgresql.empty_database("postgres"))


@contextlib.contextmanager
def leading(url: PostgresqlUrl) -> Iterator[Store]:
    """Open a database as the controller that leads, with a lease that does not end within a test."""
    with Leadership(url, "a test", lease_s=3600.0) as leadership:
        assert leadership.take()
        with Store(PostgresqlDatabase(url, leadership.term, leadership.lost)) as store:
            yield store


@pytest.fixture(params=["sqlite", "postgresql"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], AbstractContextManager[Store]]:
    """Return a function that opens the same state again and again."""
    if request.param == "sqlite":
        return lambda: Store(tmp_path / "state.db")
    url = request.getfixturevalue("database")
    return lambda: leading(url)
