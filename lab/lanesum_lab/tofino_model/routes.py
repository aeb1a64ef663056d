# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Longest-prefix tables in ternary memory, where the entry with the highest address wins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanesum_lab.tofino_model.harness import TofinoModelError

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
