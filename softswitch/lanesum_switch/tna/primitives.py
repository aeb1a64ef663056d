# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Python statements for TNA's externs; see ``compiler.primitives``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanesum_switch.api import SwitchError
from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.actions import Actions
from lanesum_switch.compiler.expressions import Scope
from lanesum_switch.compiler.layout import Value

if TYPE_CHECKING:
    from lanesum_switch.compiler.context import Context


class RegisterAccessError(SwitchError):
    """A packet accessed a register twice in one pass through ingress or egress, which no chip can do."""


class TnaActions(Actions):
    """``claims``: by register, the local variable that tells if it was accessed."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.claims: dict[str, str] = {}

    def _add_header(self, header: str, _: str) -> None:
        # Only the valid bit: earlier writes to the fields persist, as in the chip's containers.
        self._line(f"{self.layout.valid(header)} = True")

    def _do_claim_register(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        register, action = args
        assert isinstance(register, ir.Text) and isinstance(action, ir.Text)
        name = self.claims.setdefault(register.value, f"claimed_{len(self.claims)}")
        self._line(f"if {name}: raise accessed_twice({register.value!r}, {action.value!r}, {name})")
        self._line(f"{name} = {action.value!r}")

    def _do_hash_bytes(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        target, algorithm, data, size = args
        assert isinstance(target, ir.FieldRef) and isinstance(algorithm, ir.Text) and isinstance(size, ir.Const)
        function = self.context.runtime.hash_functions[algorithm.value]
        name = self.context.names.constant(f"hash_{algorithm.value}", ("hash", algorithm.value), function)
        code = f"{name}({self.expressions.value(data, scope)}.to_bytes({size.value}, 'big'))"
        self._line(self.layout.store(target, Value(code, 0, (1 << 64) - 1)))

    def _do_ones_complement(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        target, total = args
        assert isinstance(target, ir.FieldRef)
        code = f"ones_complement_sum({self.expressions.value(total, scope).code})"
        self._line(self.layout.store(target, Value(code, 0, 0xFFFF)))

    def _bytes(self, data: ir.Expr, size: ir.Expr, scope: Scope) -> str:
        assert isinstance(size, ir.Const)
        if size.value == 0:
            return "b''"
        return f"int({self.expressions.value(data, scope)}).to_bytes({size.value}, 'big')"

    def _do_mirror(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        session, data, size = args
        code = self.expressions.value(session, scope).code
        self._line(f"mirrored.append(({code}, {self._bytes(data, size, scope)}))")

    def _do_resubmit_packet(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        self._line(f"resubmitted = {self._bytes(args[0], args[1], scope)}")

    def _do_digest(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        name, *fields = args
        assert isinstance(name, ir.Text)
        values = "".join(f"{self.expressions.value(field, scope)}, " for field in fields)
        self._line(f"digests.append(({name.value!r}, ({values})))")

    def _do_emit(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        (header,) = args
        assert isinstance(header, ir.HeaderRef)
        self._line(f"if {self.layout.valid(header.name)}: pieces.append({self.layout.pack(header.name)})")
