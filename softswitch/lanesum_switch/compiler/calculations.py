# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Code for hashes and checksums over fields, headers and the payload.

BMv2 JSON format, sections ``calculations`` and ``checksums``.
"""

from __future__ import annotations

from typing import NamedTuple

from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.context import Context
from lanesum_switch.compiler.expressions import Scope
from lanesum_switch.compiler.header_segments import Segment
from lanesum_switch.compiler.layout import Value
from lanesum_switch.runtime.hashes import ROUND_ROBIN, RoundRobin

_MIN_SHORTENED_BITS = 256


def short_form(local: str) -> str:
    """Return an expression for a small number with the same checksums: equal modulo 65535, and 0 for 0 only."""
    return f"({local} % 65535 or 65535 if {local} else 0)"


class _Term(NamedTuple):
    """An input of a calculation as code.

    ``condition`` is empty for an input that is always there. ``variable_bits`` is code for the width of an input whose
    width varies, and empty for any other.
    """

    condition: str
    code: str
    bits: int
    variable_bits: str


class Calculations:
    """Writes calculations.

    Attributes:
        short_forms: local with an equivalent small number, by local of many words. Checksums read the former; the
            latter if this is None.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.short_forms: dict[str, str] | None = None

    def emit(self, calculation: ir.Calculation) -> str:
        """Write a calculation's statements and return an expression for the result."""
        return self.over(calculation.algorithm, list(calculation.inputs), calculation.name)

    def of_checksum(self, checksum: ir.Checksum) -> str:
        """Write the calculation of a checksum and return an expression for the result."""
        program = self.context.program
        if checksum.calculation is not None:
            return self.emit(program.calculations[checksum.calculation])
        fields = program.instances[checksum.target.header].type.fields
        inputs = [
            ir.CalcInput("field", ir.FieldRef(checksum.target.header, f.name), f.bits)
            for f in fields
            if f.name != checksum.target.name
        ]
        return self.over("csum16", inputs, checksum.name)

    def update_checksums(self) -> None:
        """Write the updates of all checksums."""
        context = self.context
        for checksum in context.program.checksums:
            if not checksum.update:
                continue
            condition = "True"
            if checksum.condition is not None:
                condition = context.expressions.condition(checksum.condition, Scope())
            with context.writer.block(f"if {condition}:"):
                result = self.of_checksum(checksum)
                context.writer.line(context.layout.store(checksum.target, Value(result, 0, (1 << 64) - 1)))

    def over(self, algorithm: str, inputs: list[ir.CalcInput], name: str) -> str:
        """Write a hash over ``inputs`` and return an expression for the result.

        As in BMv2, fields of invalid headers are left out and the payload comes last.
        """
        context = self.context
        function = context.runtime.hash_functions.get(algorithm)
        if function is None:
            raise UnsupportedProgramError(f"Unsupported: hash algorithm {algorithm!r} of calculation {name!r}.")
        number, bits = context.names.fresh("data"), context.names.fresh("bits")
        if algorithm in ("csum16", "cksum16") and self._additive(inputs):
            return self._checksum(inputs)
        groups = self._groups(inputs)
        payload = any(part.kind == "payload" for part in inputs)
        checksum = algorithm in ("csum16", "cksum16")
        word = 16 if checksum else 8
        fixed = sum(size for _, _, size, _ in groups)
        plain = not payload and not any(dynamic for _, _, _, dynamic in groups)
        writer = context.writer
        if plain and all(not condition for condition, _, _, _ in groups):
            joined = context.layout.join([(f"({code})", size) for _, code, size, _ in groups]) or "0"
            shift = -fixed % word
            writer.line(f"{number} = ({joined}) << {shift}" if shift else f"{number} = {joined}")
            return self._apply(algorithm, name, number, str((fixed + 7) // 8), checksum)
        if plain and checksum and len(groups) == 1:
            condition, code, size, _ = groups[0]
            shift = -size % word
            shifted = f"({code}) << {shift}" if shift else code
            writer.line(f"{number} = {shifted} if {condition} else 0")
            return self._apply(algorithm, name, number, "", checksum)
        writer.line(f"{number} = {bits} = 0")
        for condition, code, size, dynamic in groups:
            width = dynamic or str(size)
            if condition:
                writer.line(f"if {condition}: {number} = {number} << {width} | {code}; {bits} += {width}")
            else:
                writer.line(f"{number} = {number} << {width} | {code}; {bits} += {width}")
        if payload:
            writer.line(f"{number} <<= -{bits} % 8; {bits} += -{bits} % 8")
            writer.line(f"rest = frame[offset:]; {number} = {number} << 8 * len(rest) | int_from(rest, 'big')")
            writer.line(f"{bits} += 8 * len(rest)")
        writer.line(f"{number} <<= -{bits} % {word}")
        return self._apply(algorithm, name, number, f"({bits} + 7) // 8", checksum)

    def _additive(self, inputs: list[ir.CalcInput]) -> bool:
        """Return True if every input has a whole number of 16-bit words.

        Leaving out the fields of an invalid header then moves no other field within its word.
        """
        return all(not dynamic and size % 16 == 0 for _, _, size, dynamic in self._groups(inputs))

    def _checksum(self, inputs: list[ir.CalcInput]) -> str:
        """Write an RFC 1071 checksum as a sum modulo 65535, with each field shifted to its position in its word."""
        writer, data = self.context.writer, self.context.names.fresh("data")
        sums: list[tuple[str, list[str]]] = []
        position = 0
        for condition, code, size, _ in self._terms(inputs):
            position += size
            shift = -position % 16
            if not sums or sums[-1][0] != condition:
                sums.append((condition, []))
            if self.short_forms is not None and size >= _MIN_SHORTENED_BITS and code.isidentifier():
                if code not in self.short_forms:
                    self.short_forms[code] = self.context.names.fresh("short")
                code = self.short_forms[code]
            sums[-1][1].append(f"({code} << {shift})" if shift else code)
        first = True
        for condition, terms in sums:
            total = " + ".join(terms)
            if first:
                writer.line(f"{data} = {total} if {condition} else 0" if condition else f"{data} = {total}")
            else:
                writer.line(f"if {condition}: {data} += {total}" if condition else f"{data} += {total}")
            first = False
        if first:
            writer.line(f"{data} = 0")
        if any(part.kind == "payload" for part in inputs):
            writer.line(f"rest = frame[offset:]; {data} += int_from(rest, 'big') << 8 * (len(rest) & 1)")
        return f"(65534 - ({data} - 1) % 65535 if {data} else 65535)"

    def _apply(self, algorithm: str, name: str, number: str, size: str, checksum: bool) -> str:
        """Return the code of a hash; ``name`` of the calculation or selector, which has a state of its own."""
        if checksum:
            return f"ones_complement_sum({number})"
        function = self.context.runtime.hash_functions[algorithm]
        key: tuple[str, ...] = ("hash", algorithm)
        if algorithm == ROUND_ROBIN:
            function, key = RoundRobin(), (*key, name)
        local = self.context.names.constant(f"hash_{algorithm}", key, function)
        return f"{local}({number}.to_bytes({size}, 'big'))"

    def _terms(self, inputs: list[ir.CalcInput]) -> list[_Term]:
        """Return the term of each input except the payload."""
        layout, program = self.context.layout, self.context.program
        terms: list[_Term] = []
        done = 0  # number of inputs that are in a term
        for position, part in enumerate(inputs):
            if part.kind == "payload" or position < done:
                continue
            value = part.value
            segment = self._whole_run(inputs[position:])
            if segment is not None:
                assert isinstance(value, ir.FieldRef)
                bits = 8 * segment.size
                terms.append(_Term(layout.valid(value.header), layout.segment_local(value.header, segment), bits, ""))
                done = position + len(segment.fields)
                continue
            if isinstance(value, ir.Const):
                terms.append(_Term("", str(value.value & ((1 << part.bits) - 1)), part.bits, ""))
            elif isinstance(value, ir.HeaderRef):
                packed = f"({layout.pack(value.name)})"
                width = f"8 * len({packed})"
                terms.append(_Term(layout.valid(value.name), f"int_from({packed}, 'big')", 0, width))
            elif isinstance(value, ir.FieldRef):
                kind = program.field_type(value)
                metadata = program.instances[value.header].metadata or value.name == ir.VALID
                condition = "" if metadata else layout.valid(value.header)
                if kind.variable:
                    local = layout.field_local(value.header, value.name)
                    terms.append(_Term(condition, f"int_from({local}, 'big')", 0, f"8 * len({local})"))
                else:
                    terms.append(_Term(condition, layout.unsigned(value), kind.bits, ""))
            elif value is not None:
                number = self.context.expressions.value(value, Scope())
                terms.append(_Term("", str(number), part.bits, ""))
        return terms

    def _whole_run(self, inputs: list[ir.CalcInput]) -> Segment | None:
        """Return the segment of lanes whose fields, in order, are the next inputs, or None."""
        first = inputs[0].value
        if not isinstance(first, ir.FieldRef) or self.context.program.instances[first.header].metadata:
            return None
        segment, _, _ = self.context.layout.layout_of(first.header).lanes.get(first.name, (None, 0, 0))
        if segment is None:
            return None
        run = [ir.FieldRef(first.header, lane.name) for lane in segment.fields]
        return segment if [part.value for part in inputs[: len(run)]] == run else None

    def _groups(self, inputs: list[ir.CalcInput]) -> list[_Term]:
        """Return ``_terms`` with neighbouring inputs of one header joined."""
        layout, terms = self.context.layout, self._terms(inputs)
        merged: list[_Term] = []
        i = 0
        while i < len(terms):
            condition, code, size, dynamic = terms[i]
            run = [(code, size)]
            i += 1
            while not dynamic and i < len(terms) and terms[i][0] == condition and not terms[i][3]:
                run.append((terms[i][1], terms[i][2]))
                i += 1
            if len(run) > 1:
                code = "(" + layout.join(run) + ")"
            merged.append(_Term(condition, code, sum(s for _, s in run), dynamic))
        return merged
