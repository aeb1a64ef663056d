# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What the parts of the compiler share while they write one program."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.expressions import Expressions
from lanesum_switch.compiler.field_usage import FieldUsage
from lanesum_switch.compiler.layout import Layout, Value
from lanesum_switch.compiler.python_source import Names, SourceWriter
from lanesum_switch.runtime.externs import CounterArray, MeterArray, RegisterBank
from lanesum_switch.runtime.tables import MatchTable

if TYPE_CHECKING:
    from lanesum_switch.compiler.actions import Vectorizer
    from lanesum_switch.compiler.calculations import Calculations


@dataclass(slots=True)
class Runtime:
    """The state that the generated code works on."""

    tables: dict[str, MatchTable] = field(default_factory=dict)
    counters: dict[str, CounterArray] = field(default_factory=dict)
    meters: dict[str, MeterArray] = field(default_factory=dict)
    registers: dict[str, RegisterBank] = field(default_factory=dict)
    hash_functions: dict[str, Callable[[bytes], int]] = field(default_factory=dict)
    value_sets: dict[str, set[int]] = field(default_factory=dict)
    rng: random.Random = field(default_factory=random.Random)
    clock: Callable[[], int] = lambda: 0
    queue_depth: Callable[[int], int] | None = None


class Registers:
    """Code that reads and writes one register of a bank. Indices are known to be in range."""

    def __init__(self, names: Names, banks: dict[str, RegisterBank]) -> None:
        self._names = names
        self._banks = banks

    def cells(self, array: str) -> str:
        """The name of the list of a register's bank."""
        bank = self._banks[array]
        return self._names.constant(f"reg_{bank.names[0]}", ("register", bank.names[0]), bank.cells)

    def read(self, array: str, index: str) -> Value:
        bank = self._banks[array]
        shift, high = bank.shift(array), (1 << bank.bits) - 1
        cell = f"{self.cells(array)}[{index}]"
        if len(bank.names) == 1:
            return Value(cell, 0, high, True)
        return Value(f"{cell} >> {shift} & {high:#x}", 0, high)

    def write(self, array: str, index: str, value: Value) -> str:
        """A statement that stores a value which fits the register."""
        bank = self._banks[array]
        cell = f"{self.cells(array)}[{index}]"
        if len(bank.names) == 1:
            return f"{cell} = {value.code}"
        shift = bank.shift(array)
        keep = ((1 << bank.bits * len(bank.names)) - 1) ^ (((1 << bank.bits) - 1) << shift)
        name = self._names.constant("keep", ("keep", keep), keep)
        return f"{cell} = {cell} & {name} | ({value.code}) << {shift}"


@dataclass(slots=True)
class Context:
    """One compilation."""

    program: ir.Program
    usage: FieldUsage
    names: Names
    layout: Layout
    expressions: Expressions
    runtime: Runtime
    registers: Registers
    drop_port: int
    writer: SourceWriter
    tracks_length: bool = False
    dynamic_exit: bool = False
    vectorizer: Vectorizer | None = None
    calculations: Calculations = field(init=False)
