# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State of one compilation, which all parts of the compiler share."""

from __future__ import annotations

from dataclasses import dataclass

from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.basic_blocks import BlockPass
from lanesum_switch.compiler.expressions import Expressions
from lanesum_switch.compiler.field_usage import FieldUsage
from lanesum_switch.compiler.layout import Value, VariableLayout
from lanesum_switch.compiler.python_source import BoundNames, SourceWriter
from lanesum_switch.runtime.externs import RegisterBank
from lanesum_switch.runtime.state import Runtime


class Registers:
    """Writes accesses to the registers of banks. Indices are in range."""

    def __init__(self, names: BoundNames, banks: dict[str, RegisterBank]) -> None:
        self._names = names
        self._banks = banks

    def cells(self, array: str) -> str:
        """Return the name of the list of cells of a register's bank."""
        bank = self._banks[array]
        return self._names.constant(f"reg_{bank.names[0]}", ("register", bank.names[0]), bank.cells)

    def read(self, array: str, index: str) -> Value:
        """Return the value of a register's cell."""
        bank = self._banks[array]
        shift, high = bank.shift(array), (1 << bank.bits) - 1
        cell = f"{self.cells(array)}[{index}]"
        if len(bank.names) == 1:
            return Value(cell, 0, high, True)
        return Value(f"{cell} >> {shift} & {high:#x}", 0, high)

    def write(self, array: str, index: str, value: Value) -> str:
        """Return a statement that sets a register's cell to a value that fits it."""
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
    """One compilation.

    Attributes:
        writer: receives the code that is written now.
        rewrite: pass over the statements of a basic block: the vectorizer, or forward substitution alone.
        tracks_length: the program reads ``packet_length``, so the code keeps it up to date.
        dynamic_exit: some action of the present pipeline may or may not execute ``exit``.
    """

    program: ir.Program
    usage: FieldUsage
    names: BoundNames
    layout: VariableLayout
    expressions: Expressions
    runtime: Runtime
    registers: Registers
    drop_port: int
    writer: SourceWriter
    rewrite: BlockPass
    tracks_length: bool = False
    dynamic_exit: bool = False
