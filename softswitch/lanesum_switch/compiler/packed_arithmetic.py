# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on many equal-width words packed in one Python int ("SIMD within a register").

Lane 0 is in the most significant bits, as the first field of a header is. Every value here keeps each lane within its
width; nothing ever carries from one lane into the next.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanesum_switch.compiler.python_source import Names, SourceWriter


@dataclass(frozen=True, slots=True)
class Shape:
    """``lanes`` lanes of ``bits`` bits each: side by side, or every so many lanes ``apart`` with zeros between."""

    lanes: int
    bits: int
    apart: int = 1

    def splat(self, value: int) -> int:
        """The same value in every lane."""
        return self.pack([value] * self.lanes)

    def pack(self, values: list[int]) -> int:
        """One value per lane."""
        packed = 0
        for value in values:
            packed = packed << self.bits * self.apart | value & ((1 << self.bits) - 1)
        return packed

    @property
    def full(self) -> int:
        return self.splat(-1)

    @property
    def high(self) -> int:
        """The top bit of every lane."""
        return self.splat(1 << self.bits - 1)

    @property
    def low(self) -> int:
        """All bits but the top one of every lane."""
        return self.full ^ self.high


class PackedArithmetic:
    """Writes lane arithmetic. Arguments and results are names of locals or simple expressions."""

    def __init__(self, names: Names, writer: SourceWriter) -> None:
        self.names = names
        self.writer = writer

    def constant(self, value: int) -> str:
        """The name of a constant (a short one is written out)."""
        if value < 1 << 30:
            return hex(value)
        return self.names.constant("wide", ("wide", value), value)

    def let(self, code: str) -> str:
        """Give an expression a local name, so that it can be used twice."""
        if code.isidentifier():
            return code
        name = self.names.fresh("w")
        self.writer.line(f"{name} = {code}")
        return name

    def add(self, shape: Shape, x: str, y: str) -> str:
        """Sum modulo 2**bits: the top bits are added without carry."""
        x, y = self.let(x), self.let(y)
        low, high = self.constant(shape.low), self.constant(shape.high)
        return f"(({x} & {low}) + ({y} & {low}) ^ ({x} ^ {y}) & {high})"

    def sub(self, shape: Shape, x: str, y: str) -> str:
        """Difference modulo 2**bits: a borrowed top bit keeps every lane from going negative."""
        x, y = self.let(x), self.let(y)
        low, high = self.constant(shape.low), self.constant(shape.high)
        return f"(({x} | {high}) - ({y} & {low}) ^ ({x} ^ {y} ^ {high}) & {high})"

    def invert(self, shape: Shape, x: str) -> str:
        return f"({x} ^ {self.constant(shape.full)})"

    def shift_left(self, shape: Shape, x: str, count: int) -> str:
        """Shift within the lanes; what would leave a lane is cut off first."""
        if count >= shape.bits:
            return "0"
        keep = self.constant(shape.splat((1 << shape.bits - count) - 1))
        return f"(({x} & {keep}) << {count})" if count else x

    def shift_right(self, shape: Shape, x: str, count: int) -> str:
        if count >= shape.bits:
            return "0"
        keep = self.constant(shape.splat(((1 << shape.bits) - 1) >> count))
        return f"({x} >> {count} & {keep})" if count else x

    def _spread_top_bit(self, shape: Shape, tops: str) -> str:
        """All ones in the lanes whose top bit is set in ``tops``; other bits of ``tops`` are 0."""
        tops = self.let(tops)
        return f"(({tops} << 1) - ({tops} >> {shape.bits - 1}))"

    def at_least(self, shape: Shape, x: str, y: str) -> str:
        """All ones in the lanes where x >= y, unsigned."""
        x, y = self.let(x), self.let(y)
        low, high = self.constant(shape.low), self.constant(shape.high)
        # The difference of the lower bits has its top bit set where nothing was borrowed from it.
        difference = self.let(f"({x} | {high}) - ({y} & {low})")
        return self._spread_top_bit(shape, f"(({difference} & ~({x} ^ {y}) | {x} & ~{y}) & {high})")

    def differs(self, shape: Shape, x: str, y: str) -> str:
        """All ones in the lanes where x != y."""
        low, high = self.constant(shape.low), self.constant(shape.high)
        delta = self.let(f"{x} ^ {y}")
        return self._spread_top_bit(shape, f"((({delta} & {low}) + {low} | {delta}) & {high})")

    def select(self, mask: str, x: str, y: str) -> str:
        """x in the lanes where ``mask`` is all ones, y elsewhere."""
        y = self.let(y)
        return f"({y} ^ ({x} ^ {y}) & {mask})"

    def broadcast(self, shape: Shape, scalar: str) -> str:
        """A scalar, known to fit, in every lane."""
        return f"({scalar}) * {self.constant(shape.splat(1))}"

    def move(self, shape: Shape, x: str, apart: int, below: int) -> str:
        """Lanes that are ``apart`` lanes apart, with ``below`` lanes under the last one, as ``shape`` has them."""
        size = shape.bits
        code = f"({x} >> {below * size})" if below else x
        if apart == shape.apart == 1:
            return code
        name = self.names.fresh("w")
        self.writer.line(f"{name} = {code} & {self.constant(Shape(shape.lanes, size, apart).full)}")
        for step in _steps(shape, apart):
            shift = f"<< {step.distance * size}" if step.distance > 0 else f">> {-step.distance * size}"
            if step.apart:
                self.writer.line(f"{name} = ({name} | {name} {shift}) & {self.constant(step.staying | step.there)}")
            else:
                staying, moving = self.constant(step.staying), self.constant(step.moving)
                self.writer.line(f"{name} = {name} & {staying} | ({name} & {moving}) {shift}")
        return name


@dataclass(frozen=True, slots=True)
class _Step:
    """Some lanes move by ``distance`` lanes, the others stay. Masks of those that stay, and of the others before and
    after. ``apart``: no lane falls on a place that another one has before or after.
    """

    distance: int
    staying: int
    moving: int
    there: int
    apart: bool


def _steps(shape: Shape, apart: int) -> list[_Step]:
    """Lane i from the right moves from ``apart * i`` to ``shape.apart * i``: by one bit of i at a time.

    The far ones first where they go apart, the near ones first where they come together: so they never meet.
    """
    lane = (1 << shape.bits) - 1
    places = [i * apart for i in range(shape.lanes)]
    bits = range((shape.lanes - 1).bit_length())
    steps = []
    for bit in bits if shape.apart < apart else reversed(bits):
        distance = (shape.apart - apart) << bit
        if not distance:
            continue
        moves = [i >> bit & 1 for i in range(shape.lanes)]
        after = [place + distance * move for place, move in zip(places, moves, strict=True)]
        staying, moving, there = (
            sum(lane << place * shape.bits for place, move in zip(row, moves, strict=True) if move == which)
            for row, which in ((places, 0), (places, 1), (after, 1))
        )
        # What lies at a place afterwards: the lane that belongs there, and nobody who only passes by.
        alone = all((to if move else to - distance) not in places for to, move in zip(after, moves, strict=True))
        steps.append(_Step(distance, staying, moving, there, alone))
        places = after
    return steps
