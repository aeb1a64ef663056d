# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checksum: ones' complement sums in parsers and deparsers.

A parser's checksum is a running sum modulo 65,535; adding and subtracting are assignments to it. The result of ``get``
and ``subtract_all_and_deposit`` stays open in the chip's parser, which continues to subtract: every later extracted
header counts, related to the checksum or not.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanesum_switch.bmv2 import ir
from lanesum_switch.tna import syntax as p4
from lanesum_switch.tna import values
from lanesum_switch.tna.body import Binding, Body, Extern
from lanesum_switch.tna.gress import Gress
from lanesum_switch.tna.storage import HeaderVar, Leaf, leaves
from lanesum_switch.tna.values import Typed

_MODULUS = 0xFFFF
_SUM = p4.Bits(16)


def word_sum(fields: Sequence[Typed]) -> ir.Expr:
    """Return the sum of the 16-bit words of concatenated fields, not reduced: 2**16 is 1 modulo 65,535."""
    total: ir.Expr = ir.Const(0)
    position = 0
    for field in fields:
        position += field.bits
        shift = -position % 16
        part = values.bit_string(field)
        part = ir.Op("<<", (part, ir.Const(shift))) if shift else part
        total = part if total == ir.Const(0) else ir.Op("+", (total, part))
    return total


class ResidualChecksum(Extern):
    """Checksum of a parser or deparser; ``residual`` is the variable of the sum after ``deposit``."""

    def __init__(self, gress: Gress, instance: p4.Instantiation, scope: dict[str, Binding]) -> None:
        super().__init__(gress, instance)
        self.sum = gress.storage.temporary(_SUM)
        self.open = gress.storage.temporary(p4.Bits(1))
        self.residual: Leaf | None = None

    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        match method:
            case "add":
                self._change(body, "+", body.fields(call.args[0]))
                return None
            case "subtract":
                self._change(body, "-", body.fields(call.args[0]))
                return None
            case "verify":
                # True if the checksum is wrong, as in the chip's parser (bf-p4c writes it to parser_err).
                return Typed(ir.Op("!=", (self.sum.expr, ir.Const(0))), p4.Boolean())
            case "subtract_all_and_deposit":
                place = body.place(call.args[0])
                assert isinstance(place, Leaf)
                self.deposit(body, place)
                return None
            case "update":
                return self._update(body, call)
        return super().call(body, method, call)

    def deposit(self, body: Body, place: Leaf) -> None:
        """Write the sum to ``place``, and update it from here on."""
        self.residual = place
        body.store(self.open, Typed(ir.Const(1), self.open.type))
        body.store(place, Typed(self.sum.expr, _SUM))
        if self not in self.gress.residuals:
            self.gress.residuals.append(self)

    def _change(self, body: Body, op: str, fields: Sequence[Typed]) -> None:
        whole = ir.Op(op, (self.sum.expr, word_sum(fields)))
        body.store(self.sum, Typed(ir.Op("%", (whole, ir.Const(_MODULUS))), _SUM))

    def extracted(self, body: Body, header: HeaderVar) -> None:
        """Update an open residual after an extract."""
        assert self.residual is not None
        fields = [Typed(leaf.expr, leaf.type) for leaf in leaves(header)]
        rest = ir.Op("-", (self.sum.expr, ir.Op("?", (self.open.expr, word_sum(fields), ir.Const(0)))))
        body.store(self.sum, Typed(ir.Op("%", (rest, ir.Const(_MODULUS))), _SUM))
        kept = ir.Op("?", (self.open.expr, self.sum.expr, self.residual.expr))
        body.store(self.residual, Typed(kept, self.residual.type))

    def _update(self, body: Body, call: p4.CallExpression) -> Typed:
        result = body.gress.storage.temporary(_SUM)
        total = word_sum(body.fields(call.args[0]))
        body.emit("ones_complement", result.expr, total)
        if len(call.args) > 1 and call.args[1] == p4.Truth(True):
            zero = ir.Op("==", (result.expr, ir.Const(0)))
            body.store(result, Typed(ir.Op("?", (zero, ir.Const(_MODULUS), result.expr)), _SUM))
        return Typed(result.expr, _SUM)
