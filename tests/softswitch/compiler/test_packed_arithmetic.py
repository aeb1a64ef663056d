# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on packed lanes against plain Python per lane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanesum_switch.compiler.packed_arithmetic import PackedArithmetic, VectorShape
from lanesum_switch.compiler.python_source import BoundNames, SourceWriter

Emit = Callable[[PackedArithmetic, VectorShape], str]


def evaluate(emit: Emit, shape: VectorShape, x: list[int], y: list[int]) -> list[int]:
    """Run the code that ``emit`` writes for lanes x and y; return the lanes of the result."""
    names, writer = BoundNames(), SourceWriter()
    names.used |= {"x", "y"}
    result = emit(PackedArithmetic(names, writer), shape)
    scope = {**names.bound, "x": shape.pack(x), "y": shape.pack(y)}
    exec(writer.source() + f"result = {result}\n", scope)
    number = scope["result"]
    assert isinstance(number, int)
    assert 0 <= number < 1 << shape.lanes * shape.bits
    mask = (1 << shape.bits) - 1
    return [number >> shape.bits * (shape.lanes - 1 - i) & mask for i in range(shape.lanes)]


@st.composite
def lanes(draw: st.DrawFn) -> tuple[VectorShape, list[int], list[int]]:
    """Draw a shape and two rows of lanes."""
    shape = VectorShape(draw(st.integers(1, 9)), draw(st.sampled_from([2, 8, 16, 32, 33])))
    top = (1 << shape.bits) - 1
    word = st.integers(0, top) | st.sampled_from([0, 1, top, top >> 1, (top >> 1) + 1])
    row = st.lists(word, min_size=shape.lanes, max_size=shape.lanes)
    x = draw(row)
    return shape, x, draw(row | st.just(x))


BINARY: dict[str, tuple[Emit, Callable[[int, int, int], int]]] = {
    "add": (lambda s, shape: s.add(shape, "x", "y"), lambda x, y, m: x + y & m),
    "sub": (lambda s, shape: s.sub(shape, "x", "y"), lambda x, y, m: x - y & m),
    "invert": (lambda s, shape: s.invert(shape, "x"), lambda x, y, m: ~x & m),
    "shift left": (lambda s, shape: s.shift_left(shape, "x", 1), lambda x, y, m: x << 1 & m),
    "shift right": (lambda s, shape: s.shift_right(shape, "x", 1), lambda x, y, m: x >> 1),
    "at least": (lambda s, shape: s.at_least(shape, "x", "y"), lambda x, y, m: m if x >= y else 0),
    "differs": (lambda s, shape: s.differs(shape, "x", "y"), lambda x, y, m: m if x != y else 0),
    "maximum": (lambda s, shape: s.select(s.at_least(shape, "x", "y"), "x", "y"), lambda x, y, m: max(x, y)),
    "minimum": (lambda s, shape: s.select(s.at_least(shape, "x", "y"), "y", "x"), lambda x, y, m: min(x, y)),
    "stride and back": (
        lambda s, shape: s.restride(shape, s.restride(replace(shape, stride=3), "x", 1, 0), 3, 0),
        lambda x, y, m: x,
    ),
    "broadcast": (lambda s, shape: s.broadcast(shape, "3"), lambda x, y, m: 3),
}


@pytest.mark.parametrize("name", BINARY)
@given(row=lanes())
def test_packed_arithmetic_equals_plain_python(name: str, row: tuple[VectorShape, list[int], list[int]]) -> None:
    emit, expected = BINARY[name]
    shape, x, y = row
    mask = (1 << shape.bits) - 1
    assert evaluate(emit, shape, x, y) == [expected(a, b, mask) for a, b in zip(x, y, strict=True)]


@given(stride=st.integers(1, 9), to=st.integers(1, 9), row=lanes(), data=st.data())
def test_restride_keeps_every_lane(
    stride: int, to: int, row: tuple[VectorShape, list[int], list[int]], data: st.DataObject
) -> None:
    """Other lanes of the source are not zero; those of the result are."""
    shape, x, _ = row
    trailing = data.draw(st.integers(0, stride - 1))
    top = (1 << shape.bits) - 1
    others = data.draw(st.lists(st.integers(0, top), min_size=stride, max_size=stride))
    full = [word if i == stride - 1 - trailing else others[i] for word in x for i in range(stride)]
    names, writer = BoundNames(), SourceWriter()
    names.used.add("x")
    result = PackedArithmetic(names, writer).restride(replace(shape, stride=to), "x", stride, trailing)
    scope = {**names.bound, "x": VectorShape(len(full), shape.bits).pack(full)}
    exec(writer.source() + f"result = {result}\n", scope)
    assert scope["result"] == VectorShape(to * len(x), shape.bits).pack(
        [v for word in x for v in (*[0] * (to - 1), word)]
    )


@given(row=lanes(), stride=st.integers(2, 5))
@pytest.mark.parametrize("name", ["add", "sub", "maximum", "minimum", "shift left", "shift right"])
def test_strided_lanes_give_equal_results(
    name: str, row: tuple[VectorShape, list[int], list[int]], stride: int
) -> None:
    shape, x, y = row
    spread = VectorShape(stride * shape.lanes, shape.bits)
    emit, expected = BINARY[name]
    found = evaluate(
        lambda s, _: emit(s, replace(shape, stride=stride)),
        spread,
        *([v for word in lane for v in (*[0] * (stride - 1), word)] for lane in (x, y)),
    )
    mask = (1 << shape.bits) - 1
    assert found[stride - 1 :: stride] == [expected(a, b, mask) for a, b in zip(x, y, strict=True)]
    assert not any(v for i, v in enumerate(found) if i % stride != stride - 1)
