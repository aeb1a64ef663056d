# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A Tofino switch in place of BMv2: one device that executes a TNA or T2NA program packet by packet.

::

    port -> ingress parser, control, deparser -> traffic manager -> egress parser, control, deparser -> port
              ^ resubmit                          | drop, unicast, two multicast groups, mirror, CPU        |
              +-----------------------------------+---------------- recirculation ports <-------------------+

The program is p4c's own output (see ``parse``). Not modeled: queues (packets leave at once; ``queue_depth`` gives
depths), timing, ghost threads, packet generators, MAC and FCS.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from lanesum_fabric.tofino.chips import PIPES, pipe_of
from lanesum_switch.api import InvalidArgumentError, NotFoundError, PacketOut, UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.driver import CompiledProgram, load_source, make_context
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.runtime.externs import RegisterBank
from lanesum_switch.runtime.state import Runtime, build_state
from lanesum_switch.tna.function import HalfWriter, Passed, RegisterAccessError
from lanesum_switch.tna.load import Half, TnaProgram, load_text

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
            changes[self._context.registers.cells(name)] = bank.cells
        self.registers[pipe] = banks
        self._runs[pipe] = self.compiled.rebind(changes)  # type: ignore[assignment]
        return self._runs[pipe]


_DROP_ALL, _DROP_CPU_COPY, _DROP_MIRROR = 1, 2, 4
_MAX_DEPTH = (1 << 19) - 1


