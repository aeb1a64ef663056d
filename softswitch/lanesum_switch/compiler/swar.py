# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on many equal-width words packed in one Python int ("SIMD within a register").

Lane 0 is in the most significant bits, as the first field of a header is. Every value here keeps each lane within its
width; nothing ever carries from one lane into the next.
"""

from __future__ import annotations

from dataclasses import dataclass

from .writer import Names, Writer


@dataclass(frozen=True, slots=True)
class Shape:
    """``lanes`` lanes of ``bits`` bits each."""

    lanes: int
    bits: int

    def splat(self, value: int) -> int:
        """The same value in every lane."""
        ones = ((1 << self.lanes * self.bits) - 1) // ((1 << self.bits) - 1)
        return (value & ((1 << self.bits) - 1)) * ones

    def pack(self, values: list[int]) -> int:
        """One value per lane."""
        packed = 0
        for value in values:
            packed = packed << self.bits | value & ((1 << self.bits) - 1)
        return packed

    @property
    def full(self) -> int:
        return (1 << self.lanes * self.bits) - 1

    @property
    def high(self) -> int:
        """The top bit of every lane."""
        return self.splat(1 << self.bits - 1)

    @property
    def low(self) -> int:
        """All bits but the top one of every lane."""
        return self.full ^ self.high


class Swar:
    """Writes lane arithmetic. Arguments and results are names of locals or simple expressions."""

    def __init__(self, names: Names, writer: Writer) -> None:
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

    def spread(self, shape: Shape, x: str) -> str:
        """Move lane i of ``shape`` to lane 2 * i + 1 of twice as many lanes; the lanes between are 0."""
        name = self.names.fresh("w")
        self.writer.line(f"{name} = {x}")
        for distance, mask in _spread_steps(shape):
            self.writer.line(f"{name} = ({name} | {name} << {distance}) & {self.constant(mask)}")
        return name

    def compress(self, shape: Shape, x: str) -> str:
        """The inverse of ``spread``: lanes 2 * i + 1 of twice as many lanes become lanes i."""
        name = self.names.fresh("w")
        steps = _spread_steps(shape)
        keep = steps[-1][1] if steps else shape.full
        self.writer.line(f"{name} = {x} & {self.constant(keep)}")
        masks = [shape.full, *(mask for _, mask in steps)]
        for (distance, _), mask in reversed(list(zip(steps, masks, strict=False))):
            self.writer.line(f"{name} = ({name} | {name} >> {distance}) & {self.constant(mask)}")
        return name


def _spread_steps(shape: Shape) -> list[tuple[int, int]]:
    """(shift, mask) per step: groups of half as many lanes each time, every group twice as far apart."""
    size = 1
    while size < shape.lanes:
        size *= 2
    steps = []
    group = size // 2
    while group >= 1:
        mask = 0
        for start in range(0, 2 * size, 2 * group):
            mask |= ((1 << group * shape.bits) - 1) << start * shape.bits
        steps.append((group * shape.bits, mask))
        group //= 2
    return steps
