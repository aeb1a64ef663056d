# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Translation of TNA parsers to ``ir`` parsers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from lanesum_fabric.tofino.chips import NO_MATCH
from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.tna import syntax as p4
from lanesum_switch.tna import values
from lanesum_switch.tna.body import Binding, Body, Extern
from lanesum_switch.tna.externs import ResidualChecksum
from lanesum_switch.tna.storage import Gress, HeaderVar, Leaf, StructVar, leaves
from lanesum_switch.tna.values import Typed

_REJECT = "reject"


class PacketIn(Extern):
    """The parser's packet; ``_State`` translates its operations."""

    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        if not isinstance(body, _State):
            return super().call(body, method, call)
        match method:
            case "extract" if len(call.args) == 1:
                place = body.place(call.args[0])
                if not isinstance(place, HeaderVar):
                    raise body.unsupported("extract to something that is no header", call.line)
                body.extract(place)
                return None
            case "advance":
                body.advance(body.value(call.args[0]).expr)
                return None
            case "lookahead":
                kind = body.gress.storage.resolve(call.type_args[0])
                if not isinstance(kind, p4.Bits | p4.Boolean):
                    raise body.unsupported("lookahead of a struct within an expression", call.line)
                return body.look(kind, 0)
        return super().call(body, method, call)


class _State(Body):
    """Collects the operations of one state; assignments become ``SetField``."""

    def __init__(self, gress: Gress, scope: dict[str, Binding], where: str) -> None:
        super().__init__(gress, scope, where)
        self.ops: list[ir.ParserOp] = []

    def emit(self, op: str, *args: ir.Expr) -> None:
        if op == "assign":
            self.ops.append(ir.SetField(args[0], args[1]))
        else:
            self.ops.append(ir.PrimitiveCall(ir.Primitive(op, args, self.where)))

    def statement(self, found: p4.Statement) -> None:
        match found:
            case p4.If() | p4.Exit() | p4.SwitchStatement() | p4.Return():
                raise self.unsupported(f"statement {type(found).__name__} in a parser", getattr(found, "line", 0))
            case p4.AssignmentStatement(
                target, p4.CallExpression(p4.MemberExpression(p4.Path(name), "lookahead"), kinds, ()), _
            ) if isinstance(self.scope.get(name), PacketIn) and self.gress.storage.record(kinds[0]) is not None:
                self._look_whole(target)
            case p4.AssignmentStatement(
                target, p4.CallExpression(p4.MemberExpression(p4.Path(name), "get"), (), ()), _
            ) if isinstance(checksum := self.scope.get(name), ResidualChecksum):
                place = self.place(target)
                assert isinstance(place, Leaf)
                checksum.deposit(self, place)
            case p4.AssignmentStatement(target, p4.CallExpression(p4.Path("port_metadata_unpack"), _, _), _):
                self._look_whole(target)
                self.advance(ir.Const(8 * self.gress.chip.port_metadata_bytes))
            case _:
                super().statement(found)

    def value(self, expr: p4.Expr) -> Typed:
        match expr:
            case p4.MemberExpression(
                p4.CallExpression(p4.MemberExpression(p4.Path(name), "lookahead"), (kind,), ()), member
            ) if isinstance(self.scope.get(name), PacketIn) and (record := self.gress.storage.record(kind)) is not None:
                return self._look_at(record, member)
        return super().value(expr)

    def _look_at(self, record: p4.Record, member: str) -> Typed:
        """Return a field of a header that may come next."""
        offset = 0
        for name, kind in record.fields:
            resolved = self.gress.storage.resolve(kind)
            if not isinstance(resolved, p4.Bits | p4.Boolean):
                break
            if name == member:
                return self.look(resolved, offset)
            offset += resolved.width if isinstance(resolved, p4.Bits) else 1
        raise self.unsupported(f"lookahead of {record.name}.{member}")

    def extract(self, header: HeaderVar) -> None:
        self.ops.append(ir.Extract(ir.HeaderRef(header.name), None))
        for residual in self.gress.residuals:
            assert isinstance(residual, ResidualChecksum)
            residual.extracted(self, header)

    def advance(self, bits: ir.Expr) -> None:
        self.ops.append(ir.Advance(bits))

    def look(self, kind: p4.Bits | p4.Boolean, offset: int) -> Typed:
        """Return the next bits of the packet in a variable, so that a shorter packet is an error."""
        bits = kind.width if isinstance(kind, p4.Bits) else 1
        copy = self.gress.storage.temporary(kind)
        raw: ir.Expr = ir.Lookahead(offset, bits)
        if isinstance(kind, p4.Bits) and kind.signed:
            raw = values.cut(raw, kind)
        self.ops.append(ir.SetField(copy.expr, raw))
        return Typed(copy.expr, kind)

    def _look_whole(self, target: p4.Expr) -> None:
        place = self.place(target)
        if isinstance(place, HeaderVar):
            self.emit("add_header", ir.HeaderRef(place.name))
        elif not isinstance(place, StructVar):
            raise self.unsupported("lookahead of a struct into something that is no struct")
        offset = 0
        for leaf in leaves(place):
            self.store(leaf, self.look(leaf.type, offset))
            offset += leaf.bits


