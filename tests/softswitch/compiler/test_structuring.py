# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Structured code of control-flow graphs."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanesum_switch.compiler.python_source import SourceWriter
from lanesum_switch.compiler.structuring import END, FlowNode, Goto, NodeKey, Structurer


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int | None]]:
    """Draw the successors of each node; most graphs have forward edges only and no cycle."""
    size = draw(st.integers(1, 12))
    cyclic = draw(st.integers(0, 4)) == 0
    graph: list[list[int | None]] = []
    for i in range(size):
        later = list(range(i + 1, size)) + ([j for j in range(size)] if cyclic else [])
        target = st.sampled_from([None, *later])
        graph.append(draw(st.lists(target, min_size=1, max_size=3)))
    return graph


def walk(graph: list[list[int | None]], choices: list[int]) -> list[int]:
    """Return the nodes visited if each visit takes the successor of ``choices``."""
    visited: list[int] = []
    at: int | None = 0
    while at is not None and len(visited) < len(choices):
        choice = choices[len(visited)]
        visited.append(at)
        at = graph[at][choice % len(graph[at])]
    return visited


@settings(max_examples=300)
@given(graph=graphs(), choices=st.lists(st.integers(0, 5), min_size=20, max_size=20))
def test_structured_graph_visits_the_same_nodes(graph: list[list[int | None]], choices: list[int]) -> None:
    writer = SourceWriter()

    def node(number: int) -> FlowNode:
        successors = graph[number]

        def emit(goto: Goto) -> None:
            writer.line(f"choice = visit({number}) % {len(successors)}")
            for i, target in enumerate(successors):
                with writer.block(f"{'elif' if i else 'if'} choice == {i}:"):
                    goto(target)

        return FlowNode(list(successors), emit)

    nodes: dict[NodeKey, FlowNode] = {number: node(number) for number in range(len(graph))}
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


def test_graph_deeper_than_python_indentation_becomes_a_loop() -> None:
    writer = SourceWriter()
    size = 150

    def node(number: int) -> FlowNode:
        following: NodeKey = number + 1 if number + 1 < size else END

        def emit(goto: Goto) -> None:
            with writer.block(f"if visit({number}):"):
                goto(following)
            with writer.block("else:"):
                goto(END)

        return FlowNode([following, END], emit)

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


def test_endless_loop_raises_loop_limit() -> None:
    writer = SourceWriter()
    with writer.block("def run():"):
        Structurer(writer, {0: FlowNode([0], lambda goto: goto(0))}, 0, "goto").write()
    scope: dict[str, Any] = {"LoopLimit": TimeoutError}
    exec(writer.source(), scope)
    with pytest.raises(TimeoutError):
        scope["run"]()
