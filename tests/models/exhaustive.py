# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Breadth-first search over all states of a small system, whose steps may call the code itself."""

from __future__ import annotations

import collections
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)
MAX_STATES = 200_000


@dataclass
class Graph(Generic[S]):
    """All states that are reachable from the first one.

    Attributes:
        before: the states from which a step leads to a state.
    """

    before: dict[S, list[S]] = field(default_factory=dict)

    def without_way_to(self, is_goal: Callable[[S], bool]) -> list[S]:
        """Return the states from which no sequence of steps leads to a goal."""
        found = {state for state in self.before if is_goal(state)}
        queue = collections.deque(found)
        while queue:
            new = [state for state in self.before[queue.popleft()] if state not in found]
            found.update(new)
            queue.extend(new)
        return [state for state in self.before if state not in found]


def explore(first: S, steps: Callable[[S], Iterable[S]]) -> Graph[S]:
    """Visit every reachable state once. ``steps`` raises AssertionError where a promise is broken."""
    graph: Graph[S] = Graph({first: []})
    queue = collections.deque([first])
    while queue:
        state = queue.popleft()
        for after in steps(state):
            if after not in graph.before:
                graph.before[after] = []
                queue.append(after)
            graph.before[after].append(state)
        assert len(graph.before) <= MAX_STATES, "the search is not complete"
    return graph