def translate_parser(gress: Gress, block: p4.BlockDeclaration, scope: dict[str, Binding]) -> None:
    """Set the program's parser. Raises UnsupportedProgramError."""
    # Residuals must be found before the states that follow them in the packet, in any order of the text.
    states: dict[str, ir.ParserState] = {}
    for _ in range(2):
        states = {name: _translate(gress, state, scope) for name, state in block.states.items()}
        if not gress.residuals:
            break
    rejection = ir.Verify(ir.Bool(False), ir.Const(NO_MATCH))
    states[_REJECT] = ir.ParserState(_REJECT, (rejection,), (), (), None)
    gress.program.parser = ir.Parser("start", states)


def _translate(gress: Gress, state: p4.StateDeclaration, scope: dict[str, Binding]) -> ir.ParserState:
    body = _State(gress, scope, f"parser state {state.name}")
    body.statements(state.body)
    keys: list[tuple[ir.Expr, int]] = []
    for expr in state.select:
        value = body.value(expr)
        keys.append((values.bit_string(value), value.bits))
    transitions: list[ir.Transition] = []
    default: str | None = _REJECT
    for case in state.cases:
        target = None if case.state == "accept" else case.state
        alternatives = _alternatives(body, case.keys, [bits for _, bits in keys])
        for sets in alternatives:
            if all(mask == 0 for _, mask in sets):
                default = target
                return ir.ParserState(state.name, tuple(body.ops), tuple(keys), tuple(transitions), default)
            entry_values = tuple(value for value, _ in sets)
            masks: tuple[int | None, ...] = tuple(mask for _, mask in sets)
            transitions.append(ir.Transition(entry_values, masks, target))
    return ir.ParserState(state.name, tuple(body.ops), tuple(keys), tuple(transitions), default)


def _alternatives(body: Body, keys: Sequence[p4.Expr], widths: list[int]) -> list[tuple[tuple[int, int], ...]]:
    """Return the (value, mask) pairs per key of a case; a range has several."""
    if len(keys) == 1 and isinstance(keys[0], p4.Anything):
        return [tuple((0, 0) for _ in widths)]
    sets = [_masked(body, key, bits) for key, bits in zip(keys, widths, strict=True)]
    return list(product(*sets))


def constant(body: Body, expr: p4.Expr) -> int:
    """Return the number of a constant expression. Raises UnsupportedProgramError."""
    value = body.value(expr)
    if not isinstance(value.expr, ir.Const):
        raise UnsupportedProgramError(f"Unsupported: a number that is no constant ({body.where}).")
    return value.expr.value


def _masked(body: Body, key: p4.Expr, bits: int) -> list[tuple[int, int]]:
    full = (1 << bits) - 1
    match key:
        case p4.Anything():
            return [(0, 0)]
        case p4.Masked(value, mask):
            return [(constant(body, value) & full, constant(body, mask) & full)]
        case p4.Between(low, high):
            return prefixes(constant(body, low), constant(body, high), bits)
    return [(constant(body, key) & full, full)]


def prefixes(low: int, high: int, bits: int) -> list[tuple[int, int]]:
    """Return (value, mask) pairs that together match the numbers from ``low`` to ``high``."""
    found: list[tuple[int, int]] = []
    full = (1 << bits) - 1
    while low <= high:
        size = low & -low if low else 1 << bits
        while size > high - low + 1:
            size >>= 1
        found.append((low, full & ~(size - 1)))
        low += size
    return found


def packet_in(gress: Gress, name: str) -> PacketIn:
    """Return the packet under its name in the parser."""
    return PacketIn(gress, p4.Instantiation(p4.NamedType("packet_in"), (), name, name, (), 0))
