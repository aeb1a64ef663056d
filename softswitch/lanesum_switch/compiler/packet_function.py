# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Base of generated packet functions: their sections, the initial values of their locals, and the deparser.

P4_16 specification, section "Packet deparsing"; BMv2 JSON format, section ``deparsers``.
"""

from __future__ import annotations

import ast
import re
import textwrap
import threading
from collections.abc import Callable

from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.context import Context
from lanesum_switch.compiler.python_source import SourceWriter

# Python 3.11 has one count of recursions of the parser for all threads, and raises SystemError if two change it.
_parsing = threading.Lock()


class PacketFunction:
    """Writes a function in sections. ``initialize`` comes last, and sets the locals that the sections use."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.program = context.program
        self.layout = context.layout
        self.usage = context.usage

    def section(self, write: Callable[[], None], depth: int) -> list[str]:
        """Return the lines of one section."""
        self.context.writer = SourceWriter(depth)
        write()
        return self.context.writer.lines

    def metadata_locals(self) -> list[str]:
        """Return the locals of metadata that is 0 before the parser."""
        refs = [r for r in self.usage.exposed if self.program.instances[r.header].metadata and r.name != ir.VALID]
        return sorted(self.layout.field_local(r.header, r.name) for r in refs)

    def header_zeros(self) -> list[tuple[str, str]]:
        """Return (local, zero value) of all locals of all headers, without their validity."""
        found: list[tuple[str, str]] = []
        for instance in self.program.instances.values():
            if not instance.metadata:
                found += self.layout.zeros_of(instance.name)
        return found

    def flags(self) -> list[str]:
        """Return the locals that are False before the parser."""
        return [self.layout.valid(i.name) for i in self.program.instances.values() if not i.metadata]

    def stack_indices(self) -> list[str]:
        """Return the locals with the next index of a stack."""
        return [self.layout.next_index(name) for name in (*self.program.stacks, *self.program.union_stacks)]

    def initialize(self, writer: SourceWriter, used: set[str]) -> None:
        """Write the initial values of locals; ``used`` are the identifiers in all sections."""
        # Unpacking one constant tuple takes the least time to set many locals.
        zeros = [(name, "False") for name in self.flags()]
        zeros += [(name, "0") for name in self.metadata_locals() + self.stack_indices()]
        zeros = [(name, zero) for name, zero in zeros + self.header_zeros() if name in used]
        if zeros:
            bound = self.context.names.bound
            with _parsing:
                values = tuple(bound[zero] if zero in bound else ast.literal_eval(zero) for _, zero in zeros)
            writer.line(f"{', '.join(name for name, _ in zeros)}, = {self.context.names.bind('initial', values)}")
        for instance in self.program.instances.values():
            valid = self.layout.valid(instance.name)
            if instance.metadata and valid in used:
                writer.line(f"{valid} = True")


def identifiers(lines: list[str]) -> set[str]:
    """Return all identifiers in source lines."""
    return set(re.findall(r"[A-Za-z_]\w*", "\n".join(lines)))


def assigned_names(lines: list[str]) -> set[str]:
    """Return the names that source lines assign."""
    with _parsing:
        tree = ast.parse(textwrap.dedent("\n".join(lines)))
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


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
