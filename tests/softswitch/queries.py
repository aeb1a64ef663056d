# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Queries of the program tables.p4."""

from __future__ import annotations

import struct

from lanesum_switch.api import (
    ActionCall,
)
from lanesum_switch.dataplane import EmbeddedSwitch

SECOND = 1_000_000_000


def ask(switch: EmbeddedSwitch, which: int, a: int = 0, b: int = 0, c: int = 0, signed: int = 0) -> tuple[int, int]:
    """Process one query; return (result, spare)."""
    out = switch.process(0, struct.pack(">BBHIhHI", which, a, b, c, signed, 0, 0))
    assert [item.port for item in out] == [1]
    assert switch.counts.program_errors == 0
    *_, spare, result = struct.unpack(">BBHIhHI", out[0].frame)
    return result, spare


def answer(value: int) -> ActionCall:
    """Return the action that answers a query."""
    return ActionCall("I.answer", (value,))
