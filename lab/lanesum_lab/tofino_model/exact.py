# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Places of entries in exact-match tables, as ``context.json`` describes their hash functions and memories.

A table has several *ways*. A hash function gives a key one row in each way, and a row holds one entry or more. Where
all rows of a new key are taken, entries move to other ways of theirs (cuckoo hashing).

Longest-prefix tables are in ternary memory, where the entry with the highest address wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from lanesum_lab.tofino_model.harness import TofinoModelError

Key = tuple[int, ...]
_MAX_MOVES = 64


class EntryPlace(NamedTuple):
    """Place of an entry.

    Attributes:
        address: way and number of the entry in its row, in the numbers of the harness.
        memory: number of the memory within the way.
    """

    address: int
    memory: int
    row: int


class _Bit(NamedTuple):
    """One bit of a hash function: the parity of some bits of the key, plus ``seed``."""

    seed: int
    masks: tuple[int, ...]  # by field of the key

    def of(self, key: Key) -> int:
        return (self.seed + sum((value & mask).bit_count() for value, mask in zip(key, self.masks, strict=True))) & 1


@dataclass(frozen=True)
class _Way:
    """A way.

    Attributes:
        rows, memories: bits of the hash function that give row and memory, lowest first.
        units: RAMs of each memory, lowest word first.
        subword_bits: bits of the row's number that choose among the entries of a row.
        versions: of each entry of a row: word, lowest bit and width of the field that makes it valid.
    """

    first: int
    stage: int
    rows: tuple[_Bit, ...]
    memories: tuple[_Bit, ...]
    units: tuple[tuple[int, ...], ...]
    subword_bits: int
    versions: tuple[tuple[int, int, int], ...]

    def places(self, key: Key) -> list[EntryPlace]:
        """Return the places that a key can have in this way."""
        row = sum(bit.of(key) << position for position, bit in enumerate(self.rows))
        memory = sum(bit.of(key) << position for position, bit in enumerate(self.memories))
        each = max(1, len(self.versions) >> self.subword_bits)
        first = (row & ((1 << self.subword_bits) - 1)) * each
        return [
            EntryPlace(self.first + number, memory, row >> self.subword_bits) for number in range(first, first + each)
        ]

    def clear(self, place: EntryPlace) -> str:
        """Return the command that makes an entry invalid."""
        word, lowest, width = self.versions[place.address - self.first]
        unit = self.units[place.memory][word]
        return f"write_raw_sram {self.stage}:{unit}:{place.row} 0 & {(1 << width) - 1:x} << {lowest}"


class ExactTable:
    """The entries of one exact-match table, and the commands that write them.

    Keys are values of the fields in the program's order. ``add`` and ``remove`` return commands of the harness.
    """

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._name = str(table["name"])
        self._fields = [str(field["name"]) for field in table["match_key_fields"]]
        self._ways = _ways(table, self._fields)
        self._places: dict[Key, EntryPlace] = {}
        self._taken: dict[EntryPlace, Key] = {}
        self._actions: dict[Key, str] = {}

    def add(self, key: Key, action: str) -> list[str]:
        """Add an entry, or replace its action. Raises TofinoModelError if no place can be made for it."""
        self._actions[key] = action
        if key in self._places:
            return [self._write(key)]
        commands: list[str] = []
        wanted = key
        for move in range(_MAX_MOVES):
            places = [place for way in self._ways for place in way.places(wanted)]
            free = next((place for place in places if place not in self._taken), None)
            place = places[move % len(places)] if free is None else free
            evicted = self._taken.get(place)
            self._places[wanted], self._taken[place] = place, wanted
            commands.append(self._write(wanted))
            if evicted is None:
                return commands
            wanted = evicted
        raise TofinoModelError(f"Table {self._name} has no place for an entry beside {len(self._places)} others.")

    def remove(self, key: Key) -> list[str]:
        """Remove an entry."""
        place = self._places.pop(key)
        del self._taken[place], self._actions[key]
        way = max((way for way in self._ways if way.first <= place.address), key=lambda way: way.first)
        return [way.clear(place)]

    def _write(self, key: Key) -> str:
        matches = " ".join(f"{name}:{value}" for name, value in zip(self._fields, key, strict=True))
        return f"add {self._name} {self._places[key].address} {matches} {self._actions[key]}"


def _ways(table: Mapping[str, Any], fields: list[str]) -> list[_Way]:
    """Return the ways of a table in the order of the harness: the last stage first."""
    found: list[_Way] = []
    first = 0
    for stage in reversed(table["match_attributes"]["stage_tables"]):
        for way in sorted(stage["ways"], key=_priority):
            functions = stage["hash_functions"][way["memory_resource_allocation"]["hash_function_id"]]
            bits = {bit["hash_bit"]: _bit(bit, fields) for bit in functions["hash_bits"]}
            found.append(_way(way, first, stage["stage_number"], bits, len(fields)))
            first += len(found[-1].versions)
    return found


