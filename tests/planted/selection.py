# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Choice of the tests that can catch a bug: those that call the function which contains it."""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
_DEFAULT_S = 0.05


def enclosing(source: str, line: int) -> list[Function | ast.ClassDef]:
    """Return the functions and classes around a line, the outermost first."""
    found: list[Function | ast.ClassDef] = []
    nodes: Iterable[ast.AST] = ast.parse(source).body
    while nodes:
        inner: list[ast.AST] = []
        for node in nodes:
            if isinstance(node, ast.stmt | ast.ExceptHandler) and first_line(node) <= line <= (node.end_lineno or 0):
                if isinstance(node, Function | ast.ClassDef):
                    found.append(node)
                inner = list(ast.iter_child_nodes(node))
                break
        nodes = inner
    return found


def first_line(node: ast.stmt | ast.ExceptHandler) -> int:
    """Return the first line of a statement, with its decorators."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def key(file: str, nodes: Sequence[Function | ast.ClassDef]) -> str | None:
    """Return the innermost of the nodes as in the recorded calls; None if it is no function."""
    if not nodes or isinstance(nodes[-1], ast.ClassDef):
        return None
    parts = [f"{one.name}.<locals>" if isinstance(one, Function) else one.name for one in nodes[:-1]]
    return f"{file}:{'.'.join([*parts, nodes[-1].name])}"


def of_mirrors(file: str, known: Iterable[str]) -> list[str]:
    """Return the known tests of files named like a module: calls in processes of a fixture are not recorded."""
    path = Path(file)
    return [
        test
        for test in known
        for tests in [Path(test.partition("::")[0])]
        if f"{tests.stem}_".startswith(f"test_{path.stem}_") and tests.parts[1:-1] == (path.parts[0], *path.parts[2:-1])
    ]


@dataclass(slots=True)
class Calls:
    """Recorded calls.

    Attributes:
        tests: tests that call each function.
        files: test files that call it for all of their tests: in set-up, or in a child process.
        cost: processor seconds of each test.
        breadth: number of functions that a test calls.
    """

    tests: dict[str, set[str]]
    files: dict[str, set[str]]
    cost: dict[str, float]
    breadth: dict[str, int]

    @classmethod
    def read(cls, path: Path) -> Calls:
        """Read the output of :mod:`tests.planted.calls`."""
        calls = cls(defaultdict(set), defaultdict(set), defaultdict(lambda: _DEFAULT_S), defaultdict(int))
        for line in path.open():
            test, stage, names, *cost = json.loads(line)
            if not test:
                continue
            for name in names:
                calls.tests[name].add(test)
                if stage != "call":
                    calls.files[name].add(test.partition("::")[0])
            if stage == "call":
                calls.breadth[test] += len(names)
            if cost:
                calls.cost[test] = cost[0]
        return calls

    def of_function(self, name: str, known: Iterable[str]) -> Iterator[str]:
        """Yield the known tests that call a function, or that may use its effect."""
        tests, files = self.tests.get(name, set()), self.files.get(name, set())
        for test in known:
            if test in tests or test.partition("::")[0] in files:
                yield test

    def of_module(self, file: str, known: Iterable[str]) -> list[str]:
        """Return the known tests that call any function of a module."""
        names = [name for name in self.tests if name.partition(":")[0] == file]
        found = set().union(*(self.tests[name] for name in names)) if names else set()
        return [test for test in known if test in found]

    def ordered(self, tests: Iterable[str], file: str, name: str) -> dict[str, list[str]]:
        """Return the tests of a bug by test file, in the order in which they are likely to catch it.

        Tests that share words with its name come first, then cheap ones that call few functions. Files named like the
        module have an advantage.
        """
        words = {word for word in re.findall(r"[a-z]{4,}", name.lower())}
        by_file: dict[str, list[str]] = defaultdict(list)
        shared: dict[str, int] = {}
        for test in tests:
            path, _, own = test.partition("::")
            by_file[path].append(test)
            shared[test] = sum(word in own for word in words)

        def rank(test: str) -> tuple[int, bool, int, float]:
            return -shared[test], self.cost[test] > 1, self.breadth[test], self.cost[test]

        def rank_of_file(path: str) -> tuple[int, bool, int, float]:
            first, *others = rank(by_file[path][0])
            return first - 2 * (Path(file).stem in path), *others  # type: ignore[return-value]

        for found in by_file.values():
            found.sort(key=rank)
        return {path: by_file[path] for path in sorted(by_file, key=rank_of_file)}
