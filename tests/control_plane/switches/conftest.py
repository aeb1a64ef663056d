# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of switches: a protocol, the process of a switch, and the controller's side of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lanesum_control.switches.managed import RemoteSwitch
from tests.control_plane.protocols import P4RUNTIME, Process, Protocol


@pytest.fixture
def protocol() -> Protocol:
    return P4RUNTIME


@pytest.fixture
def process(protocol: Protocol, tmp_path: Path) -> Iterator[Process]:
    one = Process(tmp_path, protocol)
    yield one
    one.stop()


@pytest.fixture
def remote(process: Process) -> Iterator[RemoteSwitch]:
    switch = process.remote()
    assert switch.connect(5.0) == ["program pushed"]
    yield switch
    switch.close()
