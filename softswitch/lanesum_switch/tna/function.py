# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Generation of the function that processes one packet in ingress or egress.

Shape of the generated code::

    def run(packet, prefix, now):
        parser over prefix + packet     (prefix: intrinsic metadata, and port metadata or resubmitted data)
        control
        deparser
        return Passed(...)              (None if the parser drops the packet)

``now`` is the time in ns. The traffic manager handles the result: see ``switch``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from lanesum_switch.api import SwitchError
from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.actions import Actions
from lanesum_switch.compiler.context import Context
from lanesum_switch.compiler.control_blocks import ControlBlockWriter
from lanesum_switch.compiler.expressions import Scope
from lanesum_switch.compiler.layout import Value
from lanesum_switch.compiler.packet_function import PacketFunction, identifiers
from lanesum_switch.compiler.parser import ParserWriter
from lanesum_switch.compiler.python_source import SourceWriter
from lanesum_switch.tna.load import FOR_DEPARSER, FOR_TM, FROM_PARSER, Half


class RegisterAccessError(SwitchError):
    """A packet accessed a register twice in one pass through ingress or egress, which no chip can do."""


class TnaActions(Actions):
    """Python statements for TNA's externs. ``claims``: by register, the local variable that tells of its access."""

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


_TIMESTAMP_BITS = 48


class Passed(NamedTuple):
    """Output of one half of a pipe.

    ``unicast`` is None if the program set no port. ``mirrored``: (session, header) pairs; ``resubmitted``: the data, or
    None; ``digests``: (name, values) pairs; ``mirror_outgoing``: mirror the outgoing packet.
    """

    packet: bytes
    drop: int
    mirrored: list[tuple[int, bytes]]
    mirror_outgoing: bool
    resubmitted: bytes | None = None
    digests: list[tuple[str, tuple[int, ...]]] = []
    unicast: int | None = None
    groups: tuple[int, int] = (0, 0)
    bypass: int = 0
    to_cpu: int = 0
    queue: int = 0


class HalfWriter(PacketFunction):
    """Writes ``run`` for one half."""

    def __init__(self, context: Context, half: Half) -> None:
        super().__init__(context)
        self.half = half
        self.actions = TnaActions(context)

    def write(self) -> str:
        """Return the source of the function."""
        parser = self.section(self._parser, depth=1)
        control = self.section(lambda: self._pipeline(self.program.ingress), depth=1)
        deparser = self.section(lambda: self._pipeline(self.program.egress), depth=1)
        answer = self.section(self._answer, depth=1)
        writer = SourceWriter()
        with writer.block("def run(packet, prefix, now):"):
            writer.line("frame = prefix + packet")
            writer.line("frame_length = len(frame)")
            writer.line("parser_error = 0")
            self.initialize(writer, identifiers(parser + control + deparser + answer))
            if self.actions.claims:
                writer.line(f"{' = '.join(self.actions.claims.values())} = None")
        return "\n".join([*writer.lines, *parser, *control, *deparser, *answer]) + "\n"

    def _input(self, name: str, code: str, bits: int) -> None:
        ref = ir.FieldRef(FROM_PARSER.format(self.half.side), name)
        if ref in self.usage.read:
            self.context.writer.line(self.layout.store(ref, Value(code, 0, (1 << bits) - 1)))

    def _parser(self) -> None:
        writer = self.context.writer
        self._input("global_tstamp", f"now & {(1 << _TIMESTAMP_BITS) - 1:#x}", _TIMESTAMP_BITS)
        ParserWriter(self.context, self.actions).emit()
        if ir.FieldRef(FROM_PARSER.format(self.half.side), "parser_err") in self.usage.read:
            self._input("parser_err", "parser_error", 16)
        else:
            writer.line("if parser_error: return None")
        writer.line("frame_length = len(packet)")
        writer.line("pieces = []; mirrored = []; digests = []; resubmitted = None")

    def _pipeline(self, pipeline: ir.Pipeline) -> None:
        ControlBlockWriter(self.context, self.actions, pipeline).emit()

    def _output(self, instance: str, name: str) -> str:
        return self.layout.field_local(instance, name)

    def _answer(self) -> None:
        deparser = FOR_DEPARSER.format(self.half.side)
        drop = self._output(deparser, "drop_ctl")
        outgoing = str(self.half.side == "egress")
        if ir.FieldRef(deparser, "mirror_io_select") in self.program.outputs:
            outgoing = f"bool({self._output(deparser, 'mirror_io_select')})"
        parts = ["b''.join(pieces) + frame[offset:]", drop, "mirrored", outgoing]
        if self.half.side == "ingress":
            port = self._output(FOR_TM, "ucast_egress_port")
            flag = self.half.written_flags[ir.FieldRef(FOR_TM, "ucast_egress_port")]
            asked = self.layout.field_local(flag.header, flag.name)
            groups = f"({self._output(FOR_TM, 'mcast_grp_a')}, {self._output(FOR_TM, 'mcast_grp_b')})"
            rest = [self._output(FOR_TM, name) for name in ("bypass_egress", "copy_to_cpu", "qid")]
            parts += ["resubmitted", "digests", f"{port} if {asked} else None", groups, *rest]
        else:
            parts += ["None", "digests"]
        self.context.writer.line(f"return new_tuple(Passed, ({', '.join(parts)}, {_defaults(len(parts))}))")


def _defaults(given: int) -> str:
    rest: list[Any] = [Passed._field_defaults[name] for name in Passed._fields[given:]]
    return "".join(f"{value!r}, " for value in rest)
