# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One half of a pipe as executable code, once per pipe: pipes share tables and counters, never registers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from lanesum_switch.api import InvalidArgumentError, UnsupportedProgramError
from lanesum_switch.compiler.context import Context
from lanesum_switch.compiler.driver import CompiledProgram, load_source, make_context
from lanesum_switch.runtime.externs import RegisterBank
from lanesum_switch.runtime.state import Runtime, build_state
from lanesum_switch.tna.function import HalfWriter, Passed
from lanesum_switch.tna.load import Half
from lanesum_switch.tna.primitives import RegisterAccessError

RunHalf = Callable[[bytes, bytes, int], Passed | None]

_NO_DROP_PORT = -1  # drop port of BMv2, which is not used here


def _accessed_twice(register: str, action: str, before: str) -> RegisterAccessError:
    return RegisterAccessError(
        f"{action} accesses register {register}, which {before} accessed for the same packet.",
        "A register is accessed once per packet and pass: choose one action, or pass the packet again.",
    )


# Fields of the intrinsic metadata that the switch sets.
_SET = {
    "ingress": ("resubmit_flag", "ingress_port", "ingress_mac_tstamp"),
    "egress": (
        "egress_port", "enq_qdepth", "enq_tstamp", "deq_qdepth", "egress_rid", "egress_rid_first", "egress_qid",
        "pkt_length",
    ),
}  # fmt: skip


class Metadata:
    """Packs the intrinsic metadata in front of a packet. Raises UnsupportedProgramError if a field is missing."""

    def __init__(self, half: Half) -> None:
        self._size = half.metadata.fixed_bits // 8
        self._fields: dict[str, tuple[int, int]] = {}
        shift = half.metadata.fixed_bits
        for field in half.metadata.fields:
            shift -= field.bits
            self._fields[field.name] = (shift, (1 << field.bits) - 1)
        missing = [name for name in _SET[half.side] if name not in self._fields]
        if missing:
            raise UnsupportedProgramError(f"Unsupported: {half.side} metadata without {', '.join(missing)}.")

    def pack(self, **values: int) -> bytes:
        """Return the header's bytes; values are cut to the width of their field."""
        number = 0
        for name, value in values.items():
            shift, mask = self._fields[name]
            number |= (value & mask) << shift
        return number.to_bytes(self._size, "big")


class CompiledHalf:
    """Ingress or egress of all pipes. ``registers``: banks of each pipe that has received packets."""

    def __init__(
        self, half: Half, runtime: Runtime, lock: AbstractContextManager[object], environment: dict[str, Any]
    ) -> None:
        self.half = half
        self.metadata = Metadata(half)
        clash = {t for t in runtime.tables if t in half.program.ingress.nodes}
        if clash:
            raise InvalidArgumentError(
                f"Ingress and egress both have the table {min(clash)}.", "Give each table its own name."
            )
        build_state(half.program, runtime, lock)
        runtime.hash_functions |= half.hashes
        self._context = make_context(half.program, runtime, _NO_DROP_PORT, vectorize=False)
        environment = {**environment, "Passed": Passed, "accessed_twice": _accessed_twice}
        self.compiled: CompiledProgram = load_source(
            HalfWriter(self._context, half).write(), self._context, environment
        )
        own = {name: runtime.registers[name] for name in half.program.registers}
        self.registers: dict[int, dict[str, RegisterBank]] = {0: own}
        self._runs: dict[int, RunHalf] = {0: self.compiled.run}  # type: ignore[dict-item]
        for bank in own.values():
            self._initialize(bank)

    def _initialize(self, bank: RegisterBank) -> None:
        (name,) = bank.names
        bank.cells[:] = [self.half.initial.get(name, 0)] * bank.size

    def run(self, pipe: int) -> RunHalf:
        """Return the function of a pipe with its own registers."""
        found = self._runs.get(pipe)
        return self._make(pipe) if found is None else found

    def _make(self, pipe: int) -> RunHalf:
        banks: dict[str, RegisterBank] = {}
        changes: dict[str, Any] = {}
        for name, first in self.registers[0].items():
            bank = RegisterBank((name,), first.size, first.bits)
            self._initialize(bank)
            banks[name] = bank
            changes[self._cells_of(self._context, name)] = bank.cells
        self.registers[pipe] = banks
        self._runs[pipe] = self.compiled.rebind(changes)  # type: ignore[assignment]
        return self._runs[pipe]

    @staticmethod
    def _cells_of(context: Context, register: str) -> str:
        """Return the name of a register in the code."""
        return context.registers.cells(register)
