# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One access per register and pass, and the limits of a stateful ALU."""

from __future__ import annotations

import re

import pytest

from lanesum_fabric.tofino.chips import TOFINO_1, TOFINO_2, Chip
from lanesum_switch.api import NotFoundError, PacketOut, UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.tna import syntax as p4
from lanesum_switch.tna import values
from lanesum_switch.tna.registers import compare
from lanesum_switch.tna.values import Typed

from .conftest import Load, load_text, printed


def test_second_access_in_a_pass_drops_the_packet(load: Load, caplog: pytest.LogCaptureFixture) -> None:
    switch = load("twice")
    assert switch.process(1, bytes([4, 0, 0, 7])) == [PacketOut(1, bytes([4, 0, 0, 7]))]
    assert switch.process(1, bytes([0, 4, 0, 0])) == [PacketOut(1, bytes([0, 4, 0, 7]))]
    assert switch.process(1, bytes([4, 5, 0, 7])) == []
    assert switch.counts.program_errors == 1
    assert re.search(
        r"Ingress\.look accesses register Ingress\.cells, which Ingress\.add accessed for the same packet", caplog.text
    )
    # Another packet is another access; the first access of the packet before was executed.
    assert switch.process(1, bytes([4, 0, 0, 1])) == [PacketOut(1, bytes([4, 0, 0, 15]))]


_BODY = "            value = value + hdr.request.value;\n            after = value;\n"


def with_body(body: str, cell: str = "bit<16>") -> str:
    """Return the program with another body of its RegisterAction ``add``."""
    text = printed("twice")
    assert _BODY in text
    return text.replace(_BODY, body).replace("inout bit<16> value", f"inout {cell} value")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("value = value * 16w3;", r"operators \*"),
        (
            "if (value == 16w1) { after = 16w1; } else if (value == 16w2) { after = 16w2; }"
            " else if (value == 16w3) { after = 16w3; }",
            "3 comparisons, it has 2",
        ),
        ("value = value + 16w1; value = value | 16w2; value = value - 16w3;", "3 updates of the cell, it has 2"),
        (
            "value = value + (hdr.request.value | (bit<16>)hdr.request.first) + (bit<16>)hdr.request.second;",
            "3 fields of the packet",
        ),
    ],
)
def test_more_than_a_stateful_alu_is_refused(body: str, problem: str) -> None:
    with pytest.raises(UnsupportedProgramError, match=f"Ingress.add is more than a stateful ALU.*{problem}"):
        load_text(with_body(body))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("value = cells_0.read(8w1);", "a call with an effect in a RegisterAction"),
        ("exit;", r"such a statement in a RegisterAction in line \d+ of the program"),
        ("hdr.request.value = 16w1;", "an assignment to a field of the packet in a RegisterAction"),
    ],
)
def test_load_unsupported_body_of_register_action_is_refused(body: str, message: str) -> None:
    with pytest.raises(UnsupportedProgramError, match=rf"Unsupported: {message} \(Ingress\.add\)"):
        load_text(with_body(body))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("32w256", "SIZE", r"the size of Ingress\.cells is no number"),
        ("Register<bit<16>, bit<8>>", "Register<cell_t, bit<8>>", r"register Ingress\.cells with cells of type cell_t"),
        (">(cells_0) add_0", ">(other) add_0", r"RegisterAction Ingress\.add without a register"),
        ("void apply(", "void overflow(", r"Unsupported: RegisterAction Ingress\.add with overflow\."),
    ],
)
def test_load_unsupported_register_is_refused(old: str, new: str, message: str) -> None:
    text = printed("twice")
    assert old in text
    with pytest.raises(UnsupportedProgramError, match=message):
        load_text(text.replace(old, new))


def test_access_to_register_of_no_pipe_is_refused(load: Load) -> None:
    switch = load("twice")
    with pytest.raises(NotFoundError, match="There is no pipe 4: expected 0 to 3"):
        switch.read_register("Ingress.cells", 0, pipe=4)
    with pytest.raises(NotFoundError, match=r"The program has no register Ingress\.rows"):
        switch.read_register("Ingress.rows", 0)


def run(body: str, cell: int, value: int) -> tuple[int, int]:
    """Return (cell, result) after ``body`` ran on a cell with a value in the packet."""
    switch = load_text(with_body(body))
    switch.write_register("Ingress.cells", 4, cell)
    (out,) = switch.process(1, bytes([4, 0]) + value.to_bytes(2, "big"))
    return switch.read_register("Ingress.cells", 4), int.from_bytes(out.frame[2:], "big")


@pytest.mark.parametrize("value", [0, 1, 7, 0xFFFF])
@pytest.mark.parametrize("cell", [0, 1, 6, 7, 8, 0xFFFE, 0xFFFF])
def test_bodies_do_what_they_say(cell: int, value: int) -> None:
    full = 0xFFFF
    assert run("after = value; value = hdr.request.value;", cell, value) == (value, cell)
    more, less = min(cell + value, full), max(cell - value, 0)
    assert run("value = value |+| hdr.request.value; after = value;", cell, value) == (more, more)
    assert run("value = value |-| hdr.request.value; after = value;", cell, value) == (less, less)
    before = (cell - 1) & full
    assert run("value = value - 16w1; after = ~value;", cell, value) == (before, before ^ full)
    assert run("value = min<bit<16>>(value, hdr.request.value); after = value;", cell, value)[0] == min(cell, value)


