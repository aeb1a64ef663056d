# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Layout of header and metadata fields in local variables of the generated function.

A metadata field that the program uses is a local. A header type is divided into byte-aligned segments: unused fields
together are one ``bytes`` local, a used field is an int, and a run of fields that the vectorizer chose is one large
int. All instances of a type have the same segments, so a header copy copies variables. Every int stays within its
field's range: packing into bytes relies on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.field_usage import FieldUsage
from lanesum_switch.compiler.header_segments import HeaderLayout, LaneRuns, Segment, divide
from lanesum_switch.compiler.python_source import BoundNames

_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
# Sizes for which two numbers and a shift take less time than int.from_bytes: (code, code, bits of the second).
_PAIRS = {3: ("B", "H", 16), 5: ("B", "I", 32), 6: ("H", "I", 32), 12: ("I", "Q", 64), 16: ("Q", "Q", 64)}


@dataclass(frozen=True, slots=True)
class Value:
    """A Python expression, and bounds of its value.

    ``atomic`` code needs no parentheses within another expression.
    """

    code: str
    low: int
    high: int
    atomic: bool = False

    @classmethod
    def of_field(cls, code: str, kind: ir.FieldType, atomic: bool = False) -> Value:
        """Return the value of a field, whose type bounds it."""
        low, high = (-(1 << kind.bits - 1), (1 << kind.bits - 1) - 1) if kind.signed else (0, (1 << kind.bits) - 1)
        return cls(code, low, high, atomic)

    def __str__(self) -> str:
        return self.code if self.atomic else f"({self.code})"

    def fits(self, bits: int, signed: bool = False) -> bool:
        """Return True if every possible value fits a field."""
        if signed:
            return self.low >= -(1 << bits - 1) and self.high < 1 << bits - 1
        return self.low >= 0 and self.high < 1 << bits


