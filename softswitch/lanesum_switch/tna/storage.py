# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Storage of a P4 program's variables in ``ir.Program``: headers as instances, all others as metadata.

``Gress`` is one half of a pipe, ingress or egress, under construction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from lanesum_fabric.tofino.chips import Chip
from lanesum_switch.api import ParamSpec, UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.tna import syntax as p4

LOCALS = "local"  # the metadata instance of all variables that are not structs
ERROR_BITS = 16


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number or truth value; ``expr`` is a field if it can be written."""

    expr: ir.Expr
    type: p4.Bits | p4.Boolean

    @property
    def bits(self) -> int:
        return self.type.width if isinstance(self.type, p4.Bits) else 1


@dataclass(frozen=True, slots=True)
class HeaderVar:
    name: str  # of the instance
    record: p4.Record
    members: dict[str, Place]


@dataclass(frozen=True, slots=True)
class StructVar:
    record: p4.Record
    members: dict[str, Place]


@dataclass(frozen=True, slots=True)
class StackVar:
    name: str
    elements: tuple[HeaderVar, ...]


Place = Leaf | HeaderVar | StructVar | StackVar


def leaves(place: Place) -> list[Leaf]:
    """Return all numbers of a variable, in order."""
    if isinstance(place, Leaf):
        return [place]
    if isinstance(place, StackVar):
        return [leaf for element in place.elements for leaf in leaves(element)]
    return [leaf for member in place.members.values() for leaf in leaves(member)]


def headers(place: Place) -> list[HeaderVar]:
    """Return all headers of a variable, in order."""
    if isinstance(place, HeaderVar):
        return [place]
    if isinstance(place, StackVar):
        return list(place.elements)
    if isinstance(place, StructVar):
        return [header for member in place.members.values() for header in headers(member)]
    return []


class Storage:
    """Resolves the types of one program, and allocates the variables of one gress."""

    def __init__(self, text: p4.ProgramSource, program: ir.Program) -> None:
        self.text = text
        self.program = program
        self._metadata: dict[str, dict[str, ir.FieldType]] = {LOCALS: {}}
        self._types: dict[str, ir.HeaderType] = {}
        self._fresh = 0

    def resolve(self, kind: p4.Type) -> p4.Type:
        """Return a type without typedefs; enumerations become numbers."""
        while isinstance(kind, p4.NamedType):
            if kind.name in self.text.typedefs:
                kind = self.text.typedefs[kind.name]
            elif kind.name in self.text.enumerations:
                kind = self.text.enumerations[kind.name].type or p4.Bits(32)
            elif kind.name == "error":
                kind = p4.Bits(ERROR_BITS)
            else:
                break
        return kind

    def record(self, kind: p4.Type) -> p4.Record | None:
        """Return the struct or header of a type name."""
        resolved = self.resolve(kind)
        return self.text.records.get(resolved.name) if isinstance(resolved, p4.NamedType) else None

    def declare(self, name: str, kind: p4.Type) -> Place:
        """Declare a variable of the given type, under a unique name."""
        return self._place(LOCALS, name, name, kind)

    def temporary(self, kind: p4.Bits | p4.Boolean) -> Leaf:
        """Declare a variable that the text does not name."""
        self._fresh += 1
        place = self.declare(f"temporary.{self._fresh}", kind)
        assert isinstance(place, Leaf)
        return place

    def field(self, instance: str, name: str, kind: p4.Bits) -> ir.FieldRef:
        """Return a metadata field; create it if necessary."""
        self._metadata.setdefault(instance, {})[name] = ir.FieldType(name, kind.width, kind.signed)
        return ir.FieldRef(instance, name)

    def finish(self) -> None:
        """Add the metadata to the program; no declarations are possible afterwards."""
        for name, fields in self._metadata.items():
            self.program.instances[name] = ir.Instance(name, ir.HeaderType(name, tuple(fields.values())), True)

    def _place(self, instance: str, path: str, full: str, kind: p4.Type) -> Place:
        """Return ``path`` within metadata ``instance``; ``full`` names headers."""
        resolved = self.resolve(kind)
        if isinstance(resolved, p4.Bits):
            return Leaf(self.field(instance, path, resolved), resolved)
        if isinstance(resolved, p4.Boolean):
            return Leaf(self.field(instance, path, p4.Bits(1)), resolved)
        if isinstance(resolved, p4.Stack):
            elements = []
            for i in range(resolved.size):
                element = self._place(instance, f"{path}.{i}", f"{full}.{i}", resolved.element)
                if not isinstance(element, HeaderVar):
                    raise UnsupportedProgramError(f"Unsupported: array {full} of something that is no header.")
                elements.append(element)
            self.program.stacks[full] = ir.StackType(full, tuple(e.name for e in elements))
            return StackVar(full, tuple(elements))
        record = self.record(resolved)
        if record is None:
            raise UnsupportedProgramError(f"Unsupported: variable {full} of type {resolved}.")
        if record.header:
            return self._header(full, record)
        prefix = "" if instance == full else f"{path}."
        if instance == LOCALS:
            instance, prefix = full, ""
            self._metadata.setdefault(full, {})
        members = {n: self._place(instance, f"{prefix}{n}", f"{full}.{n}", t) for n, t in record.fields}
        return StructVar(record, members)

    def _header(self, name: str, record: p4.Record) -> HeaderVar:
        header_type = self._types.get(record.name)
        if header_type is None:
            fields = [self._header_field(record, member, kind) for member, kind in record.fields]
            header_type = self._types[record.name] = ir.HeaderType(record.name, tuple(fields))
            if header_type.fixed_bits % 8:
                raise UnsupportedProgramError(f"Unsupported: header {record.name} is not a whole number of bytes.")
        self.program.instances[name] = ir.Instance(name, header_type, False)
        members: dict[str, Place] = {}
        for member, kind in record.fields:
            resolved = self.resolve(kind)
            assert isinstance(resolved, p4.Bits | p4.Boolean)
            members[member] = Leaf(ir.FieldRef(name, member), resolved)
        return HeaderVar(name, record, members)

    def _header_field(self, record: p4.Record, name: str, kind: p4.Type) -> ir.FieldType:
        resolved = self.resolve(kind)
        if isinstance(resolved, p4.Boolean):
            return ir.FieldType(name, 1)
        if isinstance(resolved, p4.Bits):
            return ir.FieldType(name, resolved.width, resolved.signed)
        raise UnsupportedProgramError(f"Unsupported: field {name} of header {record.name} is of type {resolved}.")


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
