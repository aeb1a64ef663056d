# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packet tests of P4 programs: files of p4c's Simple Test Framework (STF), run on a switch in this process.

Source of the format: p4c, ``docs`` and ``tools/stf``. A test writes tables, sends packets and lists what must leave
each port, in order. Values have wildcards: ``*`` stands for a digit that may have any value.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from lanesum_switch import EmbeddedSwitch
from lanesum_switch.api import (
    ActionCall,
    CloneSession,
    Match,
    MeterRates,
    NotFoundError,
    Replica,
    TableEntry,
)
from lanesum_switch.bmv2 import ir

_Named = TypeVar("_Named")

# Bits of a digit in the notations that allow wildcards.
_DIGIT_BITS = {"0x": 4, "0o": 3, "0b": 1}
_IGNORED = {"wait", "mirroring_get", "meter_get_rates", "register_read"}
_CALL = re.compile(r"(?P<action>[^\s(]+)\s*\((?P<arguments>[^)]*)\)\s*(=\s*\S+)?$")


class PacketTestError(Exception):
    """A line of a packet test is not understood, or names an object that the program lacks."""


@dataclass
class PacketTest:
    """One run of a packet test on a switch that has its program."""

    switch: EmbeddedSwitch
    _received: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    _expected: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    _any: set[int] = field(default_factory=set)
    _nodes: list[tuple[Replica, ...]] = field(default_factory=list)

    def run(self, text: str) -> tuple[str, ...]:
        """Run all lines of a test; return a line for each packet that differs from the expected ones.

        Raises PacketTestError, and the switch's errors for writes it refuses.
        """
        for number, line in enumerate(text.splitlines(), 1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            command = words[0].lower()
            if command in _IGNORED:
                continue
            method = getattr(self, f"_do_{command}", None)
            if method is None:
                raise PacketTestError(f"line {number}: the command {command!r} is not known")
            try:
                method(words[1:])
            except (ValueError, IndexError, KeyError) as error:
                raise PacketTestError(f"line {number}: {line.strip()!r}: {error}") from error
        return tuple(self._differences())

    # Packets

    def _do_packet(self, words: Sequence[str]) -> None:
        for port, frame in self.switch.process(int(words[0]), bytes.fromhex("".join(words[1:]))):
            self._received[port].append(frame.hex())

    def _do_expect(self, words: Sequence[str]) -> None:
        port, data = int(words[0]), "".join(words[1:]).lower()
        if data:
            self._expected[port].append(data)
        else:
            self._any.add(port)

    def _differences(self) -> Iterator[str]:
        for port in sorted({*self._received, *self._expected, *self._any}):
            received, expected = self._received[port], self._expected[port]
            if port in self._any:
                if not received:
                    yield f"port {port}: no packet left, any was expected"
                continue
            if len(received) != len(expected):
                yield f"port {port}: {len(received)} packets left, {len(expected)} were expected"
            for index, (frame, pattern) in enumerate(zip(received, expected, strict=False)):
                if not frame_matches(frame, pattern):
                    yield f"port {port}, packet {index}: {frame} left, {pattern} was expected"

    # Tables

    def _do_add(self, words: Sequence[str]) -> None:
        table = _by_name(self.switch.tables, words[0])
        fields = list(words[1:])
        priority = int(fields.pop(0)) if fields[0].isdigit() else 0
        values = {}
        while ":" in fields[0].partition("(")[0]:
            name, _, value = fields.pop(0).partition(":")
            values[name] = value
        matches = []
        for key in table.keys:
            names = [name for name in values if _names_key(name, key.name)]
            matches.append(_match(key, values.pop(names[0])) if names else _match_all(key))
        if values:
            raise PacketTestError(f"table {table.name} has no key field {', '.join(values)}")
        ordered = any(key.kind in ("ternary", "range", "optional") for key in table.keys)
        target = _call(table.actions, " ".join(fields))
        # The switch refuses priority 0 where the order of entries matters; the larger one wins, as in STF.
        table.insert(TableEntry(tuple(matches), target, priority + 1 if ordered else 0))

    def _do_setdefault(self, words: Sequence[str]) -> None:
        table = _by_name(self.switch.tables, words[0])
        table.set_default(_call(table.actions, " ".join(words[1:])))

    # Packet replication

    def _do_mc_mgrp_create(self, words: Sequence[str]) -> None:
        self.switch.set_multicast_group(int(words[0]), ())

    def _do_mc_node_create(self, words: Sequence[str]) -> None:
        self._nodes.append(tuple(Replica(int(port), int(words[0])) for port in words[1:]))

    def _do_mc_node_associate(self, words: Sequence[str]) -> None:
        group, node = int(words[0]), int(words[1])
        replicas = (*self.switch.multicast_groups[group], *self._nodes[node])
        self.switch.set_multicast_group(group, replicas)

    def _do_mirroring_add(self, words: Sequence[str]) -> None:
        self.switch.set_clone_session(int(words[0]), CloneSession((Replica(int(words[1]), 0),)))

    def _do_mirroring_add_mc(self, words: Sequence[str]) -> None:
        replicas = self.switch.multicast_groups[int(words[1])]
        self.switch.set_clone_session(int(words[0]), CloneSession(replicas))

    # Registers and meters

    def _do_register_write(self, words: Sequence[str]) -> None:
        self.switch.write_register(words[0], int(words[1], 0), int(words[2], 0))

    def _do_register_reset(self, words: Sequence[str]) -> None:
        with contextlib.suppress(NotFoundError):  # behind the last cell
            for index in itertools.count():
                self.switch.write_register(words[0], index, 0)

    def _do_meter_set_rates(self, words: Sequence[str]) -> None:
        _by_name(self.switch.meters, words[0]).write(int(words[1]), _rates(words[2:]))

    def _do_meter_array_set_rates(self, words: Sequence[str]) -> None:
        meter = _by_name(self.switch.meters, words[0])
        for index in range(meter.size):
            meter.write(index, _rates(words[1:]))


def frame_matches(frame: str, pattern: str) -> bool:
    """Return whether a frame in hexadecimal digits begins with the pattern; ``$`` at its end also ends the frame."""
    exact = pattern.endswith("$")
    pattern = pattern.removesuffix("$")
    if len(frame) < len(pattern) or (exact and len(frame) != len(pattern)):
        return False
    return all(wanted in ("*", digit) for wanted, digit in zip(pattern, frame, strict=False))


def _by_name(objects: Mapping[str, _Named], name: str) -> _Named:
    """Return the object of this name, or the only one whose name ends with it."""
    if name in objects:
        return objects[name]
    found = [one for full, one in objects.items() if full.endswith(name)]
    if len(found) != 1:
        raise PacketTestError(f"{len(found)} objects have the name {name!r}, of {sorted(objects)}")
    return found[0]


def _names_key(name: str, key: str) -> bool:
    """Return whether a name of the test means a key field of the program."""
    name = re.sub(r"\$(\d+)", r"[\1]", name)
    key = key.removesuffix("$valid$").removesuffix("isValid()").removesuffix("$") if key != name else key
    name = name.removesuffix("valid") if key.endswith(".") or not key else name
    return key == name or key.endswith(f".{name}")


def _match_all(key: ir.KeyField) -> Match:
    return Match(0, (1 << key.bits) - 1 if key.kind == "range" else 0)


def _match(key: ir.KeyField, text: str) -> Match:
    """Return the match of a value with wildcards or a prefix length."""
    if key.kind == "exact":
        return Match(int(text, 0))
    if "/" in text:
        value, _, length = text.partition("/")
        return Match(int(value, 0), int(length))
    full, digit_bits = (1 << key.bits) - 1, _DIGIT_BITS.get(text[:2], 0)
    digits = text[2:] if digit_bits else ""
    value = int(text.replace("*", "0"), 0)
    if key.kind == "lpm":
        return Match(value, key.bits - digit_bits * digits.count("*"))
    if key.kind == "range":
        return Match(value, value)
    free = 0
    for digit in digits:
        free = free << digit_bits | ((1 << digit_bits) - 1 if digit == "*" else 0)
    return Match(value, full & ~free)


def _call(actions: Sequence[ir.Action], text: str) -> ActionCall:
    """Return the call of an action, with its arguments in the order of the parameters."""
    match = _CALL.match(text)
    if match is None:
        raise PacketTestError(f"{text!r} is no call of an action")
    action = _by_name({one.name: one for one in actions}, match["action"])
    pairs = (argument.partition(":") for argument in match["arguments"].split(",") if argument.strip())
    values = {name.strip(): int(value.strip(), 0) for name, _, value in pairs}
    return ActionCall(action.name, tuple(values[parameter.name] for parameter in action.params))


def _rates(words: Sequence[str]) -> MeterRates:
    """Return the rates of ``RATE:BURST`` twice; a rate is in units per microsecond."""
    (committed, committed_burst), (peak, peak_burst) = (word.split(":") for word in words)
    return MeterRates(round(float(committed) * 1e6), int(committed_burst), round(float(peak) * 1e6), int(peak_burst))
