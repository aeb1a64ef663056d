# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Code for the primitives of simple_switch: the method ``_do_NAME`` writes primitive NAME.

P4_16 specification, section "Expressions" for headers, stacks and unions; v1model.p4 for the externs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.calculations import Calculations
from lanesum_switch.compiler.context import Context
from lanesum_switch.compiler.expressions import Scope
from lanesum_switch.compiler.layout import Value


class Primitives:
    """Writes single primitives into the context's writer."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.program = context.program
        self.layout = context.layout
        self.expressions = context.expressions
        self.calculations = Calculations(context)

    def _index(self, index: ir.Expr, scope: Scope) -> Value:
        value = self.expressions.value(index, scope)
        if value.fits(32):
            return value
        return Value(f"{value} & 0xffffffff", 0, 0xFFFFFFFF)  # BMv2 takes the index as an unsigned int

    def primitive(self, primitive: ir.Primitive, scope: Scope) -> None:
        """Write one primitive. Raises UnsupportedProgramError for an unknown one."""
        method = getattr(self, f"_do_{primitive.op}", None)
        if method is None:
            where = f" at {primitive.place}" if primitive.place else ""
            raise UnsupportedProgramError(f"Unsupported: primitive {primitive.op!r}{where}.")
        method(primitive.args, scope)

    def _line(self, text: str) -> None:
        self.context.writer.line(text)

    def _store_cases(self, target: ir.Expr, value: Value, scope: Scope) -> None:
        """Write an assignment to an lvalue that may be a field of a stack element."""
        if isinstance(target, ir.FieldRef):
            self._line(self.layout.store(target, value))
            return
        assert isinstance(target, ir.AccessField)
        cases = self.expressions.header_cases(target.header, scope)
        if cases and cases[0][0]:
            name = self.context.names.fresh("t")
            self._line(f"{name} = {value.code}")
            value = Value(name, value.low, value.high, True)
        for i, (condition, header) in enumerate(cases):
            ref = ir.FieldRef(header, self.program.instances[header].type.fields[target.index].name)
            if not condition:
                self._line(self.layout.store(ref, value))
                return
            with self.context.writer.block(f"{'elif' if i else 'if'} {condition}:"):
                self._line(self.layout.store(ref, value))

    def _do_assign(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        self._store_cases(args[0], self.expressions.value(args[1], scope), scope)

    _do_modify_field = _do_assign

    @contextlib.contextmanager
    def _in_range(self, index: ir.Expr, size: int, scope: Scope) -> Iterator[str]:
        """Write the block for an index below ``size``, and return its local; any other index is counted."""
        name = self.context.names.fresh("ix")
        self._line(f"{name} = {self._index(index, scope).code}")
        with self.context.writer.block(f"if {name} < {size}:"):
            yield name
        with self.context.writer.block("else:"):
            self._line("out_of_range()")

    def _do_register_read(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        assert isinstance(args[1], ir.Named)
        register = self.program.registers[args[1].name]
        with self._in_range(args[2], register.size, scope) as index:
            self._store_cases(args[0], self.context.registers.read(register.name, index), scope)

    def _do_assign_VL(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        left, right = args
        assert isinstance(left, ir.FieldRef) and isinstance(right, ir.FieldRef)
        source = self.layout.field_local(right.header, right.name)
        self._line(f"{self.layout.field_local(left.header, left.name)} = {source}")

    def _copy_header(self, target: str, source: str) -> None:
        if target == source:
            return
        writer = self.context.writer
        with writer.block(f"if {self.layout.valid(source)}:"):
            for line in self.layout.copy(target, source) + self.layout.set_valid(target):
                writer.line(line)
        with writer.block("else:"):
            writer.line(f"{self.layout.valid(target)} = False")

    def _do_assign_header(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        self._for_pairs(
            self.expressions.header_cases(args[0], scope),
            self.expressions.header_cases(args[1], scope),
            self._copy_header,
        )

    _do_copy_header = _do_assign_header

    def _for_pairs(
        self,
        targets: list[tuple[str, str]],
        sources: list[tuple[str, str]],
        copy: Callable[[str, str], None],
    ) -> None:
        """Write ``copy`` of the target and source that run-time indices choose."""
        writer = self.context.writer
        first = True
        for target_condition, target in targets:
            for source_condition, source in sources:
                conditions = [c for c in (target_condition, source_condition) if c]
                if not conditions:
                    copy(target, source)
                    continue
                with writer.block(f"{'if' if first else 'elif'} {' and '.join(conditions)}:"):
                    copy(target, source)
                first = False

    def _copy_union(self, target: str, source: str) -> None:
        left, right = self.program.unions[target], self.program.unions[source]
        for a, b in zip(left.headers, right.headers, strict=True):
            self._copy_header(a, b)

    def _do_assign_union(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        self._for_pairs(
            self.expressions.union_cases(args[0], scope),
            self.expressions.union_cases(args[1], scope),
            self._copy_union,
        )

    def _do_assign_header_stack(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        (target_next, targets), (source_next, sources) = map(self._stack_parts, args)
        self._line(f"{target_next} = {source_next}")
        for target, source in zip(targets, sources, strict=True):
            for a, b in zip(target, source, strict=True):
                self._copy_header(a, b)

    _do_assign_union_stack = _do_assign_header_stack

    def _do_add_header(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        self._for_pairs(self.expressions.header_cases(args[0], scope), [("", "")], self._add_header)

    def _add_header(self, header: str, _: str) -> None:
        writer = self.context.writer
        with writer.block(f"if not {self.layout.valid(header)}:"):
            for local, zero in self.layout.zeros_of(header):
                writer.line(f"{local} = {zero}")
            for line in self.layout.set_valid(header):
                writer.line(line)
            if self.context.tracks_length:
                writer.line(f"length += {self.layout.layout_of(header).size}")

    def _do_remove_header(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        self._for_pairs(self.expressions.header_cases(args[0], scope), [("", "")], self._remove_header)

    def _remove_header(self, header: str, _: str) -> None:
        writer = self.context.writer
        valid = self.layout.valid(header)
        if not self.context.tracks_length:
            writer.line(f"{valid} = False")
            return
        with writer.block(f"if {valid}:"):
            layout = self.layout.layout_of(header)
            size = str(layout.size)
            if layout.variable is not None:
                size += f" + len({self.layout.field_local(header, layout.variable)})"
            writer.line(f"length -= {size}")
            writer.line(f"{valid} = False")

    def _stack_parts(self, stack: ir.Expr) -> tuple[str, list[list[str]]]:
        """Return (local of the next index, headers of each element)."""
        if isinstance(stack, ir.StackRef):
            return self.layout.next_index(stack.name), [[h] for h in self.program.stacks[stack.name].elements]
        assert isinstance(stack, ir.UnionStackRef)
        unions = self.program.union_stacks[stack.name].elements
        return self.layout.next_index(stack.name), [list(self.program.unions[u].headers) for u in unions]

    def _shift(self, elements: list[list[str]], number: int) -> None:
        """Move elements to the front by ``number`` places; the last ones become invalid."""
        for target, source in zip(elements, elements[number:], strict=False):
            for a, b in zip(target, source, strict=True):
                for line in self.layout.copy(a, b):
                    self._line(line)
                self._line(f"{self.layout.valid(a)} = {self.layout.valid(b)}")
        for headers in elements[len(elements) - number :]:
            for header in headers:
                self._line(f"{self.layout.valid(header)} = False")

    def _do_push(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        last, elements = self._stack_parts(args[0])
        number = min(constant_value(args[1]), len(elements))
        if number > 0:
            self._line(f"{last} = min({len(elements)}, {last} + {number})")
            self._shift(elements[::-1], number)

    def _do_pop(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        last, elements = self._stack_parts(args[0])
        number = min(constant_value(args[1]), len(elements))
        if number > 0:
            self._line(f"{last} = max(0, {last} - {number})")
            self._shift(elements, number)

    def _do_mark_to_drop(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        for ref in self.context.usage.drop_targets(ir.Primitive("mark_to_drop", args, "")):
            code = "0" if ref.name == "mcast_grp" else str(self.context.drop_port)
            self._line(f"{self.layout.field_local(ref.header, ref.name)} = {code}")

    _do_drop = _do_mark_to_drop

    def _do_exit(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        if self.context.dynamic_exit:
            self._line("exited = True")

    def _do_count(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        assert isinstance(args[0], ir.Named)
        counter = self.context.runtime.counters[args[0].name]
        packets = self.context.names.constant("packets", ("packets", counter.name), counter.packets)
        octets = self.context.names.constant("octets", ("octets", counter.name), counter.octets)
        with self._in_range(args[1], counter.size, scope) as index:
            self._line(f"{packets}[{index}] += 1")
            self._line(f"{octets}[{index}] += frame_length")

    def _do_execute_meter(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        assert isinstance(args[0], ir.Named)
        meter = self.context.runtime.meters[args[0].name]
        execute = self.context.names.constant("meter", ("meter", meter.name), meter.execute)
        with self._in_range(args[1], meter.size, scope) as index:
            self._store_cases(args[2], Value(f"{execute}({index}, frame_length)", 0, 3), scope)

    def _do_modify_field_with_hash_based_offset(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        assert isinstance(args[2], ir.Named)
        base, size = self.expressions.value(args[1], scope), self.expressions.value(args[3], scope)
        result = self.calculations.emit(self.program.calculations[args[2].name])
        divisor = str(size) if size.low > 0 else f"({size} or 1)"
        high = base.high + max(size.high - 1, 0)
        self._store_cases(args[0], Value(f"{result} % {divisor} + {base}", base.low, high), scope)

    def _do_modify_field_rng_uniform(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        low, high = self.expressions.value(args[1], scope), self.expressions.value(args[2], scope)
        drawn = Value(f"random_int({low}, {high})", low.low, high.high)
        if low.high <= high.low:
            self._store_cases(args[0], drawn, scope)
            return
        with self.context.writer.block(f"if {low} <= {high}:"):
            self._store_cases(args[0], drawn, scope)

    def _do_clone_ingress_pkt_to_egress(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        self._line(f"clone_session = {self.expressions.value(args[0], scope)} & 0x7fff")
        self._line(f"clone_list = {constant_value(args[1])}")

    _do_clone_egress_pkt_to_egress = _do_clone_ingress_pkt_to_egress

    def _do_resubmit(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        self._line(f"resubmit_list = {constant_value(args[0])}")

    def _do_recirculate(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        self._line(f"recirculate_list = {constant_value(args[0])}")

    def _do_generate_digest(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        self._line(f"digest_list = {constant_value(args[1])}")

    def _do_truncate(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        self._line(f"truncated = min(truncated, {self.expressions.value(args[0], scope)})")

    def _do_log_msg(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        assert isinstance(args[0], ir.Text)
        vector = args[1].items if len(args) > 1 and isinstance(args[1], ir.Vector) else ()
        values = "".join(f"{self.expressions.value(item, scope)}, " for item in vector)
        self._line(f"log_message({args[0].value!r}, ({values}))")

    def _do_assert(self, args: tuple[ir.Expr, ...], scope: Scope) -> None:
        with self.context.writer.block(f"if not ({self.expressions.condition(args[0], scope)}):"):
            self._line("raise AssertionFailed")

    _do_assume = _do_assert


def constant_value(arg: ir.Expr) -> int:
    """Return the value of an argument that the loader found to be a constant."""
    assert isinstance(arg, ir.Const)
    return arg.value
