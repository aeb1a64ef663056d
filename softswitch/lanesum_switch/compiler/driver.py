# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Compiler driver: from the intermediate representation to a Python function."""

from __future__ import annotations

import linecache
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any

from lanesum_switch.api import PacketOut, UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.basic_blocks import BlockPass, fuse
from lanesum_switch.compiler.context import Context, Registers
from lanesum_switch.compiler.expressions import Expressions
from lanesum_switch.compiler.field_usage import FieldUsage
from lanesum_switch.compiler.layout import VariableLayout
from lanesum_switch.compiler.python_source import BoundNames, SourceWriter, check_source
from lanesum_switch.compiler.v1model import V1ModelFunction
from lanesum_switch.compiler.vectorizer import LaneVectorizer, VectorPlan, banks_for
from lanesum_switch.runtime.hashes import ones_complement_sum
from lanesum_switch.runtime.state import Runtime

_log = logging.getLogger("lanesum_switch.program")

# The only builtins and attributes that generated code refers to.
_BUILTINS: dict[str, Any] = {"bool": bool, "int": int, "len": len, "max": max, "min": min}
_ATTRIBUTES = frozenset(("append", "get", "join", "to_bytes", "translate"))

# The arguments are (port, frame, out, effects, origin): see compiler.v1model.
PacketFn = Callable[[int, bytes, list[PacketOut], list[Any], Any], None]


class ParseError(Exception):
    """Ends the parser of a packet; the generated code catches it."""


class LoopLimit(Exception):
    """A loop of the P4 program (`for` in an action) ran for too many steps on a packet."""


class AssertionFailed(Exception):
    """An assert or assume of the P4 program failed on a packet."""


@dataclass(slots=True)
class CompiledProgram:
    """A compiled program.

    Attributes:
        source: its Python source, for debugging.
    """

    run: PacketFn
    source: str
    namespace: dict[str, Any]
    code: CodeType

    def rebind(self, changes: dict[str, Any]) -> PacketFn:
        """Return the same function over other objects; ``changes`` replaces objects by name."""
        namespace = {**self.namespace, **changes}
        exec(self.code, namespace)
        run: PacketFn = namespace["run"]
        return run


def compile_program(
    program: ir.Program,
    runtime: Runtime,
    environment: dict[str, Any],
    drop_port: int,
    vectorize: bool = True,
) -> CompiledProgram:
    """Generate and load the packet function.

    Args:
        environment: further objects that the generated code refers to, by name (clock, groups, counts).

    Raises UnsupportedProgramError for a construct that the switch does not run.
    """
    context = make_context(program, runtime, drop_port, vectorize)
    return load_source(V1ModelFunction(context).write(), context, environment)


def make_context(program: ir.Program, runtime: Runtime, drop_port: int, vectorize: bool) -> Context:
    """Return the context of a compilation, and add the program's registers to ``runtime``."""
    usage = FieldUsage(program)
    names = BoundNames()
    plan = VectorPlan()
    rewrite: BlockPass = partial(fuse, usage=usage)
    if vectorize:
        vectorizer = LaneVectorizer(program, usage)
        plan = vectorizer.plan()
        rewrite = vectorizer.rewrite
    layout = VariableLayout(program, usage, names, plan.runs)
    runtime.registers |= banks_for(plan, program)
    context = Context(
        program=program,
        usage=usage,
        names=names,
        layout=layout,
        expressions=Expressions(layout),
        runtime=runtime,
        registers=Registers(names, runtime.registers),
        drop_port=drop_port,
        writer=SourceWriter(),
        rewrite=rewrite,
    )
    length = program.standard("standard_metadata.packet_length")
    context.tracks_length = length is not None and length in usage.read
    return context


def load_source(source: str, context: Context, environment: dict[str, Any]) -> CompiledProgram:
    """Load generated code, whose function is ``run``.

    Raises UnsupportedProgramError if Python cannot compile it because of its size.
    """
    runtime = context.runtime
    namespace: dict[str, Any] = {
        **environment,
        **context.names.bound,
        "ParseError": ParseError,
        "AssertionFailed": AssertionFailed,
        "LoopLimit": LoopLimit,
        "PacketOut": PacketOut,
        "new_tuple": tuple.__new__,
        "int_from": int.from_bytes,
        "ones_complement_sum": ones_complement_sum,
        "random_int": runtime.rng.randint,
        "clock": runtime.clock,
        "log_message": _log_message,
    }
    filename = f"<p4 {context.program.name}>"
    check_source(source)
    try:
        code = compile(source, filename, "exec")
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise UnsupportedProgramError(
            f"The code generated for program {context.program.name} is too large for Python: {error}."
        ) from error
    namespace["__builtins__"] = _BUILTINS
    _check_names(code, frozenset(namespace) | _ATTRIBUTES | _BUILTINS.keys() | {"run"})
    exec(code, namespace)
    # With this entry, tracebacks show the generated lines.
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    return CompiledProgram(namespace["run"], source, namespace, code)


def _check_names(code: CodeType, allowed: frozenset[str]) -> None:
    """Check that generated code refers to no global name or attribute except for ``allowed``.

    Programs come over the network. The loaders validate them, and this check holds if a loader misses a field: code
    that was not generated here cannot import a module or reach an object that was not bound for it.
    """
    foreign = [name for name in code.co_names if name not in allowed]
    if foreign:
        raise UnsupportedProgramError(f"The code generated for the program refers to {foreign[0][:80]!r}.")
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _check_names(constant, allowed)


def _log_message(text: str, values: tuple[int, ...]) -> None:
    """Log a message of v1model's ``log_msg``, whose text has one ``{}`` per value."""
    if not _log.isEnabledFor(logging.INFO):
        return
    first, *rest = text.split("{}")
    shown = [str(int(value)) for value in values] + ["{}"] * len(rest)
    _log.info("%s", first + "".join(value + part for value, part in zip(shown, rest, strict=False)))
