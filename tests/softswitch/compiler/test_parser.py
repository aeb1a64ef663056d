# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Parser and header operations, through programs/parsing.p4.

The program prepends (error, seen, note) to every packet.
"""

from __future__ import annotations

import json

import pytest

from lanesum_switch.dataplane import EmbeddedSwitch
from tests.softswitch.conftest import PROGRAMS, Load

TOO_SHORT, STACK_FULL, BAD_MAGIC, HEADER_TOO_SHORT = 1, 2, 3, 4


LABELS, OPTIONS, SHORT, LONG = 1, 2, 4, 8


@pytest.fixture
def switch(load: Load) -> EmbeddedSwitch:
    return load("parsing")


def send(switch: EmbeddedSwitch, command: int, rest: str) -> tuple[int, int, int, str]:
    """Process a packet; return (error, seen, note, hexadecimal rest after the start header)."""
    frame = bytes([0x4C, command]) + bytes.fromhex(rest)
    (out,) = switch.process(0, frame)
    assert switch.counts.program_errors == 0
    assert out.frame[4:6] == frame[:2]
    return out.frame[0], out.frame[1], int.from_bytes(out.frame[2:4], "big"), out.frame[6:].hex()


def label(value: int, bottom: int, spare: int = 0) -> str:
    """Return a label of the stack in hexadecimal."""
    return f"{value << 4 | spare << 1 | bottom:06x}"


def test_header_stack_is_extracted_by_loop(switch: EmbeddedSwitch) -> None:
    stack = label(1, 0) + label(2, 0) + label(3, 1)
    assert send(switch, 1, stack + "abcd") == (0, LABELS, 0, stack + "abcd")
    assert send(switch, 1, label(1, 1) + "abcd") == (0, LABELS, 0, label(1, 1) + "abcd")


def test_stack_overflow_keeps_extracted_headers(switch: EmbeddedSwitch) -> None:
    stack = label(1, 0) * 4
    assert send(switch, 1, stack) == (STACK_FULL, LABELS, 0, stack)
    assert switch.counts.parser_errors == 1


def test_stack_push_pop_and_dynamic_index(switch: EmbeddedSwitch) -> None:
    assert send(switch, 1, label(0xFFFFF, 0) + label(2, 1))[3] == label(2, 1)
    assert send(switch, 1, label(0xFFFFE, 1) + "aa")[3] == label(0x12345, 0) + label(0xFFFFE, 1) + "aa"
    full = label(0xFFFFE, 0) + label(2, 0) + label(3, 1)
    assert send(switch, 1, full)[3] == label(0x12345, 0) + label(0xFFFFE, 0) + label(2, 0)
    two = label(0xFFFFD, 0, spare=1) + label(2, 1)
    assert send(switch, 1, two)[3] == label(0xFFFFD, 0, spare=1) + label(0x54321, 1)
    outside = label(0xFFFFD, 1, spare=5)
    assert send(switch, 1, outside)[3] == outside
    assert send(switch, 1, label(0xFFFFC, 1))[3] == label(0xFFFFC, 1) * 2


def test_variable_length_field_is_bounded_by_its_maximum(switch: EmbeddedSwitch) -> None:
    assert send(switch, 2, "03 aabbcc 10 ee") == (0, OPTIONS, 0, "03aabbcc11ee")
    assert send(switch, 2, "00 10") == (0, OPTIONS, 0, "0011")
    assert send(switch, 2, "03 aabb") == (TOO_SHORT, 0, 0, "03aabb")
    assert send(switch, 2, "09" + "00" * 20)[0] == HEADER_TOO_SHORT


def test_union_has_one_valid_member(switch: EmbeddedSwitch) -> None:
    assert send(switch, 3, "01 ff") == (0, SHORT, 0, "01ff")
    assert send(switch, 3, "f1020304") == (0, LONG, 0, "f1020304")
    assert send(switch, 3, "05") == (0, SHORT | LONG, 0, "aabbccdd")


def test_verify_advance_masks_and_value_sets(switch: EmbeddedSwitch) -> None:
    (out,) = switch.process(0, bytes([0x4D, 1, 2, 3]))
    assert out.frame == bytes([BAD_MAGIC, 0, 0, 0, 0x4D, 1, 2, 3])
    assert send(switch, 4, "00112233") == (0, 0, 0x5C1B, "33")
    assert send(switch, 4, "0011") == (TOO_SHORT, 0, 0, "0011")
    assert send(switch, 0x8F, "") == (0, 0, 0x3A5C, "")
    assert send(switch, 0x42, "") == (0, 0, 0, "")
    switch.set_value_set("P.known", [0x42])
    assert send(switch, 0x42, "") == (0, 0, 0x5E75, "")


def test_packet_shorter_than_first_header_is_too_short(switch: EmbeddedSwitch) -> None:
    (out,) = switch.process(0, b"\x4c")
    assert out.frame == bytes([TOO_SHORT, 0, 0, 0, 0x4C])


@pytest.mark.parametrize("selects", [True, False], ids=["select", "default-alone"])
@pytest.mark.parametrize(("command", "labels"), [(3, ""), (1, label(7, 1))], ids=["constant-offset", "after-loop"])
def test_select_by_lookahead_needs_its_bits(selects: bool, command: int, labels: str) -> None:
    """P4_16 specification, section 12.8.3; BMv2, ``ParseState::find_next_state``."""
    program = json.loads((PROGRAMS / "parsing.json").read_text())
    states = {state["name"]: state for state in program["parsers"][0]["parse_states"]}
    states["labels"]["transitions"][1]["next_state"] = "either"
    short = {"type": "hexstr", "value": "0x000102", "mask": None, "next_state": "short"}
    accept = {"type": "default", "value": None, "mask": None, "next_state": None}
    states["either"] |= {
        "parser_ops": [],
        "transition_key": [{"type": "lookahead", "value": [4, 20]}],
        "transitions": [short, accept] if selects else [accept],
    }
    switch = EmbeddedSwitch()
    switch.load(json.dumps(program).encode())
    seen = LABELS if labels else 0
    matched = seen | SHORT if selects else seen

    assert send(switch, command, labels + "f00102aa") == (0, matched, 0, labels + "f00102aa")
    assert send(switch, command, labels + "f00103") == (0, seen, 0, labels + "f00103")
    assert switch.counts.parser_errors == 0
    for rest in ("", "f0", "f001", "0000"):
        assert send(switch, command, labels + rest) == (TOO_SHORT, seen, 0, labels + rest)
    assert switch.counts.parser_errors == 4


def test_parser_loop_without_extract_ends(load: Load) -> None:
    switch = load("loop")
    assert switch.process(0, b"\x02x")[0].frame == b"\x02x"
    assert switch.process(0, b"\x01x")[0].frame == b"\xeex"
    assert switch.counts.parser_errors == 1


def test_core_errors_missing_in_program_get_numbers() -> None:
    program = json.loads((PROGRAMS / "parsing.json").read_text())
    assert program["errors"].pop(1) == ["PacketTooShort", 1]
    program["pipelines"][0]["conditionals"][0]["expression"]["value"]["right"]["value"] = "0x8"  # after BadMagic
    switch = EmbeddedSwitch()
    switch.load(json.dumps(program).encode())
    assert send(switch, 1, "0000")[0] == TOO_SHORT


@pytest.mark.parametrize(("op", "seen_where_equal", "seen_otherwise"), [("==", OPTIONS, 0), ("!=", 0, OPTIONS)])
def test_variable_length_fields_compare_as_numbers(op: str, seen_where_equal: int, seen_otherwise: int) -> None:
    program = json.loads((PROGRAMS / "parsing.json").read_text())
    program["headers"].append({"name": "never", "id": 99, "header_type": "options_t", "metadata": False})
    (condition,) = (one for one in program["pipelines"][0]["conditionals"] if one["name"] == "node_22")
    left, right = ({"type": "field", "value": [header, "data"]} for header in ("options", "never"))
    condition["expression"] = {"type": "expression", "value": {"op": op, "left": left, "right": right}}
    switch = EmbeddedSwitch()
    switch.load(json.dumps(program).encode())
    assert send(switch, 2, "02000010")[1] & OPTIONS == seen_where_equal
    assert send(switch, 2, "02000110")[1] & OPTIONS == seen_otherwise
