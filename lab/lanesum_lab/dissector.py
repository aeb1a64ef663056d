# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packet definition for the Wireshark dissector: ``python -m lanesum_lab.generate`` fills ``wireshark/lanesum.lua``."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from lanesum.protocol import spec
from lanesum.protocol.lanes import Combine, LaneOp

_NAMES: dict[str, type[IntEnum]] = {"kind": spec.Kind, "op": LaneOp}
_IN_HEX = ("tag",)
_BITMAPS = ("workers", "racks")
# Meaning of ``spare`` for readers of packets. The comment in P4 has what a chip has to know of it.
SPARE = (
    f"{spec.OPENING} in the opening of a session; owner's number plus {spec.FIRST_OWNER} in a scattered round; else 0"
)
_MARKS = ("certified", "scattered", "gathered")  # of a round, in its size


def packet_definition() -> str:
    """Return the constants, tables and fields of the packet definition as Lua."""
    lines = []
    for name in ("UDP_PORT", "VERSION", "UDP_BYTES", "HEADER_BYTES", "WORD_BYTES"):
        lines.append(f"local {name} = {getattr(spec, name)}")
    lines.append(f"local CONTRIBUTION = {spec.Kind.CONTRIBUTION:d}")
    lines.append(f"local UPPER = {spec.Flag.UPPER:#04x}")
    lines += [f"local {mark.upper()} = {getattr(spec, mark.upper()):#x}" for mark in _MARKS]
    sums = [op for op in LaneOp if op.shape.combine is Combine.ADD and not op.shape.lookup]
    groups = ((op, op.shape.uplink_words_per_group, op.shape.accumulator_words_per_group) for op in sums)
    lines.append(_table("CHECK_WORDS", (f"[{op:d}] = {{ codes = {own}, sums = {wide} }}" for op, own, wide in groups)))
    for name, kinds in _NAMES.items():
        lines.append(_table(name.upper(), (f"[{one.value}] = {_quoted(one.name)}" for one in kinds)))
    answers = (f"[{spec.VERSION << 4 | kind:#04x}] = true" for kind in spec.Kind if kind != spec.Kind.CONTRIBUTION)
    lines.append(_table("ANSWERS", answers))
    lines.append(
        _table(
            "FLAGS",
            (
                f'{{ name = "{flag.name}", field = "flag_{str(flag.name).lower()}", bit = {flag.value:#04x} }}'
                for flag in spec.Flag
            ),
        )
    )
    header, fields, values = [], [], []
    offset = 0
    for field in spec.HEADER:
        first, last = offset // 8, (offset + field.bits - 1) // 8
        bits = 8 * (last - first + 1)
        shift = bits - field.bits - offset % 8
        mask = f"{((1 << field.bits) - 1) << shift:#x}" if field.bits < bits else "nil"
        header.append(f'{{ name = "{field.name}", first = {first}, bytes = {bits // 8} }}')
        base = "HEX" if field.name in (*_IN_HEX, *_BITMAPS, "flags") else "DEC"
        names = field.name.upper() if field.name in _NAMES else "nil"
        meaning = _quoted(SPARE if field.name == "spare" else field.meaning)
        about = f'"lanesum.{field.name}", "{field.name}", base.{base}, {names}, {mask}, {meaning}'
        fields.append(f"{field.name} = ProtoField.uint{bits}({about})")
        values.append(f"{field.name} = {_value(first, bits, shift, field.bits)}")
        offset += field.bits
    names_of_fields = [field.name for field in spec.HEADER]
    for name in ("flags", "racks"):
        before = spec.HEADER[: names_of_fields.index(name)]
        lines.append(f"local {name.upper()}_AT = {sum(field.bits for field in before) // 8}")
    for flag in spec.Flag:
        name = str(flag.name).lower()
        about = f'"lanesum.flags.{name}", "{flag.name}", 8, nil, {flag.value:#04x}'
        fields.append(f"flag_{name} = ProtoField.bool({about})")
    fields.append('word = ProtoField.uint32("lanesum.word", "word", base.HEX)')
    fields.append('check_word = ProtoField.uint32("lanesum.check_word", "check word", base.HEX)')
    fields += [f'{x} = ProtoField.bool("lanesum.{x}", "{x} round", 32, nil, {x.upper()})' for x in _MARKS]
    lines += [_table("HEADER", header), _table("fields", fields), "lanesum.fields = fields", ""]
    lines += ["-- Return the values of the header's fields.", "local function values(buffer)"]
    lines += ["    return {", *(f"        {value}," for value in values), "    }", "end"]
    return "\n".join(lines)


def _table(name: str, rows: Iterable[str]) -> str:
    return "\n".join([f"local {name} = {{", *(f"    {row}," for row in rows), "}"])


def _value(first: int, bits: int, shift: int, width: int) -> str:
    read = f"buffer({first}, {bits // 8}):uint()"
    if shift:
        read = f"bit.rshift({read}, {shift})"
    return f"bit.band({read}, {(1 << width) - 1:#x})" if shift + width < bits else read


def _quoted(text: str) -> str:
    assert '"' not in text and "\\" not in text
    return f'"{text}"'
