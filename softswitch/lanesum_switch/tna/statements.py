# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Parser for statements and annotations of P4 text."""

from __future__ import annotations

from lanesum_switch.tna import syntax as p4
from lanesum_switch.tna.reading import Reader, Token


class Annotations:
    """Annotations of a declaration: their texts by name."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def control_name(self, name: str) -> str:
        """Name for the control plane."""
        return self.texts.get("name", name).removeprefix(".")


class StatementReader(Reader):
    """Reads the bodies of actions, controls, parser states and methods."""

    def annotations(self) -> Annotations:
        """Read optional annotations."""
        found = Annotations()
        while self.accept("@"):
            name = self.name()
            if self.is_at("(") and (inner := self.balanced("(", ")")):
                if inner[0].kind == "string":
                    found.texts[name] = inner[0].text[1:-1]
                for i, token in enumerate(inner[:-2]):
                    if token.kind == "name" and inner[i + 1].text == "=" and inner[i + 2].kind == "string":
                        found.texts[f"{name}.{token.text}"] = inner[i + 2].text[1:-1]
            elif self.is_at("["):
                self.balanced("[", "]")
        return found

    def balanced(self, opening: str, closing: str) -> list[Token]:
        """Read the tokens between a bracket and its partner."""
        self.expect(opening)
        start, depth = self.at, 1
        while depth:
            token = self.take()
            if token.kind == "end":
                self.at -= 1
                self.fail(f"{closing!r}")
            if token.kind == "sign":
                depth += (token.text == opening) - (token.text == closing)
        return self.tokens[start : self.at - 1]

    def is_variable(self) -> bool:
        """Return True if ``type name;`` or ``type name = value;`` follows, and no instantiation."""
        start = self.at
        if self.token.kind != "name":
            return False
        self.type()
        found = self.token.kind == "name"
        self.at = start
        return found

    def variable(self) -> p4.Variable:
        """Read ``type name;`` or ``type name = value;``."""
        kind = self.type()
        name = self.name()
        value = self.expression() if self.accept("=") else None
        self.expect(";")
        return p4.Variable(kind, name, value)

    def body(self) -> tuple[p4.Statement, ...]:
        """Read statements in braces."""
        self.expect("{")
        found: list[p4.Statement] = []
        while not self.accept("}"):
            found += self.statement()
        return tuple(found)

    def statement(self) -> list[p4.Statement]:
        """Read one statement; a block is its statements, an empty one is none."""
        self.annotations()
        token = self.token
        if self.is_at("{"):
            return list(self.body())
        if self.accept(";"):
            return []
        if self.accept("exit"):
            self.expect(";")
            return [p4.Exit(token.line)]
        if self.accept("return"):
            value = None if self.is_at(";") else self.expression()
            self.expect(";")
            return [p4.Return(value, token.line)]
        if self.is_at("if"):
            return [self._if()]
        if self.is_at("switch"):
            return [self._switch()]
        if self.at_type() and self.is_variable():
            return [self.variable()]
        target = self.expression()
        if self.accept("="):
            value = self.expression()
            self.expect(";")
            return [p4.AssignmentStatement(target, value, token.line)]
        if not isinstance(target, p4.CallExpression):
            self.fail("'='")
        self.expect(";")
        return [p4.CallStatement(target, token.line)]

    def _if(self) -> p4.If:
        line = self.take().line
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        then = tuple(self.statement())
        otherwise = tuple(self.statement()) if self.accept("else") else ()
        return p4.If(condition, then, otherwise, line)

    def _switch(self) -> p4.SwitchStatement:
        line = self.take().line
        self.expect("(")
        subject = self.expression()
        self.expect(")")
        self.expect("{")
        cases: list[p4.Case] = []
        labels: list[p4.Expr | None] = []
        while not self.accept("}"):
            labels.append(None if self.accept("default") else self.expression())
            self.expect(":")
            if self.is_at("{"):
                cases.append(p4.Case(tuple(labels), self.body()))
                labels = []
        return p4.SwitchStatement(subject, tuple(cases), line)