def _priority(way: Mapping[str, Any]) -> int:
    """Return the sort key by which the harness orders the ways of a stage: the column of the first RAM."""
    column = int(_memories(way)[0]["memory_units"][-1]) % 12
    return -(17 - column if column >= 6 else column)


def _memories(way: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = way["memory_resource_allocation"]["memory_units_and_vpns"]
    return found


def _bit(bit: Mapping[str, Any], fields: Iterable[str]) -> _Bit:
    masks = dict.fromkeys(fields, 0)
    for term in bit["bits_to_xor"]:
        masks[term["field_name"]] ^= 1 << term["field_bit"]
    return _Bit(bit["seed"], tuple(masks.values()))


def _way(way: Mapping[str, Any], first: int, stage: int, bits: Mapping[int, _Bit], fields: int) -> _Way:
    placed = way["memory_resource_allocation"]
    none = _Bit(0, (0,) * fields)
    lowest, subword_bits = placed["hash_entry_bit_lo"], placed.get("number_subword_bits", 0)
    rows = range(lowest, lowest + placed["number_entry_bits"] + subword_bits)
    select, count = placed["hash_select_bit_lo"], placed["number_select_bits"]
    mask = placed.get("hash_select_bit_mask", (1 << count) - 1)
    memories = [select + position for position in range(count) if mask >> position & 1]
    entries = sorted(way["pack_format"][0]["entries"], key=lambda entry: entry["entry_number"])
    return _Way(
        first,
        stage,
        tuple(bits.get(number, none) for number in rows),
        tuple(bits.get(number, none) for number in memories),
        tuple(tuple(reversed(memory["memory_units"])) for memory in _memories(way)),
        subword_bits,
        tuple(_version(entry) for entry in entries),
    )


def _version(entry: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return word, lowest bit and width of the field that makes an entry valid."""
    field = next(field for field in entry["fields"] if field["source"] in ("version", "valid"))
    return field["lsb_mem_word_idx"], field["lsb_mem_word_offset"], field["field_width"]


# No packet has this version of the tables, so an entry of it never matches.
_NO_VERSION = 3


class LpmTable:
    """The entries of a table with one longest-prefix field, and the commands that write them.

    Each prefix length has the addresses above those of shorter prefixes; full-length entries have all above the
    others. Keys are (value, prefix length).
    """

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._name = str(table["name"])
        (field,) = table["match_key_fields"]
        self._field, self._bits = str(field["name"]), int(field["bit_width"])
        self._size = sum(stage["size"] for stage in table["match_attributes"]["stage_tables"])
        self._default = _default(table)
        self._hosts: dict[tuple[int, int], int] = {}
        self._shorter: list[tuple[int, int]] = []
        self._actions: dict[tuple[int, int], str] = {}

    def add(self, key: tuple[int, int], action: str) -> list[str]:
        """Add an entry, or replace its action; return the commands. Raises TofinoModelError if the table is full."""
        if key not in self._actions and len(self._actions) >= self._size:
            raise TofinoModelError(f"Table {self._name} is full: it holds {self._size} entries.")
        self._actions[key] = action
        if key[1] == self._bits:
            if key not in self._hosts:
                taken = set(self._hosts.values())
                self._hosts[key] = next(at for at in range(self._size - 1, -1, -1) if at not in taken)
            return [self._write(key, self._hosts[key])]
        if key not in self._shorter:
            self._shorter.append(key)
        return self._rewrite()

    def remove(self, key: tuple[int, int]) -> list[str]:
        """Remove an entry; return the commands."""
        del self._actions[key]
        if key in self._hosts:
            return [self._clear(self._hosts.pop(key))]
        self._shorter.remove(key)
        return [*self._rewrite(), self._clear(len(self._shorter))]

    def _rewrite(self) -> list[str]:
        """Write all shorter prefixes, in the order of their lengths."""
        self._shorter.sort(key=lambda key: key[1])
        return [self._write(key, address) for address, key in enumerate(self._shorter)]

    def _write(self, key: tuple[int, int], address: int) -> str:
        value, length = key
        last = value | (1 << self._bits - length) - 1
        return f"add {self._name} {address} {self._field}:{value}..{last} {self._actions[key]}"

    def _clear(self, address: int) -> str:
        return f"add {self._name} {address} {self._field}:0 --version--:{_NO_VERSION} {self._default}"


def _default(table: Mapping[str, Any]) -> str:
    """Return the default action of a table, as the harness takes it."""
    name = next(action["name"] for action in table["actions"] if action["handle"] == table["default_action_handle"])
    return f"{name}()"