class TofinoSwitch(EmbeddedSwitch):
    """An embedded switch for TNA programs.

    ``recirculation_ports``: ports whose packets return to ingress; by default those of the program's chip. A second
    access to a register in a pass is an error of the program: the packet is dropped.
    """

    def __init__(
        self,
        cpu_port: int | None = None,
        seed: int = 0,
        clock: Callable[[], int] = time.monotonic_ns,
        max_passes: int = 256,
        queue_depth: Callable[[int], int] | None = None,
        recirculation_ports: Iterable[int] | None = None,
    ) -> None:
        self.tna: TnaProgram | None = None
        self._halves: tuple[CompiledHalf, ...] = ()
        self._port_metadata = b""
        self._metadata_of: dict[int, bytes] = {}
        self._wanted_recirculation = None if recirculation_ports is None else frozenset(recirculation_ports)
        self.recirculation_ports: frozenset[int] = self._wanted_recirculation or frozenset()
        super().__init__(
            cpu_port=cpu_port, seed=seed, clock=clock, max_passes=max_passes, queue_depth=queue_depth, vectorize=False
        )

    def read(self, config: bytes) -> tuple[ir.Program, ...]:
        """Return ingress and egress of a program, without loading it. Raises the errors of ``load``."""
        return tuple(half.program for half in load_text(config).halves)

    def _read(self, config: bytes) -> TnaProgram:
        return load_text(config)

    def _install(self, program: Any) -> None:
        assert isinstance(program, TnaProgram)
        environment = self._environment()
        self._halves = tuple(CompiledHalf(h, self._runtime, self._lock, environment) for h in program.halves)
        self.tna = program
        self._port_metadata = bytes(program.chip.port_metadata_bytes)
        self._metadata_of = {}
        if self._wanted_recirculation is None:
            self.recirculation_ports = program.chip.recirculation_ports
        self._run = self._pass
        self._publish(tuple(half.program for half in program.halves), {})

    @property
    def source(self) -> str:
        """Generated Python of ingress and egress; empty without a program."""
        return "\n".join(half.compiled.source for half in self._halves)

    def set_port_metadata(self, port: int, metadata: bytes) -> None:
        """Set the bytes between intrinsic metadata and the packets of a port.

        They are zero at first, and after a program is loaded. Raises InvalidArgumentError for more bytes than the chip
        has.
        """
        with self._lock:
            size = len(self._port_metadata)
            if len(metadata) > size:
                raise InvalidArgumentError(f"A port has {size} bytes of metadata, not {len(metadata)}.")
            self._metadata_of[port] = metadata.ljust(size, b"\0")

    # Registers belong to one pipe

    def read_register(self, name: str, index: int, pipe: int = 0) -> int:
        """Read a register. Raises NotFoundError for an unknown register, index or pipe."""
        with self._lock:
            return int(self._bank_of(name, pipe).read(name, index))

    def write_register(self, name: str, index: int, value: int, pipe: int = 0) -> None:
        """Write a register. Raises NotFoundError, or InvalidArgumentError for a value that does not fit."""
        with self._lock:
            self._bank_of(name, pipe).write(name, index, value)

    def _bank_of(self, name: str, pipe: int) -> Any:
        if not 0 <= pipe < PIPES:
            raise NotFoundError(f"There is no pipe {pipe}: expected 0 to {PIPES - 1}.")
        for half in self._halves:
            if name in half.half.program.registers:
                half.run(pipe)
                return half.registers[pipe][name]
        raise NotFoundError(f"The program has no register {name}.")

    def _pass(self, port: int, frame: bytes, out: list[PacketOut], effects: list[Any], origin: Any) -> None:
        """Run ingress and the following steps. ``origin``: data of a resubmitted packet, or None."""
        now = self._now()
        half = self._halves[0]
        metadata = half.metadata.pack(resubmit_flag=int(origin is not None), ingress_port=port, ingress_mac_tstamp=now)
        data = self._metadata_of.get(port, self._port_metadata)
        if origin is not None:
            data = origin.ljust(len(data), b"\0")
        passed = half.run(pipe_of(port))(frame, metadata + data, now)
        if passed is None:
            return
        effects.extend((name, values, None) for name, values in passed.digests)
        self._mirror(passed, frame, out, effects)
        self._replicate(port, frame, passed, out, effects)

    def _replicate(self, port: int, frame: bytes, passed: Passed, out: list[PacketOut], effects: list[Any]) -> None:
        """Replicate a packet as the traffic manager does."""
        if passed.to_cpu and not passed.drop & _DROP_CPU_COPY and self.cpu_port is not None:
            self._leave(self.cpu_port, passed, 0, True, out, effects)
        if passed.drop & _DROP_ALL:
            return
        if passed.resubmitted is not None:
            effects.append((port, frame, passed.resubmitted))
            return
        if passed.unicast is not None:
            self._leave(passed.unicast, passed, 0, True, out, effects)
        for group in passed.groups:
            rids: set[int] = set()
            for to, rid in self._groups.get(group, ()):
                self._leave(to, passed, rid, rid not in rids, out, effects)
                rids.add(rid)

    def _leave(
        self, port: int, passed: Passed, rid: int, first: bool, out: list[PacketOut], effects: list[Any]
    ) -> None:
        """Send one copy from the traffic manager to its port."""
        if passed.bypass:
            self._send(port, passed.packet, out, effects)
        else:
            self._egress(port, passed.packet, rid, first, passed.queue, out, effects)

    def _egress(
        self, port: int, packet: bytes, rid: int, first: bool, queue: int, out: list[PacketOut], effects: list[Any]
    ) -> None:
        now = self._now()
        half = self._halves[1]
        # Packets leave at once: the queue depth at this time is that of enqueueing.
        depth = 0 if self._queue_depth is None else min(self._queue_depth(port), _MAX_DEPTH)
        metadata = half.metadata.pack(
            egress_port=port, enq_qdepth=depth, enq_tstamp=now, deq_qdepth=depth, egress_rid=rid,
            egress_rid_first=int(first), egress_qid=queue, pkt_length=len(packet),
        )  # fmt: skip
        passed = half.run(pipe_of(port))(packet, metadata, now)
        if passed is None:
            return
        if not passed.drop & _DROP_MIRROR:
            self._mirror(passed, packet, out, effects)
        if not passed.drop & _DROP_ALL:
            self._send(port, passed.packet, out, effects)

    def _mirror(self, passed: Passed, packet: bytes, out: list[PacketOut], effects: list[Any]) -> None:
        """Send copies to the ports of mirror sessions, with the mirror's header in front."""
        for session_id, header in passed.mirrored:
            session = self.clone_sessions.get(session_id)
            if session is None:
                continue
            copy = header + (passed.packet if passed.mirror_outgoing else packet)
            if session.packet_length_bytes:
                copy = copy[: session.packet_length_bytes]
            for replica in session.replicas:
                self._egress(replica.port, copy, replica.instance, True, 0, out, effects)

    def _send(self, port: int, packet: bytes, out: list[PacketOut], effects: list[Any]) -> None:
        if port in self.recirculation_ports:
            effects.append((port, packet, None))
            return
        self._sent[port] += 1
        out.append(PacketOut(port, packet))

    def _now(self) -> int:
        return self._clock() - self._start_ns
