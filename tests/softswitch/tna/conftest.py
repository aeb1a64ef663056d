# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Switches with the committed TNA programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lanesum_switch.tna.switch import TofinoSwitch

PROGRAMS = Path(__file__).parent / "programs"

Load = Callable[..., TofinoSwitch]


def printed(name: str) -> str:
    """Return the text of a compiled program."""
    return (PROGRAMS / f"{name}.printed.p4").read_text()


def load_text(text: str, **options: object) -> TofinoSwitch:
    """Return a switch that runs a text."""
    switch = TofinoSwitch(**options)  # type: ignore[arg-type]
    switch.load(text.encode())
    return switch


@pytest.fixture
def load() -> Load:
    """Return ``load``: ``load("sum", cpu_port=64)`` makes a switch that runs ``programs/sum.printed.p4``."""

    def make(name: str, **options: object) -> TofinoSwitch:
        return load_text(printed(name), **options)

    return make
