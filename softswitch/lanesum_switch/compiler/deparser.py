# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Code for deparsers.

P4_16 specification, section "Packet deparsing"; BMv2 JSON format, section ``deparsers``.
"""

from __future__ import annotations

from lanesum_switch.compiler.context import Context
from lanesum_switch.compiler.packet_function import identifiers


def deparse(context: Context, changed: set[str]) -> tuple[list[str], list[str]]:
    """Return (lines before the loop over copies, lines in it); the latter leave the packet in ``data``."""
    before: list[str] = []
    inside: list[str] = []
    runs: list[tuple[bool, list[str]]] = []
    for header in context.program.deparser:
        valid, packed = context.layout.valid(header), context.layout.pack(header)
        fixed = not (identifiers([valid, packed]) & changed)
        code = f"({packed} if {valid} else b'')"
        if runs and runs[-1][0] == fixed:
            runs[-1][1].append(code)
        else:
            runs.append((fixed, [code]))
    rest = "frame[offset:]"
    if runs and runs[-1][0]:
        runs[-1][1].append(rest)
    else:
        runs.append((True, [rest]))
    parts = []
    for fixed, codes in runs:
        if fixed:
            name = context.names.fresh("part")
            before.append(f"{name} = {_concatenate(codes)}")
            parts.append(name)
        else:
            parts += codes
    inside.append(f"data = {_concatenate(parts)}")
    return before, inside


def _concatenate(codes: list[str]) -> str:
    if len(codes) <= 3:
        return " + ".join(codes)
    return f"b''.join(({', '.join(codes)}))"
