# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Short floods of callers without identity; ``make floods`` has those of a minute."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lanesum import environment
from lanesum.rpc import controller as rpc

from .floods import FLOODS, PROXIED, Site, measure

needs_haproxy = pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not on PATH")


@pytest.mark.long
@pytest.mark.parametrize("name", FLOODS)
def test_members_are_answered_beside_flood(name: str) -> None:
    figures = measure(name, 3.0)
    assert figures["calls"] > 0 and figures["failed calls"] == 0
    assert figures["failed scrapes"] == 0 and figures["events of loss"] == []


@pytest.mark.long
@needs_haproxy
@pytest.mark.parametrize("name", PROXIED)
def test_members_behind_front_are_answered_beside_flood(name: str) -> None:
    figures = measure(name, 3.0, proxied=True)
    assert figures["calls"] > 0 and figures["failed calls"] == 0
    assert figures["failed scrapes"] == 0 and figures["events of loss"] == []


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with ExitStack() as stack:
        yield Site(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lanesum-"))), stack, proxied=True)


@needs_haproxy
def test_front_passes_calls_and_streams_of_members(site: Site) -> None:
    assert [job["name"] for job in rpc.call(site.address, rpc.JOBS, {})["jobs"]] == ["job"]
    site.call()


@needs_haproxy
def test_front_refuses_calls_without_token(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(environment.TOKEN_FILE)
    with pytest.raises(rpc.ControllerError, match="The front needs a token"):
        rpc.call(site.address, rpc.JOBS, {})
