# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The state of a loaded program: its tables, counters, meters, registers and parser value sets."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from lanesum_switch.bmv2 import ir
from lanesum_switch.bmv2.fields import check_state
from lanesum_switch.runtime.action_profiles import ActionProfileMembers
from lanesum_switch.runtime.externs import IndirectCounter, IndirectMeter, RegisterBank
from lanesum_switch.runtime.hashes import HashFunction, hash_functions
from lanesum_switch.runtime.tables import MatchTable


@dataclass(slots=True)
class Runtime:
    """The objects that the generated code reads and writes, by their names in the program."""

    tables: dict[str, MatchTable] = field(default_factory=dict)
    counters: dict[str, IndirectCounter] = field(default_factory=dict)
    meters: dict[str, IndirectMeter] = field(default_factory=dict)
    registers: dict[str, RegisterBank] = field(default_factory=dict)
    hash_functions: dict[str, HashFunction] = field(default_factory=dict)
    value_sets: dict[str, set[int]] = field(default_factory=dict)
    rng: random.Random = field(default_factory=random.Random)
    clock: Callable[[], int] = lambda: 0
    queue_depth: Callable[[int], int] | None = None


def build_state(
    program: ir.Program, runtime: Runtime, lock: AbstractContextManager[object]
) -> dict[str, ActionProfileMembers]:
    """Add the program's objects, except for its registers, to ``runtime``; return its action profiles.

    Raises InvalidArgumentError if the program declares more state than a program may have.
    """
    check_state(program)
    nodes = program.tables
    profiles: dict[str, ActionProfileMembers] = {}
    for name, profile in program.profiles.items():
        actions = {a.id: a for n in nodes if n.profile == name for a in n.actions}
        profiles[name] = ActionProfileMembers(
            name, profile.size, profile.selector is not None, tuple(actions.values()), lock
        )
    for node in nodes:
        runtime.tables[node.name] = MatchTable(node, program, profiles.get(node.profile or ""), runtime.clock, lock)
    for name, counter in program.counters.items():
        if counter.binding is None:
            runtime.counters[name] = IndirectCounter(name, counter.size, lock)
    for name, meter in program.meters.items():
        if meter.binding is None:
            unit = "bytes" if meter.unit == "bytes" else "packets"
            runtime.meters[name] = IndirectMeter(name, meter.size, unit, runtime.clock, lock)  # type: ignore[arg-type]
    for name in program.value_sets:
        runtime.value_sets[name] = set()
    runtime.hash_functions = hash_functions(runtime.rng)
    return profiles
