# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""From an ``ir.Program`` to a compiled function and the state that it works on."""

from __future__ import annotations

import linecache
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import CodeType
from typing import Any

from lanesum_switch.api import ActionSpec, PacketOut, ParamSpec, UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.calculations import Calculations
from lanesum_switch.compiler.context import Context, Registers, Runtime
from lanesum_switch.compiler.expressions import Expressions
from lanesum_switch.compiler.field_usage import FieldUsage
from lanesum_switch.compiler.layout import Layout
from lanesum_switch.compiler.python_source import Names, SourceWriter
from lanesum_switch.compiler.v1model import V1ModelFunction
from lanesum_switch.compiler.vectorizer import LaneVectorizer, Plan, banks_for
from lanesum_switch.runtime.action_profiles import ActionProfile
from lanesum_switch.runtime.externs import CounterArray, MeterArray
from lanesum_switch.runtime.hashes import functions, ones_complement_sum
from lanesum_switch.runtime.tables import MatchTable

_log = logging.getLogger("lanesum_switch.program")

# (port, frame, out, effects, origin); see compiler.function
Run = Callable[[int, bytes, list[PacketOut], list[Any], Any], None]


class ParseError(Exception):
    """Ends the parser of one packet; never leaves the generated code."""


class LoopLimit(Exception):
    """A loop of the P4 program (`for` in an action) ran for too long on a packet."""


class AssertionFailed(Exception):
    """A P4 assert or assume did not hold for a packet."""


@dataclass(slots=True)
class CompiledProgram:
    """A program ready to run. ``source`` is the generated Python, for debugging."""

    run: Run
    source: str
    namespace: dict[str, Any]
    code: CodeType

    def again(self, changes: dict[str, Any]) -> Run:
        """The same function over other objects: ``changes`` replaces those that it sees under a name."""
        namespace = {**self.namespace, **changes}
        exec(self.code, namespace)
        run: Run = namespace["run"]
        return run


def build_state(
    program: ir.Program, runtime: Runtime, lock: AbstractContextManager[object]
) -> dict[str, ActionProfile]:
    """Fill ``runtime`` with the program's tables, counters, meters and value sets; returns the action profiles."""
    nodes = [n for p in (program.ingress, program.egress) for n in p.nodes.values() if isinstance(n, ir.TableNode)]
    profiles: dict[str, ActionProfile] = {}
    for name, profile in program.profiles.items():
        actions = {a.id: a for n in nodes if n.profile == name for a in n.actions}
        specs = tuple(ActionSpec(a.name, tuple(ParamSpec(p, b) for p, b in a.params)) for a in actions.values())
        profiles[name] = ActionProfile(name, profile.size, profile.selector is not None, specs, lock)
    for node in nodes:
        runtime.tables[node.name] = MatchTable(node, program, profiles.get(node.profile or ""), runtime.clock, lock)
    for name, counter in program.counters.items():
        if counter.binding is None:
            runtime.counters[name] = CounterArray(name, counter.size, lock)
    for name, meter in program.meters.items():
        if meter.binding is None:
            unit = "bytes" if meter.unit == "bytes" else "packets"
            runtime.meters[name] = MeterArray(name, meter.size, unit, runtime.clock, lock)  # type: ignore[arg-type]
    for name in program.value_sets:
        runtime.value_sets[name] = set()
    runtime.hash_functions = dict(functions(runtime.rng))
    return profiles


def compile_program(
    program: ir.Program,
    runtime: Runtime,
    environment: dict[str, Any],
    drop_port: int,
    vectorize: bool = True,
) -> CompiledProgram:
    """Generate and load the packet function.

    ``environment``: what the generated code calls besides the program's own state (clock, groups, counts).
    Raises UnsupportedProgramError for constructs that are not executed.
    """
    context = make_context(program, runtime, drop_port, vectorize)
    return load_source(V1ModelFunction(context).write(), context, environment)


def make_context(program: ir.Program, runtime: Runtime, drop_port: int, vectorize: bool) -> Context:
    """What the parts of the compiler share; makes the program's registers in ``runtime``."""
    usage = FieldUsage(program)
    names = Names()
    vectorizer = LaneVectorizer(program, usage) if vectorize else None
    plan = vectorizer.plan() if vectorizer is not None else Plan()
    layout = Layout(program, usage, names, plan.runs)
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
    )
    if vectorizer is not None and (plan.runs or plan.banks):
        context.vectorizer = vectorizer.rewrite
    context.calculations = Calculations(context)
    length = program.standard("standard_metadata.packet_length")
    context.tracks_length = length is not None and length in usage.read
    return context


def load_source(source: str, context: Context, environment: dict[str, Any]) -> CompiledProgram:
    """Load generated code, whose function is ``run``. Raises UnsupportedProgramError where it is too large."""
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
    try:
        code = compile(source, filename, "exec")
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise UnsupportedProgramError(f"The program is too large for the embedded switch: {error}.") from error
    exec(code, namespace)
    # Tracebacks then show the generated lines.
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    return CompiledProgram(namespace["run"], source, namespace, code)


def _log_message(text: str, values: tuple[int, ...]) -> None:
    """v1model log_msg: each ``{}`` of the text is replaced by a value."""
    if not _log.isEnabledFor(logging.INFO):
        return
    pieces = text.split("{}")
    shown = [str(int(value)) for value in values] + ["{}"] * len(pieces)
    _log.info("%s", pieces[0] + "".join(value + piece for value, piece in zip(shown, pieces[1:], strict=False)))
