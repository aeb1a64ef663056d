# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Recursive descent parser for types and expressions of P4 text, with the precedences of P4_16."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn, TypeVar

from lanesum.errors import LanesumError
from lanesum_switch.api import InvalidArgumentError
from lanesum_switch.bmv2.fields import MAX_BITS, MAX_NUMBER_BITS, MAX_STACK, MAX_WORDS
from lanesum_switch.tna import syntax as p4

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


T = TypeVar("T")

# From the weakest to the strongest; `>>` is two tokens, because it may also close type arguments.
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("|",),
    ("^",),
    ("&",),
    ("<<", ">>"),
    ("++", "+", "-", "|+|", "|-|"),
    ("*", "/", "%"),
)
_LEVEL_OF = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}
_TYPE_WORDS = {"bit", "int", "bool", "tuple", "error", "void", "varbit"}


class Reader:
    """A position in the tokens of a text."""

    def __init__(self, text: str) -> None:
        try:
            self.tokens = tokens(text, MAX_WORDS)
        except P4SyntaxError as error:
            raise InvalidArgumentError(error.what) from error
        self.at = 0
        self.type_names: set[str] = set()

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def is_at(self, *texts: str) -> bool:
        return self.token.kind != "string" and self.token.text in texts

    def take(self) -> Token:
        token = self.token
        self.at += 1
        return token

    def accept(self, text: str) -> bool:
        if self.is_at(text):
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        if not self.is_at(text):
            self.fail(f"{text!r}")
        return self.take()

    def name(self) -> str:
        if self.token.kind != "name":
            self.fail("a name")
        return self.take().text

    def fail(self, wanted: str) -> NoReturn:
        """Raise InvalidArgumentError: the next token is not ``wanted``."""
        found = self.token.text[:80] or "the end"
        raise InvalidArgumentError(f"Line {self.token.line} of the program has {found!r} where {wanted} was expected.")

    def many(self, read: Callable[[], T], end: str) -> list[T]:
        """Read items separated by commas, up to ``end``; a comma may follow the last one."""
        found: list[T] = []
        while not self.accept(end):
            found.append(read())
            if not self.accept(","):
                self.expect(end)
                break
        return found

    def type(self) -> p4.Type:
        found = self._plain_type()
        while self.is_at("[") and self.tokens[self.at + 1].kind == "number":
            self.take()
            found = p4.Stack(found, self.whole_number(1, MAX_STACK))
            self.expect("]")
        return found

    def whole_number(self, low: int = 0, high: int = MAX_BITS) -> int:
        """Read a number from ``low`` to ``high``."""
        if self.token.kind != "number" or not low <= self._literal()[0] <= high:
            self.fail(f"a number from {low} to {high}")
        return number_of(self.take().text)[0]

    def _literal(self) -> tuple[int, int | None, bool]:
        """Return value, width and sign of the number at the present token."""
        text = self.token.text
        try:
            value, width, signed = number_of(text) if len(text) <= MAX_NUMBER_BITS else (-1, None, False)
        except ValueError:
            value, width, signed = -1, None, False
        if value < 0 or value.bit_length() > MAX_NUMBER_BITS or not (width is None or 0 < width <= MAX_BITS):
            self.fail(f"a number of at most {MAX_NUMBER_BITS} bits and a width of 1 to {MAX_BITS}")
        return value, width, signed

    def _plain_type(self) -> p4.Type:
        word = self.name()
        if word == "bool":
            return p4.Boolean()
        if word in ("bit", "int") and self.accept("<"):
            width = self.whole_number(1)
            self.expect(">")
            return p4.Bits(width, word == "int")
        if word == "bit":
            return p4.Bits(1)
        args: tuple[p4.Type, ...] = ()
        if self.accept("<"):
            args = tuple(self.many(self.type, ">"))
        return p4.Tuple(args) if word == "tuple" else p4.NamedType(word, args)

    def at_type(self) -> bool:
        """Return True if the next token is a type keyword, or the name of a declared type."""
        return self.token.kind == "name" and (self.token.text in _TYPE_WORDS or self.token.text in self.type_names)

    def expression(self) -> p4.Expr:
        condition = self._binary(0)
        if not self.accept("?"):
            return condition
        left = self.expression()
        self.expect(":")
        return p4.Conditional(condition, left, self.expression())

    def key_set(self) -> p4.Expr:
        """Read an expression, or a set of values as in ``select`` and table entries."""
        if self.accept("default") or self.accept("_"):
            return p4.Anything()
        first = self.expression()
        if self.accept("&&&"):
            return p4.Masked(first, self.expression())
        if self.accept(".."):
            return p4.Between(first, self.expression())
        return first

    def key_sets(self) -> tuple[p4.Expr, ...]:
        """Read one key set, or several in parentheses."""
        if not self.is_at("("):
            return (self.key_set(),)
        start = self.at
        self.take()
        found = tuple(self.many(self.key_set, ")"))
        if not self.is_at(":"):  # the parenthesis was a part of one expression
            self.at = start
            return (self.key_set(),)
        return found

    def _operator(self) -> str:
        """Return the operator at the present token; another text, which is no operator, where there is none."""
        token = self.token
        if token.kind != "sign":
            return ""
        if token.text == ">":
            following = self.tokens[self.at + 1]
            if following.text == ">" and following.start == token.stop:
                return ">>"
        return token.text

    def _binary(self, weakest: int) -> p4.Expr:
        """Read an expression whose operators outside of parentheses have level ``weakest`` or a stronger one."""
        left = self._unary()
        while (level := _LEVEL_OF.get(op := self._operator(), -1)) >= weakest:
            self.at += 2 if op == ">>" else 1
            left = p4.Binary(op, left, self._binary(level + 1))
        return left

    def _unary(self) -> p4.Expr:
        if self.is_at("!", "~", "-", "+"):
            op = self.take().text
            operand = self._unary()
            if op == "+":
                return operand
            if op == "-" and isinstance(operand, p4.Number):
                return p4.Number(-operand.value, operand.width, operand.signed)
            return p4.Unary(op, operand)
        if self.is_at("("):
            ahead = self.tokens[self.at + 1]
            if ahead.kind == "name" and (ahead.text in _TYPE_WORDS or ahead.text in self.type_names):
                self.take()
                kind = self.type()
                self.expect(")")
                operand = self._unary()
                if isinstance(operand, p4.StructOf):
                    return p4.StructOf(kind, operand.fields)
                return p4.Cast(kind, operand)
        return self._postfix()

    def _postfix(self) -> p4.Expr:
        found = self._primary()
        while True:
            if self.accept("."):
                found = p4.MemberExpression(found, self.name())
            elif self.accept("["):
                index = self.expression()
                if self.accept(":"):
                    low = self.expression()
                    assert isinstance(index, p4.Number) and isinstance(low, p4.Number)
                    found = p4.Slice(found, index.value, low.value)
                else:
                    found = p4.Index(found, index)
                self.expect("]")
            elif self.is_at("("):
                line = self.take().line
                found = p4.CallExpression(found, (), tuple(self.many(self.expression, ")")), line)
            elif self.is_at("<"):
                call = self._generic_call(found)
                if call is None:
                    return found
                found = call
            else:
                return found

    def _generic_call(self, function: p4.Expr) -> p4.Expr | None:
        """Read ``function<types>(args)``; return None if the ``<`` compares."""
        start = self.at
        line = self.take().line
        try:
            types = tuple(self.many(self.type, ">"))
            self.expect("(")
        except InvalidArgumentError:
            self.at = start
            return None
        return p4.CallExpression(function, types, tuple(self.many(self.expression, ")")), line)

    def _primary(self) -> p4.Expr:
        token = self.token
        if token.kind == "number":
            literal = self._literal()
            self.take()
            return p4.Number(*literal)
        if token.kind == "string":
            self.take()
            return p4.String(token.text[1:-1])
        if self.accept("true"):
            return p4.Truth(True)
        if self.accept("false"):
            return p4.Truth(False)
        if self.accept("."):  # of the top level
            return p4.Path(self.name(), token.line)
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.accept("{"):
            return self._braces()
        if token.kind == "name":
            return p4.Path(self.take().text, token.line)
        self.fail("an expression")

    def _braces(self) -> p4.Expr:
        named = self.token.kind == "name" and self.tokens[self.at + 1].text == "="
        if not named:
            return p4.ListOf(tuple(self.many(self.expression, "}")))

        def item() -> tuple[str, p4.Expr]:
            name = self.name()
            self.expect("=")
            return name, self.expression()

        return p4.StructOf(None, tuple(self.many(item, "}")))
