# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Parsing of simplified P4, and reduction of the compiler's output."""

from __future__ import annotations

import pytest

from lanesum_switch.tna import syntax as p4
from lanesum_switch.tna.parse import parse
from lanesum_switch.tna.reading import P4SyntaxError, Reader, number_of, tokens
from lanesum_switch.tna.reduce import COMMENT, reduce

from .conftest import printed

PROGRAMS = ("sum", "sum-2", "externs", "twice")


def expression(text: str, *type_names: str) -> p4.Expr:
    reader = Reader(text)
    reader.type_names.update(type_names)
    found = reader.expression()
    assert reader.token.kind == "end"
    return found


def test_text_invalid_or_too_long_is_refused() -> None:
    with pytest.raises(P4SyntaxError, match="Line 2 of the program has '`', which is no P4"):
        tokens("a b\n`c")
    with pytest.raises(P4SyntaxError, match="more than 2 words and signs"):
        tokens("a b c", 2)
    assert [one.kind for one in tokens("a b", 2)] == ["name", "name", "end"]


A, B, C = (p4.Path(name, 1) for name in "abc")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a & b == c", p4.Binary("==", p4.Binary("&", A, B), C)),
        ("a | b ^ c", p4.Binary("|", A, p4.Binary("^", B, C))),
        ("a - b - c", p4.Binary("-", p4.Binary("-", A, B), C)),
        ("a >> b", p4.Binary(">>", A, B)),
        ("a > b", p4.Binary(">", A, B)),
        ("a ++ b << c", p4.Binary("<<", p4.Binary("++", A, B), C)),
        ("!a || b && c", p4.Binary("||", p4.Unary("!", A), p4.Binary("&&", B, C))),
        ("a ? b : c", p4.Conditional(A, B, C)),
        ("(a)[7:0]", p4.Slice(A, 7, 0)),
        ("(bit<8>)a", p4.Cast(p4.Bits(8), A)),
        ("(t)a", p4.Cast(p4.NamedType("t"), A)),
        ("a.b<tuple<bit<8>>>(c)", p4.CallExpression(p4.MemberExpression(A, "b"), (p4.Tuple((p4.Bits(8),)),), (C,), 1)),
        ("a < b", p4.Binary("<", A, B)),
        ("-8s3", p4.Number(-3, 8, True)),
        ("{ a, b }", p4.ListOf((A, B))),
        ("(t){x = a}", p4.StructOf(p4.NamedType("t"), (("x", A),))),
    ],
)
def test_expressions(text: str, found: p4.Expr) -> None:
    assert expression(text, "t") == found


@pytest.mark.parametrize(
    ("text", "found"),
    [("8w0x1f", (31, 8, False)), ("16s10", (10, 16, True)), ("0b101", (5, None, False)), ("1_000", (1000, None, False)),
     ("007", (7, None, False))],
)  # fmt: skip
def test_numbers(text: str, found: tuple[int, int | None, bool]) -> None:
    assert number_of(text) == found


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_has_its_parts(name: str) -> None:
    program = parse(printed(name))
    assert program.architecture == ("T2NA" if name.endswith("-2") else "TNA")
    assert [block.kind for block in program.blocks.values()] == ["parser", "control", "control"] * 2
    assert "main" in program.instances
    ingress = next(block for block in program.blocks.values() if block.name == "Ingress")
    assert all(table.control_name.startswith("Ingress.") for table in ingress.tables.values())


@pytest.mark.parametrize("name", PROGRAMS)
def test_reducing_keeps_the_program(name: str) -> None:
    text = printed(name)
    assert text.startswith(COMMENT)
    extern = "extern packet_in {\n void extract<T>(out T hdr);\n}\n"
    kind = '@deprecated("no; { more") control AnyT<H>(inout H hdr);\n'
    assert reduce(extern + kind + text) == text
