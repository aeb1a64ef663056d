# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Python source text with indentation, and the objects that it refers to by name; refusals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lanesum_switch.api import UnsupportedProgramError

_MAX_HINT = 64  # characters of a program's name in an identifier
MAX_SOURCE = 1 << 20  # characters of generated code; 365,580 for the largest committed program, without vectors
MAX_SOURCE_WORDS = 80_000  # names, numbers and signs, at most 560 bytes each in Python's tree; 65,308 as above
_WORD = re.compile(r"\w+|[^\w\s]")


def check_source(source: str) -> None:
    """Raise UnsupportedProgramError for more generated code than a program may have."""
    check_size(len(source))
    if sum(1 for _ in _WORD.finditer(source)) > MAX_SOURCE_WORDS:
        raise UnsupportedProgramError(f"The program needs more than {MAX_SOURCE_WORDS} words of generated code.")


def check_size(size: int) -> None:
    """Raise UnsupportedProgramError for a longer text than generated code may have."""
    if size > MAX_SOURCE:
        raise UnsupportedProgramError(f"The program needs more than {MAX_SOURCE} characters of generated code.")


class SourceWriter:
    """Collects source lines."""

    def __init__(self, depth: int = 0) -> None:
        self.lines: list[str] = []
        self.depth = depth
        self.max_depth = depth
        self._size = 0

    def line(self, text: str) -> None:
        """Append a line at the present indentation. Raises UnsupportedProgramError if the text becomes too long."""
        self._size += self.depth + len(text) + 1
        if self._size > MAX_SOURCE:
            check_size(self._size)
        self.lines.append(" " * self.depth + text)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Write a header and indent the lines that follow; an empty block gets ``pass``."""
        self.line(header)
        self.depth += 1
        self.max_depth = max(self.max_depth, self.depth)
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.line("pass")
        self.depth -= 1

    def source(self) -> str:
        """Return the text."""
        return "\n".join(self.lines) + "\n"


class BoundNames:
    """Unique Python identifiers, and the objects that are bound to them in the namespace of the generated code."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.bound: dict[str, Any] = {}
        self._constants: dict[Any, str] = {}

    def fresh(self, hint: str) -> str:
        """Return an unused identifier that begins like ``hint``."""
        base = re.sub(r"[^0-9A-Za-z_]+", "_", hint).strip("_")[:_MAX_HINT] or "x"
        if base[0].isdigit():
            base = "_" + base
        name, number = base, 1
        while name in self.used:
            number += 1
            name = f"{base}_{number}"
        self.used.add(name)
        return name

    def bind(self, hint: str, value: Any) -> str:
        """Bind ``value`` to an unused identifier and return the identifier."""
        name = self.fresh(hint)
        self.bound[name] = value
        return name

    def constant(self, hint: str, key: Any, value: Any) -> str:
        """Bind ``value`` once for each ``key`` and return the identifier."""
        if key not in self._constants:
            self._constants[key] = self.bind(hint, value)
        return self._constants[key]


_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, StopIteration, SyntaxError, TypeError,
    ValueError,
)  # fmt: skip


@contextmanager
def typed_refusal() -> Iterator[None]:
    """Raise UnsupportedProgramError for an error of a pass over a program that validation let through.

    The switch then keeps its previous program, and the controller gets a status instead of a broken call.
    """
    try:
        yield
    except _ERRORS as error:
        raise UnsupportedProgramError(
            f"The program cannot be compiled: {type(error).__name__}: {str(error)[:200]}.",
            "Compile it again with p4c; if that does not help, report it with the program.",
        ) from error