@pytest.mark.parametrize(("cell", "value"), [(5, 6), (6, 7), (6, 6), (7, 6), (0xFFFF, 6)])
def test_branches_choose_cell_and_result(cell: int, value: int) -> None:
    body = (
        "if (value < hdr.request.value && value != 16w6) { value = hdr.request.value; after = 16w1; }"
        " else { value = value + 16w1; after = value; }"
    )
    counted = (cell + 1) & 0xFFFF
    assert run(body, cell, value) == ((value, 1) if cell < value and cell != 6 else (counted, counted))


def test_comparison_and_its_opposite_are_one() -> None:
    first = "if (value == 16w5 && (int<16>)(hdr.request.value - value) > 16s0) { value = hdr.request.value; }"
    assert run(first, 5, 0x8004)[0] == 0x8004  # the difference counts, modulo 2**16
    assert run(first, 5, 0x8005)[0] == 5
    assert run(first.replace("value = hdr", "after = value; value = hdr"), 5, 6) == (6, 5)
    both = "if (value == 16w5 && value >= hdr.request.value) { after = 16w1; }"
    both += " else if (value != 16w5 || value < hdr.request.value) { after = 16w2; }"
    assert run(both, 5, 5) == (5, 1)
    assert run(both, 5, 6) == (5, 2)


def test_signed_cells_compare_as_signed() -> None:
    body = "if ((int<16>)value < (int<16>)hdr.request.value) { value = hdr.request.value; } after = value;"
    assert run(body, 0xFFFF, 1) == (1, 1)
    assert run(body, 1, 0xFFFF) == (1, 1)


@pytest.mark.parametrize(
    ("condition", "cell", "value", "holds"),
    [
        # Equality extends by zeros, and the constant by its sign.
        ("(int<16>)value == -16s1", 0xFFFF, 0, False),
        ("(int<16>)value != -16s1", 0xFFFF, 0, True),
        ("value == 16w0xFFFF", 0xFFFF, 0, False),
        ("value == 16w0x7FFF", 0x7FFF, 0, True),
        ("value == hdr.request.value", 0xFFFF, 0xFFFF, True),
        # The sign counts in ordered comparisons of signed numbers.
        ("(int<16>)value < 16s0", 0xFFFF, 0, True),
        ("(int<16>)value < 16s0", 0x7FFF, 0, False),
        ("(int<16>)value <= -16s1", 0xFFFF, 0, True),
        # A constant has as many bits as the register: 32768 on the other side is -32768.
        ("(int<16>)value >= -16s32768", 0x8000, 0, False),
        # Sums do not wrap.
        ("value + 16w1 >= hdr.request.value", 0xFFFF, 5, True),
        ("value - 16w1 < hdr.request.value", 0, 5, True),
        # The sign of a difference does.
        ("(int<16>)(hdr.request.value - value) > 16s0", 0xFFFF, 1, True),
        ("(int<16>)(hdr.request.value - value) > 16s0", 1, 0xFFFF, False),
    ],
)
def test_comparison_is_that_of_the_chip(condition: str, cell: int, value: int, holds: bool) -> None:
    body = f"after = 16w0; if ({condition}) {{ after = 16w1; }}"
    assert run(body, cell, value) == (cell, int(holds))


@pytest.mark.parametrize(("chip", "side"), [(TOFINO_1, 0), (TOFINO_2, 1)], ids=["Tofino 1", "Tofino 2"])
def test_large_constant_has_more_bits_on_tofino_2(chip: Chip, side: int) -> None:
    """0xFFFF on the right is -0xFFFF on the left, which 16 bits hold as 1."""
    kind = p4.Bits(16)
    found = compare("==", Typed(ir.FieldRef("cell", ""), kind), Typed(ir.Const(0xFFFF), kind), kind.width, chip)
    cell = values.cut(ir.FieldRef("cell", ""), kind)
    assert found.args == ((ir.Op("+", (cell, ir.Const(1))), ir.Const(0)), (cell, ir.Const(0xFFFF)))[side]


def test_cell_of_two_numbers() -> None:
    text = printed("twice")
    body = (
        "if (value.low == hdr.request.value) { value.high = value.high + 16w1; }"
        " else { value.low = hdr.request.value; value.high = 16w1; } after = value.high;"
    )
    text = text.replace(_BODY, body).replace("inout bit<16> value", "inout pair_t value", 1)
    text = text.replace("            after = value;\n", "            after = value.low;\n").replace(
        "inout bit<16> value", "inout pair_t value"
    )
    text = text.replace("Register<bit<16>, bit<8>>(32w256)", "Register<pair_t, bit<8>>(32w256, {16w7, 16w9})")
    text = text.replace("RegisterAction<bit<16>,", "RegisterAction<pair_t,")
    switch = load_text("struct pair_t { bit<16> low; bit<16> high; }\n" + text)
    assert switch.read_register("Ingress.cells.low", 200) == 7
    results = [switch.process(1, bytes([4, 0, 0, value]))[0].frame[3] for value in (7, 7, 8, 8, 7)]
    assert results == [10, 11, 1, 2, 1]
    assert switch.process(1, bytes([0, 4, 0, 0]))[0].frame[3] == 7
