# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Switches that run the committed test programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lanesum_switch.dataplane import EmbeddedSwitch

PROGRAMS = Path(__file__).parent / "programs"

Load = Callable[..., EmbeddedSwitch]


class Clock:
    """A clock in nanoseconds that tests set."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def load(clock: Clock) -> Load:
    """Return a function: ``load("lanes", vectorize=False)`` returns a switch that runs ``programs/lanes.json``."""

    def make(name: str, **options: object) -> EmbeddedSwitch:
        switch = EmbeddedSwitch(clock=clock, **options)  # type: ignore[arg-type]
        switch.load((PROGRAMS / f"{name}.json").read_bytes())
        return switch

    return make
