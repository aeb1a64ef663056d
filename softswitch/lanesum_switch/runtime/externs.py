# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Counters, meters and registers: the stateful extern objects of v1model.p4.

P4Runtime specification, sections "CounterEntry & DirectCounterEntry", "MeterEntry & DirectMeterEntry" and
"RegisterEntry".
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Literal

from lanesum_switch.api import CounterValue, InvalidArgumentError, MeterRates, NotFoundError

GREEN, YELLOW, RED = 0, 1, 2


class IndirectCounter:
    """An indirect counter. The generated code increments the two lists."""

    unit: Literal["packets", "bytes", "both"] = "both"  # BMv2 always counts both

    def __init__(self, name: str, size: int, lock: AbstractContextManager[object]) -> None:
        self.name = name
        self.size = size
        self.packets = [0] * size
        self.octets = [0] * size
        self._lock = lock

    def read(self, index: int) -> CounterValue:
        """Return a cell. Raises NotFoundError for an index outside of the array."""
        self._check(index)
        with self._lock:
            return CounterValue(self.packets[index], self.octets[index])

    def write(self, index: int, value: CounterValue) -> None:
        """Set a cell. Raises NotFoundError for an index outside of the array."""
        self._check(index)
        with self._lock:
            self.packets[index] = value.packets
            self.octets[index] = value.bytes

    def _check(self, index: int) -> None:
        if not 0 <= index < self.size:
            raise NotFoundError(f"Counter {self.name} has no cell {index}: its size is {self.size}.")


class TokenBuckets:
    """A color-blind two-rate three-color marker (RFC 2698), as in BMv2."""

    __slots__ = ("committed", "peak", "rates", "time_ns")

    def __init__(self, rates: MeterRates, now_ns: int) -> None:
        self.rates = rates
        self.time_ns = now_ns
        self.committed = float(rates.cburst)
        self.peak = float(rates.pburst)

    def color(self, units: int, now_ns: int) -> int:
        """Return the color of a packet of ``units`` (1, or its bytes) that arrives at ``now_ns``."""
        rates = self.rates
        elapsed = max(0, now_ns - self.time_ns) / 1e9
        self.time_ns = now_ns
        self.peak = min(rates.pburst, self.peak + elapsed * rates.pir)
        self.committed = min(rates.cburst, self.committed + elapsed * rates.cir)
        if self.peak < units:
            return RED
        self.peak -= units
        if self.committed < units:
            return YELLOW
        self.committed -= units
        return GREEN


class IndirectMeter:
    """An indirect meter. A cell without rates marks every packet green."""

    def __init__(
        self,
        name: str,
        size: int,
        unit: Literal["packets", "bytes"],
        clock: Callable[[], int],
        lock: AbstractContextManager[object],
    ) -> None:
        self.name = name
        self.size = size
        self.unit = unit
        self._clock = clock
        self._lock = lock
        self._cells: dict[int, TokenBuckets] = {}

    def execute(self, index: int, frame_length: int) -> int:
        """Return the color of a packet; the generated code calls this."""
        cell = self._cells.get(index)
        if cell is None:
            return GREEN
        return cell.color(1 if self.unit == "packets" else frame_length, self._clock())

    def read(self, index: int) -> MeterRates | None:
        """Return the rates of a cell. Raises NotFoundError for an index outside of the array."""
        self._check(index)
        with self._lock:
            cell = self._cells.get(index)
            return None if cell is None else cell.rates

    def write(self, index: int, rates: MeterRates | None) -> None:
        """Set the rates of a cell. Raises NotFoundError for an index outside of the array."""
        self._check(index)
        with self._lock:
            if rates is None:
                self._cells.pop(index, None)
            else:
                self._cells[index] = TokenBuckets(rates, self._clock())

    def _check(self, index: int) -> None:
        if not 0 <= index < self.size:
            raise NotFoundError(f"Meter {self.name} has no cell {index}: its size is {self.size}.")


class RegisterBank:
    """Register arrays of one size and width, packed: one int holds cell ``i`` of all of them.

    The first register has the most significant bits, like the first field of a header. A bank of one register is a
    plain register array.
    """

    def __init__(self, names: tuple[str, ...], size: int, bits: int) -> None:
        self.names = names
        self.size = size
        self.bits = bits
        self.cells = [0] * size

    def shift(self, name: str) -> int:
        """Return the position of a register's least significant bit within a packed cell."""
        return (len(self.names) - 1 - self.names.index(name)) * self.bits

    def read(self, name: str, index: int) -> int:
        """Return a register's cell. Raises NotFoundError for an index outside of the array."""
        self._check(name, index)
        return self.cells[index] >> self.shift(name) & ((1 << self.bits) - 1)

    def write(self, name: str, index: int, value: int) -> None:
        """Set a register's cell.

        Raises NotFoundError for an index outside of the array, InvalidArgumentError for a value that does not fit.
        """
        self._check(name, index)
        mask = (1 << self.bits) - 1
        if not 0 <= value <= mask:
            raise InvalidArgumentError(f"{value} does not fit register {name}, which has {self.bits} bits.")
        shift = self.shift(name)
        self.cells[index] = self.cells[index] & ~(mask << shift) | value << shift

    def _check(self, name: str, index: int) -> None:
        if not 0 <= index < self.size:
            raise NotFoundError(f"Register {name} has no cell {index}: its size is {self.size}.")
