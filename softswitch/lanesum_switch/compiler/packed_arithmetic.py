# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on equal-width lanes packed into one Python int (SIMD within a register).

R. J. Fisher and H. G. Dietz, "Compiling for SIMD Within a Register", LCPC 1998. Lane 0 has the most significant bits,
like the first field of a header. Every value keeps each lane within its width: no carry crosses into the next lane.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanesum_switch.compiler.python_source import BoundNames, SourceWriter


@dataclass(frozen=True, slots=True)
class VectorShape:
    """``lanes`` lanes of ``bits`` bits, one every ``stride`` lanes; zeros fill the lanes between them."""

    lanes: int
    bits: int
    stride: int = 1

    def splat(self, value: int) -> int:
        """Return the int with the same value in every lane."""
        return self.pack([value] * self.lanes)

    def pack(self, values: list[int]) -> int:
        """Return the int with one value per lane."""
        packed = 0
        for value in values:
            packed = packed << self.bits * self.stride | value & ((1 << self.bits) - 1)
        return packed

    @property
    def full(self) -> int:
        """All bits of every lane."""
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

    def __init__(self, names: BoundNames, writer: SourceWriter) -> None:
        self.names = names
        self.writer = writer

    def constant(self, value: int) -> str:
        """Return a literal for a short constant, and the name of a long one."""
        if value < 1 << 30:
            return hex(value)
        return self.names.constant("wide", ("wide", value), value)

    def let(self, code: str) -> str:
        """Assign an expression to a local, so that it can be used twice; return the local's name."""
        if code.isidentifier():
            return code
        name = self.names.fresh("w")
        self.writer.line(f"{name} = {code}")
        return name

    def add(self, shape: VectorShape, x: str, y: str) -> str:
        """Return the sum modulo 2**bits; the top bits are added without carry."""
        x, y = self.let(x), self.let(y)
        low, high = self.constant(shape.low), self.constant(shape.high)
        return f"(({x} & {low}) + ({y} & {low}) ^ ({x} ^ {y}) & {high})"

    def sub(self, shape: VectorShape, x: str, y: str) -> str:
        """Return the difference modulo 2**bits; the top bit of each lane of ``x`` is set to absorb the borrow."""
        x, y = self.let(x), self.let(y)
        low, high = self.constant(shape.low), self.constant(shape.high)
        return f"(({x} | {high}) - ({y} & {low}) ^ ({x} ^ {y} ^ {high}) & {high})"

    def invert(self, shape: VectorShape, x: str) -> str:
        """Return the bitwise complement of every lane."""
        return f"({x} ^ {self.constant(shape.full)})"

    def shift_left(self, shape: VectorShape, x: str, count: int) -> str:
        """Return every lane shifted left; bits that leave a lane are masked off first."""
        if count >= shape.bits:
            return "0"
        keep = self.constant(shape.splat((1 << shape.bits - count) - 1))
        return f"(({x} & {keep}) << {count})" if count else x

    def shift_right(self, shape: VectorShape, x: str, count: int) -> str:
        """Return every lane shifted right, unsigned."""
        if count >= shape.bits:
            return "0"
        keep = self.constant(shape.splat(((1 << shape.bits) - 1) >> count))
        return f"({x} >> {count} & {keep})" if count else x

    def _spread_top_bit(self, shape: VectorShape, tops: str) -> str:
        """Return all ones in the lanes whose top bit is set in ``tops``; all other bits of ``tops`` are 0."""
        tops = self.let(tops)
        return f"(({tops} << 1) - ({tops} >> {shape.bits - 1}))"

    def at_least(self, shape: VectorShape, x: str, y: str) -> str:
        """Return all ones in the lanes where x >= y, unsigned."""
        x, y = self.let(x), self.let(y)
        low, high = self.constant(shape.low), self.constant(shape.high)
        # The top bit of the difference of the lower bits stays set unless they borrow from it.
        difference = self.let(f"({x} | {high}) - ({y} & {low})")
        return self._spread_top_bit(shape, f"(({difference} & ~({x} ^ {y}) | {x} & ~{y}) & {high})")

    def differs(self, shape: VectorShape, x: str, y: str) -> str:
        """Return all ones in the lanes where x != y."""
        low, high = self.constant(shape.low), self.constant(shape.high)
        delta = self.let(f"{x} ^ {y}")
        return self._spread_top_bit(shape, f"((({delta} & {low}) + {low} | {delta}) & {high})")

    def select(self, mask: str, x: str, y: str) -> str:
        """Return x in the lanes where ``mask`` is all ones, and y elsewhere."""
        y = self.let(y)
        return f"({y} ^ ({x} ^ {y}) & {mask})"

    def broadcast(self, shape: VectorShape, scalar: str) -> str:
        """Return a scalar, which fits a lane, in every lane."""
        return f"({scalar}) * {self.constant(shape.splat(1))}"

    def restride(self, shape: VectorShape, x: str, stride: int, trailing: int) -> str:
        """Return the lanes of ``x``, one every ``stride`` lanes, in the stride of ``shape``.

        ``trailing`` lanes of ``x`` follow the last one.
        """
        size = shape.bits
        code = f"({x} >> {trailing * size})" if trailing else x
        if stride == shape.stride == 1:
            return code
        name = self.names.fresh("w")
        self.writer.line(f"{name} = {code} & {self.constant(VectorShape(shape.lanes, size, stride).full)}")
        for step in _steps(shape, stride):
            shift = f"<< {step.distance * size}" if step.distance > 0 else f">> {-step.distance * size}"
            if step.disjoint:
                self.writer.line(f"{name} = ({name} | {name} {shift}) & {self.constant(step.staying | step.moved)}")
            else:
                staying, moving = self.constant(step.staying), self.constant(step.moving)
                self.writer.line(f"{name} = {name} & {staying} | ({name} & {moving}) {shift}")
        return name


@dataclass(frozen=True, slots=True)
class _Step:
    """A move of some lanes by the same distance.

    Attributes:
        distance: lanes to the left; negative for the right.
        staying: mask of the lanes that stay.
        moving, moved: mask of the other lanes before and after the move.
        disjoint: in every lane of the result, either the shifted or the unshifted value is zero.
    """

    distance: int
    staying: int
    moving: int
    moved: int
    disjoint: bool


def _steps(shape: VectorShape, stride: int) -> list[_Step]:
    """Return the moves that take lane i, counted from the right, from ``stride * i`` to ``shape.stride * i``.

    Each step moves the lanes with one bit of i set. The most significant bit comes first where the stride grows, the
    least significant one where it shrinks: so lanes never meet.
    """
    lane = (1 << shape.bits) - 1
    positions = [i * stride for i in range(shape.lanes)]
    bits = range((shape.lanes - 1).bit_length())
    steps = []
    for bit in bits if shape.stride < stride else reversed(bits):
        distance = (shape.stride - stride) << bit
        if not distance:
            continue
        moves = [i >> bit & 1 for i in range(shape.lanes)]
        after = [position + distance * move for position, move in zip(positions, moves, strict=True)]
        staying, moving, moved = (
            sum(lane << position * shape.bits for position, move in zip(row, moves, strict=True) if move == which)
            for row, which in ((positions, 0), (positions, 1), (after, 1))
        )
        disjoint = all((to if move else to - distance) not in positions for to, move in zip(after, moves, strict=True))
        steps.append(_Step(distance, staying, moving, moved, disjoint))
        positions = after
    return steps
