# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Effects of statements in actions; statements and expressions that are refused by name."""

from __future__ import annotations

import pytest

from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.tna import load

from .conftest import load_text, printed
from .test_externs import BYPASS, HASH, Command

_STATEMENT = "hdr.bridge.tag = 8w1;"
_ACTION = "hdr.command.crc16 = crc16_0.get<tuple<bit<32>, bit<8>>>({ hdr.command.value, hdr.command.small });"
_BYPASSING = "hdr.command.value[31:24] = md.range;"
_AHEAD = "md.ahead = (packet.lookahead<option_t>()).value;"


def refusal(old: str, new: str) -> str:
    """Return the error of a program with another text in one place."""
    text = printed("externs")
    assert text.count(old) == 1
    with pytest.raises(UnsupportedProgramError) as caught:
        load.load_text(text.replace(old, new).encode())
    return caught.value.what


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("hdr.bridge.label = 8w1;", "hdr.bridge.label as a variable"),
        ("ops_0 = 8w1;", "ops_0 as a variable in line"),
        ("nowhere = 8w1;", "the name nowhere in line"),
        ("hdr.setValid();", "setValid of something that is no header"),
        ("invalidate(hdr.bridge.tag);", "invalidate of something else than ucast_egress_port"),
        ("hdr.bridge = 8w1;", "assignment of Number to a whole struct"),
        ("hdr.bridge = md;", "this assignment of a whole variable"),
        ("hdr.bridge[7:0] = 8w1;", "assignment to a slice of something that is no number"),
        ("hdr.bridge.tag = hdr.bridge;", "a whole struct where a number is needed"),
        ('hdr.bridge.tag = "one";', "String as a number"),
        ("hdr.bridge.tag = (port_t)md.color;", "a cast to port_t"),
        ("hdr.bridge.tag = ops_0.count(8w1);", "the value of a call that has none"),
        ("hdr.bridge.tag = launch(8w1);", "the call of launch in line"),
        (
            "hdr.bridge.tag = md.color == 8w1 ? random_0.get() : 8w0;",
            "a call that happens under a condition within an expression",
        ),
    ],
)
def test_unsupported_statement_is_refused(statement: str, message: str) -> None:
    assert refusal(_STATEMENT, statement).startswith(f"Unsupported: {message}")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("md.range = number;", "number = 8w1;", "assignment to a parameter of an action (Ingress.between)"),
        ("md.range = number;", "return;", "statement Return in line"),
        (_AHEAD, "if (hdr.option.isValid()) { }", "statement If in a parser in line"),
        (_AHEAD, "md.ahead = (packet.lookahead<option_t>()).length;", "lookahead of option_t.length"),
        (_AHEAD, "md.ahead = packet.lookahead<option_t>();", "lookahead of a struct into something that is no struct"),
        (_AHEAD, "md.ahead = packet.lookahead<option_t>() + 8w1;", "lookahead of a struct within an expression"),
        (_AHEAD, "packet.extract<bit<8>>(md.ahead);", "extract to something that is no header"),
        (
            "hdr.command.value, hdr.command.small });",
            "md.wrong });",
            "CRC Ingress.crc16 over 1 bits, which are no whole",
        ),
        ("unused = 48w0})", "unused = 47w0})", "63 bits to send by IngressDeparser.resubmit, which are no whole"),
    ],
)
def test_unsupported_text_is_refused(old: str, new: str, message: str) -> None:
    assert refusal(old, new).startswith(f"Unsupported: {message}")


def processed(command: Command, *changes: tuple[str, str]) -> bytes:
    """Return the packet that leaves a program with other texts in some places."""
    text = printed("externs")
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    (out,) = load_text(text).process(1, command.pack())
    return out.frame


@pytest.mark.parametrize(("small", "branch"), [(1, 5), (2, 6)])
def test_if_with_else_runs_one_branch(small: int, branch: int) -> None:
    statement = "if (hdr.command.small == 8w1) hdr.command.crc16 = 16w5; else hdr.command.crc16 = 16w6;"
    assert processed(Command(HASH, small=small), (_ACTION, statement))[10:12] == bytes([0, branch])


@pytest.mark.parametrize(
    "value", ["{ hdr.option.value, hdr.option.kind }", "(option_t){kind = hdr.option.value,value = hdr.option.kind}"]
)
def test_assigned_fields_are_read_before_any_is_written(value: str) -> None:
    frame = processed(Command(BYPASS, rest=b"\x40\x07tail"), (_BYPASSING, f"hdr.option = {value};"))
    assert frame[22:] == b"\x07\x40tail"


def test_header_with_assigned_values_becomes_valid() -> None:
    frame = processed(Command(BYPASS, rest=b"\0tail"), (_BYPASSING, "hdr.option = { 8w1, 8w2 };"))
    assert frame[22:] == b"\x01\x02\0tail"


def test_parameter_hides_a_name_in_its_action_only() -> None:
    changes = [
        ("action hash_2() {", "action hash_2(in bit<8> md) {"),
        (_ACTION, "hdr.command.small = md;"),
        ("hash_2();", "hash_2(8w7); hdr.command.crc16[7:0] = md.port.tag;"),
    ]
    assert processed(Command(HASH, crc16=0x1234), *changes)[1:12:10] == bytes([7, 0])
