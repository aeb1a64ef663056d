# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Jumps in the bodies of actions: partition into basic blocks, and if-conversion.

p4c writes conditional statements in actions as the primitives ``_jump`` and ``_jump_if_zero``, whose last argument is
the position of a primitive.
"""

from __future__ import annotations

from lanesum_switch.bmv2 import ir


def blocks_of(body: tuple[ir.Primitive, ...]) -> list[tuple[int, int]]:
    """Return the basic blocks of an action's body as (start, end) positions."""
    if not body:
        return [(0, 0)]
    leaders = {0}
    for i, primitive in enumerate(body):
        if primitive.op in ("_jump", "_jump_if_zero"):
            target = primitive.args[-1]
            assert isinstance(target, ir.Const)
            leaders.add(target.value)
            leaders.add(i + 1)
    starts = sorted(n for n in leaders if n < len(body))
    return [(s, e) for s, e in zip(starts, [*starts[1:], len(body)], strict=True)]


def convert_ifs(body: tuple[ir.Primitive, ...]) -> tuple[ir.Primitive, ...]:
    """Replace ``if (c) x = a; else x = b;`` in jumps by the assignment of a conditional value.

    p4c writes the P4 operator ``?:`` in actions as jumps over two assignments. Without them the whole action is one
    basic block.
    """
    changed = True
    while changed:
        changed = False
        for i in range(len(body) - 3):
            converted = _convert_at(body, i)
            if converted is not None:
                body = converted
                changed = True
                break
    return body


def _convert_at(body: tuple[ir.Primitive, ...], i: int) -> tuple[ir.Primitive, ...] | None:
    test, first, jump, second = body[i : i + 4]
    if (test.op, first.op, jump.op, second.op) != ("_jump_if_zero", "assign", "_jump", "assign"):
        return None
    if test.args[1] != ir.Const(i + 3) or jump.args[0] != ir.Const(i + 4) or first.args[0] != second.args[0]:
        return None
    if not isinstance(first.args[0], ir.FieldRef):
        return None
    targets = {
        p.args[-1].value
        for k, p in enumerate(body)
        if p.op in ("_jump", "_jump_if_zero") and k not in (i, i + 2) and isinstance(p.args[-1], ir.Const)
    }
    if targets & {i + 1, i + 2, i + 3}:
        return None
    condition = ir.Op("d2b", (test.args[0],))
    chosen = ir.Primitive(
        "assign", (first.args[0], ir.Op("?", (condition, first.args[1], second.args[1]))), first.place
    )
    shifted = []
    for primitive in (*body[:i], chosen, *body[i + 4 :]):
        target = primitive.args[-1] if primitive.op in ("_jump", "_jump_if_zero") else None
        if isinstance(target, ir.Const) and target.value > i:
            args = (*primitive.args[:-1], ir.Const(target.value - 3))
            primitive = ir.Primitive(primitive.op, args, primitive.place)
        shifted.append(primitive)
    return tuple(shifted)
