# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The embedded switch: a device that runs a v1model program packet by packet, as BMv2's simple_switch does."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

from lanesum_switch.api import (
    CloneSession,
    CpuListener,
    Digest,
    DigestListener,
    InvalidArgumentError,
    NotFoundError,
    PacketOut,
    Replica,
    SwitchCounts,
)
from lanesum_switch.bmv2 import ir
from lanesum_switch.bmv2.loader import load_program
from lanesum_switch.compiler.driver import AssertionFailed, CompiledProgram, LoopLimit, PacketFn, compile_program
from lanesum_switch.compiler.python_source import typed_refusal
from lanesum_switch.runtime.action_profiles import ActionProfileMembers
from lanesum_switch.runtime.externs import IndirectCounter, IndirectMeter
from lanesum_switch.runtime.state import Runtime, build_state
from lanesum_switch.runtime.tables import MatchTable

_log = logging.getLogger("lanesum_switch")

DROP_PORT = 511  # simple_switch's default


def _no_program(port: int, frame: bytes, out: list[PacketOut], effects: list[Any], origin: Any) -> None:
    """Drop a packet, as simple_switch_grpc does before a program is loaded."""


class EmbeddedSwitch:
    """A switch that runs the JSON of p4c's BMv2 back end.

    Args:
        cpu_port: port whose packets go to the controller; None for none.
        seed: of the program's random numbers.
        clock: returns nanoseconds, for timestamps, meters and idle timeouts.
        vectorize: compute equal operations on neighbouring fields as one operation on a large int.
        max_passes: recirculations and resubmissions of one packet and its copies; packets beyond are dropped and
            counted.
        queue_depth: returns the number of packets that wait at a port, for ``enq_qdepth`` and ``deq_qdepth``; None
            for always 0.

    Attributes:
        ports: ports of the switch, outside of which multicast groups are refused; None accepts all.
    """

    ports: Container[int] | None = None

    def __init__(
        self,
        cpu_port: int | None = None,
        seed: int = 0,
        clock: Callable[[], int] = time.monotonic_ns,
        drop_port: int = DROP_PORT,
        vectorize: bool = True,
        max_passes: int = 256,
        queue_depth: Callable[[int], int] | None = None,
    ) -> None:
        self.cpu_port = cpu_port
        self.drop_port = drop_port
        self.vectorize = vectorize
        self.max_passes = max_passes
        self.compiled: CompiledProgram | None = None
        self._seed = seed
        self._clock = clock
        self._queue_depth = queue_depth
        self._lock = threading.RLock()
        self._cpu_listener: CpuListener | None = None
        self._digest_listener: DigestListener | None = None
        self._has_listeners = False
        self._reset()

    def _reset(self) -> None:
        self._start_ns = self._clock()
        self._runtime = Runtime(rng=random.Random(self._seed), clock=self._clock, queue_depth=self._queue_depth)
        self._run: PacketFn = _no_program
        self._effects: list[Any] = []
        self._digests: list[Digest] = []
        self._received: defaultdict[int, int] = defaultdict(int)
        self._sent: defaultdict[int, int] = defaultdict(int)
        self._dropped = 0
        self._program_errors = 0
        self._logged_errors: set[type[Exception]] = set()
        self._pass_drops = 0
        self._parse_errors = [0]
        self._range_errors = [0]
        self._groups: dict[int, tuple[tuple[int, int], ...]] = {}
        self.programs: tuple[ir.Program, ...] = ()
        self.tables: dict[str, MatchTable] = {}
        self.action_profiles: dict[str, ActionProfileMembers] = {}
        self.counters: dict[str, IndirectCounter] = {}
        self.meters: dict[str, IndirectMeter] = {}
        self.multicast_groups: dict[int, tuple[Replica, ...]] = {}
        self.clone_sessions: dict[int, CloneSession] = {}
        self.digests: dict[str, tuple[int, ...]] = {}

    def load(self, bmv2_json: bytes, check: Callable[[Any], None] | None = None) -> None:
        """Compile and install a program; this clears all state. ``check`` may refuse the program that was read.

        Raises UnsupportedProgramError or InvalidArgumentError; the switch then keeps the previous program.
        """
        loaded = self._read(bmv2_json)
        if check is not None:
            check(loaded)
        with self._lock:
            previous = self.__dict__.copy()
            self._reset()
            try:
                with typed_refusal():
                    self._install(loaded)
            except BaseException:
                self.__dict__.update(previous)
                raise

    def read(self, config: bytes) -> tuple[ir.Program, ...]:
        """Return the parts of a program, without loading it. Raises the errors of ``load``."""
        return (load_program(config),)

    def _read(self, config: bytes) -> Any:
        """Return the program of a device config, in the form that ``_install`` takes."""
        return load_program(config)

    def _install(self, program: ir.Program) -> None:
        """Compile a program; all state has just been reset."""
        runtime = self._runtime
        profiles = build_state(program, runtime, self._lock)
        self.compiled = compile_program(program, runtime, self._environment(), self.drop_port, self.vectorize)
        self._run = self.compiled.run
        self._publish((program,), profiles)

    def _publish(self, programs: tuple[ir.Program, ...], profiles: Mapping[str, ActionProfileMembers]) -> None:
        """Make the objects of a program's parts available to the control plane."""
        self.programs = programs
        self.digests = {name: widths for program in programs for name, widths in program.digests.items()}
        self.tables = dict(self._runtime.tables)
        self.action_profiles = dict(profiles)
        self.counters = dict(self._runtime.counters)
        self.meters = dict(self._runtime.meters)

    @property
    def source(self) -> str:
        """The generated Python of the loaded program; empty before one is loaded."""
        return self.compiled.source if self.compiled is not None else ""

    def _environment(self) -> dict[str, Any]:
        start = self._start_ns
        clock = self._clock
        range_errors = self._range_errors

        def out_of_range() -> None:
            range_errors[0] += 1

        return {
            "sent": self._sent,
            "groups": self._groups,
            "parse_errors": self._parse_errors,
            "out_of_range": out_of_range,
            "queue_depth": self._queue_depth,
            "microseconds": lambda: (clock() - start) // 1000,
            "clone_targets": self._clone_targets,
            "clone_length": self._clone_length,
        }

    def _clone_targets(self, session_id: int) -> tuple[tuple[int, int], ...]:
        session = self.clone_sessions.get(session_id)
        if session is None:
            return ()
        return tuple((r.port, r.instance) for r in session.replicas)

    def _clone_length(self, session_id: int) -> int:
        """Return the length in bytes that a session's clones are truncated to; 0 for no truncation."""
        session = self.clone_sessions.get(session_id)
        return 0 if session is None else session.packet_length_bytes

    def process(self, port: int, frame: bytes) -> list[PacketOut]:
        """Process a packet and return the packets that leave. No input makes it raise.

        Stages: parser, ingress, replication, egress, deparser.
        """
        out: list[PacketOut] = []
        with self._lock:
            self._one(port, frame, out)
        if self._has_listeners:
            return self._notify(out)
        return out

    def process_batch(self, packets: Iterable[tuple[int, bytes]]) -> list[PacketOut]:
        """Process several packets under one lock, and return the packets that leave, in order."""
        out: list[PacketOut] = []
        with self._lock:
            for port, frame in packets:
                self._one(port, frame, out)
        if self._has_listeners:
            return self._notify(out)
        return out

    def _one(self, port: int, frame: bytes, out: list[PacketOut]) -> None:
        """Process a packet; the caller holds the lock."""
        self._received[port] += 1
        before = len(out)
        effects = self._effects
        try:
            self._run(port, frame, out, effects, None)
            if effects:
                self._run_effects(out, effects)
        except Exception as error:
            self._abort(error, out, before)
            effects.clear()
        if len(out) == before:
            self._dropped += 1

    def _notify(self, out: list[PacketOut]) -> list[PacketOut]:
        """Pass digests and packets for the CPU port to the listeners, without the lock: listeners may write tables."""
        with self._lock:
            digests, self._digests = self._digests, []
            cpu_port, cpu_listener, digest_listener = self.cpu_port, self._cpu_listener, self._digest_listener
        if digest_listener is not None:
            for digest in digests:
                digest_listener(digest)
        if cpu_listener is None or cpu_port is None:
            return out
        for item in out:
            if item.port == cpu_port:
                cpu_listener(item.frame)
        return [item for item in out if item.port != cpu_port]

    def _run_effects(self, out: list[PacketOut], effects: list[Any]) -> None:
        """Collect digests, and process packets that were resubmitted or recirculated."""
        passes = 0
        while effects:
            first, second, origin = effects.pop(0)
            if isinstance(first, str):
                if self._digest_listener is not None:
                    self._digests.append(Digest(first, tuple(int(value) for value in second)))
                continue
            passes += 1
            if passes > self.max_passes:
                self._pass_drops += 1
                continue
            self._run(first, second, out, effects, origin)

    def _abort(self, error: Exception, out: list[PacketOut], before: int) -> None:
        """Drop a packet that the program failed on, and count it.

        Logged are the first error of each type, and the number of errors at powers of ten: a program may fail on every
        packet.
        """
        del out[before:]
        self._program_errors += 1
        if type(error) not in self._logged_errors:
            self._logged_errors.add(type(error))
            if isinstance(error, AssertionFailed):
                _log.error("Packet dropped: an assert or assume of the P4 program failed.")
            elif isinstance(error, LoopLimit):
                _log.error("Packet dropped: a loop of the P4 program ran for too many steps.")
            else:
                _log.error("Packet dropped: the code generated from the P4 program raised an error.", exc_info=error)
        elif str(self._program_errors).strip("0") == "1":
            _log.error(
                "%d packets dropped because of errors in the P4 program, of which the first are logged.",
                self._program_errors,
            )

    @property
    def counts(self) -> SwitchCounts:
        """A copy of the totals since the program was loaded."""
        with self._lock:
            return SwitchCounts(
                packets_in=sum(self._received.values()),
                packets_out=sum(self._sent.values()),
                dropped=self._dropped,
                parser_errors=self._parse_errors[0],
                by_port_in=dict(self._received),
                by_port_out=dict(self._sent),
                program_errors=self._program_errors,
                pass_drops=self._pass_drops,
                range_errors=self._range_errors[0],
            )

    def set_multicast_group(self, group_id: int, replicas: Sequence[Replica] | None) -> None:
        """Set the replicas of a multicast group; None deletes it.

        Raises NotFoundError when the group to delete does not exist, InvalidArgumentError for an id outside 1 to 65535
        and for a port that the switch lacks.
        """
        with self._lock:
            if replicas is None:
                if group_id not in self.multicast_groups:
                    raise NotFoundError(f"There is no multicast group {group_id}.")
                del self.multicast_groups[group_id]
                del self._groups[group_id]
                return
            if not 0 < group_id < 1 << 16:
                raise InvalidArgumentError(f"Multicast group id {group_id} is not from 1 to 65535.")
            absent = [one.port for one in replicas if self.ports is not None and one.port not in self.ports]
            if absent:
                raise InvalidArgumentError(
                    f"Multicast group {group_id} has port {absent[0]}, which the switch lacks.",
                    "Start the switch with this port, or correct the topology.",
                )
            self.multicast_groups[group_id] = tuple(replicas)
            self._groups[group_id] = tuple((r.port, r.instance) for r in replicas)

    def set_clone_session(self, session_id: int, session: CloneSession | None) -> None:
        """Set a clone session; None deletes it. Raises NotFoundError when the session to delete does not exist."""
        with self._lock:
            if session is None:
                if session_id not in self.clone_sessions:
                    raise NotFoundError(f"There is no clone session {session_id}.")
                del self.clone_sessions[session_id]
            else:
                self.clone_sessions[session_id] = session

    def registers(self) -> dict[str, tuple[int, int]]:
        """Return the cells of each register array and the bits of a cell, by name."""
        with self._lock:
            return {name: (bank.size, bank.bits) for name, bank in self._runtime.registers.items()}

    def read_register(self, name: str, index: int) -> int:
        """Return a register's cell. Raises NotFoundError for an unknown register or index."""
        with self._lock:
            return int(self._bank(name).read(name, index))

    def write_register(self, name: str, index: int, value: int) -> None:
        """Set a register's cell.

        Raises NotFoundError for an unknown register or index, InvalidArgumentError for a value that does not fit.
        """
        with self._lock:
            self._bank(name).write(name, index, value)

    def _bank(self, name: str) -> Any:
        bank = self._runtime.registers.get(name)
        if bank is None:
            raise NotFoundError(f"The program has no register {name}.")
        return bank

    def set_value_set(self, name: str, values: Iterable[int]) -> None:
        """Replace the members of a parser value set. Raises NotFoundError for an unknown one."""
        with self._lock:
            members = self._runtime.value_sets.get(name)
            if members is None:
                raise NotFoundError(
                    f"The program has no parser value set {name}, only {sorted(self._runtime.value_sets)}."
                )
            members.clear()
            members.update(values)

    def on_cpu_packet(self, listener: CpuListener | None) -> None:
        """Pass packets sent to ``cpu_port`` to the listener, as bytes that begin with the controller header."""
        self._cpu_listener = listener
        self._has_listeners = self._cpu_listener is not None or self._digest_listener is not None

    def on_digest(self, listener: DigestListener | None) -> None:
        """Pass digests to the listener, after their packet was processed."""
        self._digest_listener = listener
        self._has_listeners = self._cpu_listener is not None or self._digest_listener is not None
