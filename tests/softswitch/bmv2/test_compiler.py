# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of the compiler: control flow, fusion, layouts, and what is refused."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanesum_switch.api import InvalidArgumentError, UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.bmv2.loader import load_program
from lanesum_switch.compiler.basic_blocks import Assign, RegisterWrite, fuse, statements_of
from lanesum_switch.compiler.field_usage import FieldUsage
from lanesum_switch.compiler.jumps import convert_ifs
from lanesum_switch.compiler.python_source import SourceWriter
from lanesum_switch.compiler.structuring import END, Go, Node, Structurer, Target
from lanesum_switch.dataplane import EmbeddedSwitch

from .conftest import PROGRAMS


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int | None]]:
    """Successors of each node; mostly forward edges, so that most graphs have no cycle."""
    size = draw(st.integers(1, 12))
    cyclic = draw(st.integers(0, 4)) == 0
    graph: list[list[int | None]] = []
    for i in range(size):
        later = list(range(i + 1, size)) + ([j for j in range(size)] if cyclic else [])
        target = st.sampled_from([None, *later])
        graph.append(draw(st.lists(target, min_size=1, max_size=3)))
    return graph


def walk(graph: list[list[int | None]], choices: list[int]) -> list[int]:
    """The nodes visited when node visits take the successors that ``choices`` say."""
    visited: list[int] = []
    at: int | None = 0
    while at is not None and len(visited) < len(choices):
        choice = choices[len(visited)]
        visited.append(at)
        at = graph[at][choice % len(graph[at])]
    return visited


@settings(max_examples=300)
@given(graph=graphs(), choices=st.lists(st.integers(0, 5), min_size=20, max_size=20))
def test_structured_graph_takes_the_same_way(graph: list[list[int | None]], choices: list[int]) -> None:
    writer = SourceWriter()

    def node(number: int) -> Node:
        successors = graph[number]

        def emit(go: Go) -> None:
            writer.line(f"choice = visit({number}) % {len(successors)}")
            for i, target in enumerate(successors):
                with writer.block(f"{'elif' if i else 'if'} choice == {i}:"):
                    go(target)

        return Node(list(successors), emit)

    nodes: dict[Target, Node] = {number: node(number) for number in range(len(graph))}
    with writer.block("def run():"):
        Structurer(writer, nodes, 0, "goto").write()
        writer.line("return")
    visited: list[int] = []

    class Done(Exception):
        pass

    def visit(number: int) -> int:
        if len(visited) == len(choices):
            raise Done
        visited.append(number)
        return choices[len(visited) - 1]

    scope: dict[str, Any] = {"visit": visit}
    exec(writer.source(), scope)
    with contextlib.suppress(Done):
        scope["run"]()
    assert visited == walk(graph, choices)


def test_deep_graph_falls_back_to_a_loop() -> None:
    writer = SourceWriter()
    size = 150

    def node(number: int) -> Node:
        following: Target = number + 1 if number + 1 < size else END

        def emit(go: Go) -> None:
            with writer.block(f"if visit({number}):"):
                go(following)
            with writer.block("else:"):
                go(END)

        return Node([following, END], emit)

    with writer.block("def run():"):
        Structurer(writer, {number: node(number) for number in range(size)}, 0, "goto").write()
    visited: list[int] = []

    def visit(number: int) -> bool:
        visited.append(number)
        return True

    scope: dict[str, Any] = {"visit": visit}
    exec(writer.source(), scope)
    scope["run"]()
    assert visited == list(range(size))


def test_loop_without_end_is_cut_off() -> None:
    writer = SourceWriter()
    with writer.block("def run():"):
        Structurer(writer, {0: Node([0], lambda go: go(0))}, 0, "goto").write()
    scope: dict[str, Any] = {"LoopLimit": TimeoutError}
    exec(writer.source(), scope)
    with pytest.raises(TimeoutError):
        scope["run"]()


def test_read_add_write_becomes_two_statements() -> None:
    program = load_program((PROGRAMS / "lanes.json").read_bytes())
    usage = FieldUsage(program)
    add = next(a for a in program.actions.values() if a.name == "I.add")
    assert len(add.body) == 48
    fused = fuse(statements_of(usage.bodies[add.id], program), usage)
    assert [type(s) for s in fused] == [Assign, RegisterWrite] * 16


def test_conditional_values_lose_their_jumps() -> None:
    program = load_program((PROGRAMS / "lanes.json").read_bytes())
    largest = next(a for a in program.actions.values() if a.name == "I.largest")
    assert any(p.op == "_jump_if_zero" for p in largest.body)
    converted = convert_ifs(largest.body)
    assert not any(p.op.startswith("_jump") for p in converted)
    assert sum(isinstance(p.args[1], ir.Op) and p.args[1].op == "?" for p in converted if p.op == "assign") == 16


def changed(path: list[Any], value: Any) -> bytes:
    """programs/copies.json with one item replaced."""
    program = json.loads((PROGRAMS / "copies.json").read_text())
    place = program
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(program).encode()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["extern_instances"], [{"name": "my_extern"}], "my_extern"),
        (["__meta__", "version"], [3, 0], "version 3.0"),
        (
            ["actions", 0, "primitives", 0],
            {"op": "frobnicate", "parameters": [], "source_info": {"filename": "a.p4", "line": 12}},
            r"primitive 'frobnicate' at a.p4\(12\)",
        ),
        (["parsers", 0, "parse_states", 0, "parser_ops", 0, "op"], "guess", "parser operation 'guess'"),
        (["pipelines", 0, "name"], "sideways", "pipeline 'sideways'"),
        (["pipelines", 0, "tables", 0, "key"], [{"match_type": "fuzzy", "target": ["order", "what"]}], "'fuzzy'"),
    ],
)
def test_unknown_constructs_are_named(path: list[Any], value: Any, message: str) -> None:
    with pytest.raises(UnsupportedProgramError, match=message):
        EmbeddedSwitch().load(changed(path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["headers"], []),
        (["pipelines", 0, "init_table"], "nowhere"),
        (["parsers", 0, "parse_states", 0, "transitions", 0, "next_state"], "nowhere"),
        (["actions"], "none"),
    ],
)
def test_malformed_json_is_an_invalid_argument(path: list[Any], value: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        EmbeddedSwitch().load(changed(path, value))
