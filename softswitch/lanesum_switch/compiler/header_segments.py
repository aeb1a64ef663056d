# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Segments of header types: the parts of a header that are a local variable each."""

from __future__ import annotations

from dataclasses import dataclass, field

from lanesum_switch.bmv2 import ir

LaneRuns = dict[str, list[tuple[str, ...]]]  # header type name -> runs of field names that are one int each


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a header type.

    Attributes:
        kind: ``raw`` (bytes), ``single`` (one field), ``shared`` (fields that share bytes), ``variable`` (a
            variable-length field) or ``lanes`` (a run of fields in one int).
        size: bytes; 0 for a variable-length field.
    """

    kind: str
    fields: tuple[ir.FieldType, ...]
    size: int


@dataclass(slots=True)
class HeaderLayout:
    """The segments of a header type.

    Attributes:
        size: bytes without the variable-length field.
        variable: name of the variable-length field, if there is one.
        lanes: segment, shift and bits of each field that is a lane, by the field's name.
    """

    type: ir.HeaderType
    segments: list[Segment]
    size: int
    variable: str | None = None
    lanes: dict[str, tuple[Segment, int, int]] = field(default_factory=dict)


def divide(kind: ir.HeaderType, used: set[str], runs: list[tuple[str, ...]]) -> HeaderLayout:
    """Divide a header type into segments; ``used`` are the fields that the program reads or writes."""
    starts = {run[0]: run for run in runs}
    segments: list[Segment] = []
    lanes: dict[str, tuple[Segment, int, int]] = {}
    variable: str | None = None
    fields = list(kind.fields)
    i = 0
    while i < len(fields):
        first = fields[i]
        if first.variable:
            variable = first.name
            segments.append(Segment("variable", (first,), 0))
            i += 1
            continue
        if first.name in starts:
            run = tuple(fields[i : i + len(starts[first.name])])
            width = first.bits
            segment = Segment("lanes", run, width * len(run) // 8)
            for position, member in enumerate(run):
                lanes[member.name] = (segment, width * (len(run) - 1 - position), width)
            segments.append(segment)
            i += len(run)
            continue
        bits, end = 0, i
        while end < len(fields) and (bits == 0 or bits % 8):
            bits += fields[end].bits
            end += 1
        group = tuple(fields[i:end])
        i = end
        if not any(f.name in used for f in group):
            previous = segments[-1] if segments else None
            if previous is not None and previous.kind == "raw":
                segments[-1] = Segment("raw", previous.fields + group, previous.size + bits // 8)
            else:
                segments.append(Segment("raw", group, bits // 8))
        else:
            segments.append(Segment("single" if len(group) == 1 else "shared", group, bits // 8))
    size = sum(s.size for s in segments)
    return HeaderLayout(kind, segments, size, variable, lanes)
