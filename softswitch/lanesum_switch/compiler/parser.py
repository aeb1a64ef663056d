# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Code for parsers: nested ifs, with constant offsets where every path to a state consumes the same bytes.

P4_16 specification, section "Packet parsing"; BMv2 JSON format, section ``parsers``. An error sets ``offset``, the
number of bytes consumed, and ``parser_error``, and raises ``ParseError``. As in BMv2, headers extracted before stay
valid and ingress follows.
"""

from __future__ import annotations

from collections.abc import Callable

from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.actions import Actions
from lanesum_switch.compiler.context import Context
from lanesum_switch.compiler.expressions import Scope
from lanesum_switch.compiler.layout import Value
from lanesum_switch.compiler.structuring import END, FlowNode, Goto, NodeKey, Structurer

_MAX_STEPS = 10_000  # states without extract that one packet may visit in a parser with loops


class ParserWriter:
    """Writes a parser."""

    def __init__(self, context: Context, actions: Actions) -> None:
        self.context = context
        self.actions = actions
        self.program = context.program
        self.entry_offsets: dict[str, int | None] = {}
        self.cyclic = False

    def emit(self) -> None:
        """Write the parser; after it, ``offset`` is the number of bytes consumed."""
        parser = self.program.parser
        writer = self.context.writer
        if parser.initial is None:
            writer.line("offset = 0")
            return
        nodes: dict[NodeKey, FlowNode] = {}
        for state in parser.states.values():
            targets: list[NodeKey] = [t.next_state for t in state.transitions]
            nodes[state.name] = FlowNode([*targets, state.default], self._emitter(state))
        structurer = Structurer(writer, nodes, parser.initial, self.context.names.fresh("state"))
        self._offsets(structurer)
        self.cyclic = structurer.cyclic
        if self.cyclic:
            writer.line("steps = 0")
        with writer.block("try:"):
            if self.entry_offsets.get(parser.initial, None) is None:
                writer.line("offset = 0")
            structurer.write()
        with writer.block("except ParseError:"):
            writer.line("parse_errors[0] += 1")

    def _offsets(self, structurer: Structurer) -> None:
        """Compute the byte offset at which each state begins; None where it differs between paths."""
        if structurer.cyclic:
            self.entry_offsets = {str(name): None for name in structurer.order}
            return
        known: dict[str, set[int | None]] = {str(self.program.parser.initial): {0}}
        for name in structurer.order:
            state = self.program.parser.states[str(name)]
            starts = known[state.name]
            start = next(iter(starts)) if len(starts) == 1 else None
            self.entry_offsets[state.name] = start
            end = self._after(state, start)
            for target in [t.next_state for t in state.transitions] + [state.default]:
                if target is not None:
                    known.setdefault(target, set()).add(end)

    def _after(self, state: ir.ParserState, offset: int | None) -> int | None:
        for op in state.ops:
            match op:
                case ir.Extract(ir.HeaderRef(name), None):
                    if offset is not None:
                        offset += self.context.layout.layout_of(name).size
                case ir.Extract():
                    offset = None
                case ir.Advance(ir.Const(bits)):
                    if offset is not None:
                        offset += bits // 8
                case ir.Advance():
                    offset = None
        return offset

    def _emitter(self, state: ir.ParserState) -> Callable[[Goto], None]:
        def emit(goto: Goto) -> None:
            _StateWriter(self, state).emit(goto)

        return emit


class _StateWriter:
    """Writes one state, from the constant offset ``at``; None where the local ``offset`` has it."""

    def __init__(self, parser: ParserWriter, state: ir.ParserState) -> None:
        self.parser = parser
        self.state = state
        self.context = parser.context
        self.layout = parser.context.layout
        self.at = parser.entry_offsets[state.name]
        self.scope = Scope(lookahead=self._lookahead)

    def _line(self, text: str) -> None:
        self.context.writer.line(text)

    def emit(self, goto: Goto) -> None:
        """Write the state's operations and its transition."""
        if self.parser.cyclic and not any(isinstance(op, ir.Extract) for op in self.state.ops):
            # A loop that consumes no byte could run forever.
            self._line("steps += 1")
            with self.context.writer.block(f"if steps > {_MAX_STEPS}:"):
                self._error("ParserTimeout")
        for op in self.state.ops:
            match op:
                case ir.Extract(target, length):
                    self._extract(target, length)
                case ir.SetField(target, value):
                    self._set(target, value)
                case ir.Verify(condition, error):
                    self._verify(condition, error)
                case ir.Advance(bits):
                    self._advance(bits)
                case ir.PrimitiveCall(primitive):
                    self.parser.actions.call(primitive)
        self._select(goto)

    def _leave(self, goto: Goto, target: str | None) -> None:
        """Continue at a state, and store the offset if the state reads it from the local."""
        expected = None if target is None else self.parser.entry_offsets[target]
        if expected is None and self.at is not None:
            self._line(f"offset = {self.at}")
        goto(END if target is None else target)

    def _select(self, goto: Goto) -> None:
        state = self.state
        if not state.keys or not state.transitions:
            for expr, _ in state.keys:
                if isinstance(expr, ir.Lookahead):
                    self._lookahead(expr)  # its check alone: the value is not used
            self._leave(goto, state.default)
            return
        keys = []
        for expr, bits in state.keys:
            value = self.context.expressions.value(expr, self.scope)
            code = value.code
            if isinstance(expr, ir.FieldRef) and self.context.program.field_type(expr).signed:
                code = self.layout.unsigned(expr)
            if not code.isidentifier():
                name = self.context.names.fresh("key")
                self._line(f"{name} = {code}")
                code = name
            keys.append((code, bits))
        writer = self.context.writer
        first = True
        for transition in state.transitions:
            condition = self._condition(transition, keys)
            if condition == "True" and not first:
                with writer.block("else:"):
                    self._leave(goto, transition.next_state)
                return
            with writer.block(f"{'if' if first else 'elif'} {condition}:"):
                self._leave(goto, transition.next_state)
            first = False
        with writer.block("else:"):
            self._leave(goto, state.default)

    def _condition(self, transition: ir.Transition, keys: list[tuple[str, int]]) -> str:
        if transition.vset is not None:
            values = self.context.runtime.value_sets[transition.vset]
            name = self.context.names.constant("value_set", ("value set", transition.vset), values)
            joined = self.layout.join(keys)
            return f"({joined}) in {name}"
        tests = []
        for (code, bits), value, mask in zip(keys, transition.values, transition.masks, strict=True):
            full = (1 << bits) - 1
            if mask is None or mask & full == full:
                tests.append(f"{code} == {value}")
            elif mask & full:
                tests.append(f"{code} & {mask & full:#x} == {value & mask}")
        return " and ".join(tests) if tests else "True"

    def _error(self, name: str) -> None:
        """Write statements that stop the parser."""
        if self.at is not None:
            self._line(f"offset = {self.at}")
        self._line(f"parser_error = {self.context.program.errors.get(name, 0)}")
        self._line("raise ParseError")

    def _need(self, size: str) -> None:
        """Write a check that ``size`` more bytes follow; without them the parser stops with PacketTooShort."""
        end = f"{self.at} + {size}" if self.at is not None else f"offset + {size}"
        if self.at is not None and size.isdigit():
            end = str(self.at + int(size))
        with self.context.writer.block(f"if frame_length < {end}:"):
            self._error("PacketTooShort")

    def _octets(self, bits: ir.Expr) -> str:
        """Write the check that ``bits`` are whole bytes; return the local with their number."""
        value = self.context.expressions.value(bits, self.scope)
        name = self.context.names.fresh("octets")
        self._line(f"{name} = {value.code}")
        with self.context.writer.block(f"if {name} & 7:"):
            self._error("ParserInvalidArgument")
        self._line(f"{name} >>= 3")
        return name

    def _extract(self, target: ir.Expr, length: ir.Expr | None) -> None:
        if isinstance(target, ir.HeaderRef):
            self._extract_header(target.name, length)
            return
        if isinstance(target, ir.StackRef):
            stack = target.name
            elements = list(self.context.program.stacks[stack].elements)
        else:
            assert isinstance(target, ir.AccessUnionHeader) and isinstance(target.union, ir.UnionStackRef)
            stack = target.union.name
            unions = self.context.program.union_stacks[stack].elements
            elements = [self.context.program.unions[u].headers[target.index] for u in unions]
        last = self.layout.next_index(stack)
        writer = self.context.writer
        with writer.block(f"if {last} >= {len(elements)}:"):
            self._error("StackOutOfBounds")
        if self.at is not None:
            self._line(f"offset = {self.at}")
            self.at = None
        for i, element in enumerate(elements):
            with writer.block(f"{'elif' if i else 'if'} {last} == {i}:"):
                self._extract_header(element, length)
        self._line(f"{last} += 1")

    def _extract_header(self, header: str, length: ir.Expr | None) -> None:
        layout = self.layout.layout_of(header)
        start: int | str = self.at if self.at is not None else "offset"
        if length is None:
            if layout.variable is not None:
                raise UnsupportedProgramError(
                    f"Unsupported: extract of variable-length header {header} without a length."
                )
            self._need(str(layout.size))
            lines = self.layout.extract(header, "frame", start, None)
            size = str(layout.size)
        else:
            name = self._octets(length)
            size = f"{layout.size} + {name}"
            with self.context.writer.block(f"if {name} < 0 or frame_length < {start} + {size}:"):
                self._error("PacketTooShort")
            if layout.type.max_length:
                with self.context.writer.block(f"if {size} > {layout.type.max_length}:"):
                    self._error("HeaderTooShort")
            lines = self.layout.extract(header, "frame", start, name)
        for line in lines + self.layout.set_valid(header):
            self._line(line)
        if self.at is not None and size.isdigit():
            self.at += int(size)
        else:
            self._line(f"offset = {start} + {size}")
            self.at = None

    def _lookahead(self, expr: ir.Lookahead) -> Value:
        """Write the check that the packet has the bits of a lookahead; return them."""
        first, end = expr.offset // 8, (expr.offset + expr.bits + 7) // 8
        self._need(str(end))
        start = f"offset + {first}" if self.at is None else str(self.at + first)
        stop = f"offset + {end}" if self.at is None else str(self.at + end)
        shift = end * 8 - expr.offset - expr.bits
        code = f"int_from(frame[{start}:{stop}], 'big')"
        if shift:
            code = f"{code} >> {shift}"
        high = (1 << expr.bits) - 1
        if (end - first) * 8 - shift > expr.bits:
            code = f"{code} & {high:#x}"
        return Value(code, 0, high)

    def _set(self, target: ir.Expr, value: ir.Expr) -> None:
        assert isinstance(target, ir.FieldRef)
        if self.context.program.field_type(target).variable:
            assert isinstance(value, ir.FieldRef)
            source = self.layout.field_local(value.header, value.name)
            self._line(f"{self.layout.field_local(target.header, target.name)} = {source}")
            return
        self._line(self.layout.store(target, self.context.expressions.value(value, self.scope)))

    def _verify(self, condition: ir.Expr, error: ir.Expr) -> None:
        code = self.context.expressions.condition(condition, self.scope)
        with self.context.writer.block(f"if not ({code}):"):
            if self.at is not None:
                self._line(f"offset = {self.at}")
            self._line(f"parser_error = {self.context.expressions.value(error, self.scope).code}")
            self._line("raise ParseError")

    def _advance(self, bits: ir.Expr) -> None:
        if isinstance(bits, ir.Const) and self.at is not None:
            if bits.value % 8:
                self._error("ParserInvalidArgument")
                return
            self._need(str(bits.value // 8))
            self.at += bits.value // 8
            return
        name = self._octets(bits)
        start = str(self.at) if self.at is not None else "offset"
        with self.context.writer.block(f"if {name} < 0 or frame_length < {start} + {name}:"):
            self._error("PacketTooShort")
        self._line(f"offset = {start} + {name}")
        self.at = None
