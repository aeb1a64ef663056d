# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tokens of P4 text."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from lanesum.errors import LanesumError

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
  | (?P<number>\d+[ws](?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|[0-9_]+)|0[xX][0-9a-fA-F_]+|0[bB][01_]+|\d[\d_]*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<sign>&&&|\.\.|\|\+\||\|-\||\+\+|<<|&&|\|\||==|!=|<=|>=|[-+*/%<>=!~&|^?:;,.(){}\[\]@])
    """,
    re.VERBOSE | re.DOTALL,
)


class P4SyntaxError(LanesumError):
    """A text that is not P4; the message names the line."""


class Token(NamedTuple):
    """A token. ``kind``: number, name, string, sign or end. ``start`` and ``stop`` are offsets in the text."""

    kind: str
    text: str
    line: int
    start: int
    stop: int


def tokens(text: str, max_tokens: float = math.inf) -> list[Token]:
    """Return all tokens, followed by one of kind ``end``. Raises P4SyntaxError, also for more than ``max_tokens``."""
    found: list[Token] = []
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise P4SyntaxError(f"Line {line} of the program has {text[position]!r}, which is no P4.")
        kind = match.lastgroup or ""
        end = match.end()
        if kind != "space":
            if len(found) >= max_tokens:
                raise P4SyntaxError(f"The program has more than {max_tokens} words and signs.")
            found.append(Token(kind, match.group(), line, position, end))
        if kind in ("space", "string"):  # no other token has several lines
            line += text.count("\n", position, end)
        position = end
    found.append(Token("end", "", line, position, position))
    return found


def number_of(text: str) -> tuple[int, int | None, bool]:
    """Return (value, width, signed) of a literal such as ``8w0x1f``; width None if it has none."""
    match = re.fullmatch(r"(?:(\d+)([ws]))?(.+)", text)
    assert match is not None
    width, sign, digits = match.groups()
    prefixed = len(digits) > 1 and digits[1] in "xXbBoO"
    value = int(digits.replace("_", ""), 0 if prefixed else 10)
    return value, int(width) if width else None, sign == "s"
