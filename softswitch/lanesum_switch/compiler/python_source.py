# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Lines of Python source with indentation, and the constants that the source refers to by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class SourceWriter:
    """Collects source lines; ``block`` indents."""

    def __init__(self, depth: int = 0) -> None:
        self.lines: list[str] = []
        self.depth = depth
        self.deepest = depth

    def line(self, text: str) -> None:
        self.lines.append(" " * self.depth + text)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """An indented block; ``pass`` is added where nothing was written into it."""
        self.line(header)
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.line("pass")
        self.depth -= 1

    def source(self) -> str:
        return "\n".join(self.lines) + "\n"


class Names:
    """Unique Python identifiers, and the objects that the generated code gets under them."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.bound: dict[str, Any] = {}
        self._constants: dict[Any, str] = {}

    def fresh(self, hint: str) -> str:
        """An identifier close to ``hint`` that nothing else has."""
        base = re.sub(r"\W+", "_", hint).strip("_") or "x"
        if base[0].isdigit():
            base = "_" + base
        name, number = base, 1
        while name in self.used:
            number += 1
            name = f"{base}_{number}"
        self.used.add(name)
        return name

    def bind(self, hint: str, value: Any) -> str:
        """A fresh name under which the generated code sees ``value``."""
        name = self.fresh(hint)
        self.bound[name] = value
        return name

    def constant(self, hint: str, key: Any, value: Any) -> str:
        """Like ``bind``, but one name per ``key``."""
        if key not in self._constants:
            self._constants[key] = self.bind(hint, value)
        return self._constants[key]
