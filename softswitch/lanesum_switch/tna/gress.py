# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One half of a pipe, ingress or egress, as an ``ir.Program`` under construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from lanesum_fabric.tofino.chips import Chip
from lanesum_switch.api import ParamSpec
from lanesum_switch.bmv2 import ir
from lanesum_switch.tna import syntax as p4
from lanesum_switch.tna.storage import Place, Storage

Side = Literal["ingress", "egress"]


@dataclass(slots=True)
class Gress:
    """State of a half: ``program.ingress`` is the control and ``program.egress`` the deparser of either side.

    ``intrinsic``: variables of intrinsic metadata by type name, and those of headers and metadata. ``initial``: initial
    values of registers other than 0. ``counted``: actions that count, by direct counter. ``residuals``: checksums that
    every later extract of the parser updates (subtract_all_and_deposit).
    """

    side: Side
    text: p4.ProgramSource
    chip: Chip
    program: ir.Program
    storage: Storage
    intrinsic: dict[str, Place] = field(default_factory=dict)
    initial: dict[str, int] = field(default_factory=dict)
    counted: dict[str, set[str]] = field(default_factory=dict)
    hashes: dict[str, Callable[[bytes], int]] = field(default_factory=dict)
    residuals: list[Any] = field(default_factory=list)
    written_flags: dict[ir.FieldRef, ir.FieldRef] = field(default_factory=dict)
    direct_meters: dict[str, str] = field(default_factory=dict)

    def new_action(
        self, name: str, params: tuple[ParamSpec, ...], body: tuple[ir.Primitive, ...], number: int | None = None
    ) -> ir.Action:
        """Return a new action of the program with the next free number."""
        action = ir.Action(name, len(self.program.actions) if number is None else number, params, body)
        self.program.actions[action.id] = action
        return action

    def watch(self, ref: ir.FieldRef) -> ir.FieldRef:
        """Return the flag for writes of a field, because a write is a request to the traffic manager."""
        if ref not in self.written_flags:
            self.written_flags[ref] = self.storage.field("written", f"{ref.header}.{ref.name}", p4.Bits(1))
        return self.written_flags[ref]