class VariableLayout:
    """Local variables of one program."""

    def __init__(
        self, program: ir.Program, usage: FieldUsage, names: BoundNames, lane_runs: LaneRuns | None = None
    ) -> None:
        self.program = program
        self.usage = usage
        self.names = names
        self._local: dict[tuple[str, str], str] = {}
        self.types: dict[str, HeaderLayout] = {}
        used: dict[str, set[str]] = {}
        for ref in usage.read | usage.written:
            used.setdefault(program.instances[ref.header].type.name, set()).add(ref.name)
        for instance in program.instances.values():
            name = instance.type.name
            if not instance.metadata and name not in self.types:
                self.types[name] = divide(instance.type, used.get(name, set()), (lane_runs or {}).get(name, []))
        self.union_of: dict[str, str] = {}
        for union in program.unions.values():
            for header in union.headers:
                self.union_of[header] = union.name

    def _name(self, prefix: str, owner: str, member: str) -> str:
        key = (owner, prefix + member)
        if key not in self._local:
            self._local[key] = self.names.fresh(f"{prefix}_{owner}_{member}" if member else f"{prefix}_{owner}")
        return self._local[key]

    def valid(self, header: str) -> str:
        """Return the local with the validity of a header."""
        return self._name("v", header, "")

    def next_index(self, stack: str) -> str:
        """Return the local with the index of a stack's next element (P4_16: ``nextIndex``)."""
        return self._name("n", stack, "")

    def field_local(self, header: str, name: str) -> str:
        """Return the local of a field."""
        return self._name("f", header, name)

    def segment_local(self, header: str, segment: Segment) -> str:
        """Return the local of a segment."""
        if segment.kind in ("single", "variable"):
            return self.field_local(header, segment.fields[0].name)
        return self._name("s", header, segment.fields[0].name)

    def locals_of(self, header: str) -> list[str]:
        """Return all locals of a header, without its validity."""
        instance = self.program.instances[header]
        if instance.metadata:
            return [self.field_local(header, f.name) for f in instance.type.fields]
        found: list[str] = []
        for segment in self.layout_of(header).segments:
            if segment.kind == "shared":
                found += [self.field_local(header, f.name) for f in segment.fields]
            else:
                found.append(self.segment_local(header, segment))
        return found

    def zeros_of(self, header: str) -> list[tuple[str, str]]:
        """Return (local, zero value) of all locals of a header, without its validity."""
        if self.program.instances[header].metadata:
            return [(local, "0") for local in self.locals_of(header)]
        found: list[tuple[str, str]] = []
        for segment in self.layout_of(header).segments:
            if segment.kind == "raw":
                zero = self.names.constant("zero", ("zero", segment.size), bytes(segment.size))
                found.append((self.segment_local(header, segment), zero))
            elif segment.kind == "variable":
                found.append((self.segment_local(header, segment), "b''"))
            elif segment.kind == "shared":
                found += [(self.field_local(header, f.name), "0") for f in segment.fields]
            else:
                found.append((self.segment_local(header, segment), "0"))
        return found

    def layout_of(self, header: str) -> HeaderLayout:
        """Return the layout of a header instance."""
        return self.types[self.program.instances[header].type.name]

    def read(self, ref: ir.FieldRef) -> Value:
        """Return the value of a field."""
        if ref.name == ir.VALID:
            return Value(self.valid(ref.header), 0, 1, True)
        instance = self.program.instances[ref.header]
        kind = _fixed(ref, instance.type)
        if not instance.metadata:
            lane = self.layout_of(ref.header).lanes.get(ref.name)
            if lane is not None:
                segment, shift, bits = lane
                whole = self.segment_local(ref.header, segment)
                shifted = f"{whole} >> {shift} & {(1 << bits) - 1:#x}" if shift else f"{whole} & {(1 << bits) - 1:#x}"
                return Value.of_field(shifted, kind)
        return Value.of_field(self.field_local(ref.header, ref.name), kind, True)

    def store(self, ref: ir.FieldRef, value: Value) -> str:
        """Return a statement that sets a field to a value, truncated to the field's width as in BMv2."""
        instance = self.program.instances[ref.header]
        kind = _fixed(ref, instance.type)
        code = cut_to(value, kind)
        if not instance.metadata:
            lane = self.layout_of(ref.header).lanes.get(ref.name)
            if lane is not None:
                segment, shift, bits = lane
                whole = self.segment_local(ref.header, segment)
                keep = ((1 << segment.size * 8) - 1) ^ (((1 << bits) - 1) << shift)
                keep_name = self.names.constant("keep", ("keep", keep), keep)
                return f"{whole} = {whole} & {keep_name} | ({code}) << {shift}"
        return f"{self.field_local(ref.header, ref.name)} = {code}"

    def set_valid(self, header: str) -> list[str]:
        """Return statements that make a header valid and the other members of its union invalid."""
        lines = [f"{self.valid(header)} = True"]
        union = self.union_of.get(header)
        if union is not None:
            others = [self.valid(h) for h in self.program.unions[union].headers if h != header]
            if others:
                lines.append(" = ".join(others) + " = False")
        return lines

    def copy(self, target: str, source: str) -> list[str]:
        """Return statements that copy a header of the same type, without its validity."""
        left, right = self.locals_of(target), self.locals_of(source)
        return [f"{', '.join(left)} = {', '.join(right)}"] if left else []

    def extract(self, header: str, frame: str, offset: str | int, length: str | None) -> list[str]:
        """Return statements that load a header from ``frame`` at a byte offset; the frame is long enough.

        ``length`` is the local with the length in bytes of the variable-length field, if there is one.
        """
        layout = self.layout_of(header)
        if layout.variable is not None:
            return self._extract_variable(header, layout, frame, offset, length or "0")
        return self._unpack(header, layout.segments, frame, str(offset))

    def _unpack(self, header: str, segments: list[Segment], frame: str, offset: str) -> list[str]:
        if not segments:
            return []
        if len(segments) == 1 and segments[0].kind != "shared":
            segment = segments[0]
            name = self.segment_local(header, segment)
            if segment.size == 1 and segment.kind == "single":
                return [f"{name} = {frame}[{offset}]", *self._sign(header, segment)]
            end = str(int(offset) + segment.size) if offset.isdigit() else f"{offset} + {segment.size}"
            data = f"{frame}[{offset}:{end}]"
            if segment.kind == "raw":
                return [f"{name} = {data}"]
            if segment.size not in _CODES:
                return [f"{name} = int_from({data}, 'big')", *self._sign(header, segment)]
        targets: list[str] = []
        after: list[str] = []
        code = ">"
        for segment in segments:
            plain = _CODES.get(segment.size)
            if segment.kind == "raw":
                code += f"{segment.size}s"
                targets.append(self.segment_local(header, segment))
            elif segment.kind == "shared":
                code += plain or f"{segment.size}s"
                targets.append(f"packed_{len(targets)}")
                if plain is None:
                    after.append(f"{targets[-1]} = int_from({targets[-1]}, 'big')")
                after += self._split(header, segment, targets[-1])
            else:
                name = self.segment_local(header, segment)
                targets.append(name)
                pair = _PAIRS.get(segment.size) if segment.kind == "single" else None
                if plain is not None and segment.kind != "lanes":
                    code += plain
                elif pair is not None:
                    code += pair[0] + pair[1]
                    targets.append(f"{name}_low")
                    after.append(f"{name} = {name} << {pair[2]} | {name}_low")
                else:
                    code += f"{segment.size}s"
                    after.append(f"{name} = int_from({name}, 'big')")
                after += self._sign(header, segment)
        unpack = self.names.constant("unpack", ("unpack", code), Struct(code).unpack_from)
        comma = "," if len(targets) == 1 else ""
        return [f"{', '.join(targets)}{comma} = {unpack}({frame}, {offset})", *after]

    def _sign(self, header: str, segment: Segment) -> list[str]:
        if segment.kind != "single" or not segment.fields[0].signed:
            return []
        name = self.segment_local(header, segment)
        half = 1 << segment.fields[0].bits - 1
        return [f"{name} = ({name} ^ {half}) - {half}"]

    def _split(self, header: str, segment: Segment, packed: str) -> list[str]:
        lines = []
        shift = segment.size * 8
        for i, kind in enumerate(segment.fields):
            shift -= kind.bits
            mask = (1 << kind.bits) - 1
            code = f"{packed} >> {shift}" if shift else packed
            if i:
                code += f" & {mask:#x}"
            if kind.signed:
                half = 1 << kind.bits - 1
                code = f"(({code}) ^ {half}) - {half}"
            lines.append(f"{self.field_local(header, kind.name)} = {code}")
        return lines

    def _extract_variable(
        self, header: str, layout: HeaderLayout, frame: str, offset: str | int, length: str
    ) -> list[str]:
        position = next(i for i, s in enumerate(layout.segments) if s.kind == "variable")
        before, after = layout.segments[:position], layout.segments[position + 1 :]
        size = sum(s.size for s in before)
        name = self.segment_local(header, layout.segments[position])
        lines = self._unpack(header, before, frame, str(offset))
        lines.append(f"{name} = {frame}[{offset} + {size}:{offset} + {size} + {length}]")
        lines += self._unpack(header, after, frame, f"{offset} + {size} + {length}")
        return lines

    def pack(self, header: str) -> str:
        """Return an expression for the bytes of a header."""
        parts: list[str] = []
        run: list[Segment] = []
        for segment in self.layout_of(header).segments:
            if segment.kind == "variable":
                parts += self._pack_run(header, run)
                run = []
                parts.append(self.segment_local(header, segment))
            else:
                run.append(segment)
        parts += self._pack_run(header, run)
        return " + ".join(parts) if parts else "b''"

    def _pack_run(self, header: str, segments: list[Segment]) -> list[str]:
        if not segments:
            return []
        items = [self._pack_item(header, s) for s in segments]
        if len(items) == 1 and items[0][0].endswith("s"):
            return [items[0][1]]
        code = ">" + "".join(c for c, _ in items)
        pack = self.names.constant("pack", ("pack", code), Struct(code).pack)
        return [f"{pack}({', '.join(v for _, v in items)})"]

    def _pack_item(self, header: str, segment: Segment) -> tuple[str, str]:
        if segment.kind == "raw":
            return f"{segment.size}s", self.segment_local(header, segment)
        if segment.kind == "lanes":
            return f"{segment.size}s", f"{self.segment_local(header, segment)}.to_bytes({segment.size}, 'big')"
        value = self.join([(self.unsigned(ir.FieldRef(header, f.name)), f.bits) for f in segment.fields])
        plain = _CODES.get(segment.size)
        if plain is not None:
            return plain, value
        pair = _PAIRS.get(segment.size)
        if pair is not None and segment.kind == "single" and value.isidentifier():
            return pair[0] + pair[1], f"{value} >> {pair[2]}, {value} & {(1 << pair[2]) - 1:#x}"
        if not value.isidentifier():
            value = f"({value})"
        return f"{segment.size}s", f"{value}.to_bytes({segment.size}, 'big')"

    def unsigned(self, ref: ir.FieldRef) -> str:
        """Return an expression for the bits of a field as a non-negative int."""
        value = self.read(ref)
        kind = self.program.field_type(ref)
        if kind.signed:
            return f"({value} & {(1 << kind.bits) - 1:#x})"
        return str(value)

    @staticmethod
    def join(parts: list[tuple[str, int]]) -> str:
        """Return an expression for the concatenation of (value, bits) as one int."""
        shift = sum(bits for _, bits in parts)
        codes = []
        for code, bits in parts:
            shift -= bits
            codes.append(f"{code} << {shift}" if shift else code)
        return " | ".join(codes)


def _fixed(ref: ir.FieldRef, header_type: ir.HeaderType) -> ir.FieldType:
    """Return the type of a field that is read or written as a number."""
    kind = header_type.field(ref.name)
    if kind.variable:
        raise UnsupportedProgramError(
            f"Unsupported: variable-length field {ref.header}.{ref.name} where a number is needed."
        )
    return kind


def cut_to(value: Value, kind: ir.FieldType) -> str:
    """Return the code of a value truncated to a field as in BMv2; two's complement for a signed field."""
    if value.fits(kind.bits, kind.signed):
        return value.code
    mask = (1 << kind.bits) - 1
    if kind.signed:
        half = 1 << kind.bits - 1
        return f"({value} + {half} & {mask:#x}) - {half}"
    return f"{value} & {mask:#x}"
