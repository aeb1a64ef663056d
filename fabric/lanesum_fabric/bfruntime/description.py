# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of a program or agent, from the JSON that describes them to clients of BF Runtime (``bf-rt.json``)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from lanesum_fabric.bfruntime import messages
from lanesum_fabric.errors import PipelineError

REGISTER = "Register"
MATCH_ACTION = "MatchAction_Direct"
PRIORITY = "$MATCH_PRIORITY"
COUNTED_BYTES, COUNTED_PACKETS = "$COUNTER_SPEC_BYTES", "$COUNTER_SPEC_PKTS"
_KINDS = {"Exact": "exact", "Ternary": "ternary", "LPM": "lpm", "Range": "range"}
_MAX_BITS = 1 << 16


@dataclass(frozen=True, slots=True)
class Field:
    """A key field, parameter or data field. ``bits`` is 0 for a text or a list; ``kind`` is "" but for a key."""

    id: int
    name: str
    bits: int
    kind: str = ""

    @property
    def size(self) -> int:
        """Bytes of a value: BF Runtime sends all of them."""
        return (self.bits + 7) // 8

    def encode(self, value: int) -> bytes:
        return value.to_bytes(self.size, "big")


@dataclass(frozen=True, slots=True)
class DescribedAction:
    id: int
    name: str
    params: dict[int, Field]


@dataclass(frozen=True, slots=True)
class BfRuntimeTable:
    """A table; fields and actions by id. ``kind`` is its table type."""

    id: int
    name: str
    kind: str
    size: int
    keys: dict[int, Field]
    data: dict[int, Field] = field(default_factory=dict)
    actions: dict[int, DescribedAction] = field(default_factory=dict)

    def entry(self, key: Field, value: int) -> Any:
        """Return an entry with the value of an exact key field, and without data."""
        entry = messages.TableEntry(table_id=self.id)
        entry.key.fields.add(field_id=key.id).exact.value = key.encode(value)
        return entry

    def key(self, name: str) -> Field:
        """Return a key field. Raises PipelineError."""
        return _named(self.keys, name, self.name)

    def datum(self, name: str) -> Field:
        """Return a data field. Raises PipelineError."""
        return _named(self.data, name, self.name)


class Description:
    """Tables by id and by name, the name as in the P4Info.

    Raises PipelineError if ``text`` is no description.
    """

    def __init__(self, text: bytes) -> None:
        try:
            tables = [_table(found) for found in json.loads(text)["tables"]]
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise PipelineError(
                f"The description is no bf-rt JSON: {type(error).__name__} {str(error)[:100]}.",
                "Build the program again (make tofino), or use another agent.",
            ) from None
        self.by_id = {table.id: table for table in tables}
        self.by_name = {table.name: table for table in tables}
        if not len(tables) == len(self.by_id) == len(self.by_name):
            raise PipelineError("The description has two tables of one id or name.")

    def named(self, name: str) -> BfRuntimeTable:
        """Return a table. Raises PipelineError."""
        if name not in self.by_name:
            raise PipelineError(f"The agent has no table {name}.", "Use an agent that has it.")
        return self.by_name[name]


def _named(fields: dict[int, Field], name: str, table: str) -> Field:
    found = [one for one in fields.values() if one.name == name]
    if not found:
        raise PipelineError(f"Table {table} has no field {name}.", "Use an agent that has it.")
    return found[0]


def _table(found: dict[str, Any]) -> BfRuntimeTable:
    data = [_field(entry["singleton"]) for entry in found.get("data", []) if "singleton" in entry]
    actions = [
        DescribedAction(
            _int(spec["id"]), _str(spec["name"]), {one.id: one for one in map(_field, spec.get("data", []))}
        )
        for spec in found.get("action_specs", [])
    ]
    kind, keys = _str(found["table_type"]), [_field(key, _KINDS[key["match_type"]]) for key in found.get("key", [])]
    return BfRuntimeTable(
        _int(found["id"]),
        # The compiler puts the name of the pipeline in front.
        _str(found["name"]).partition(".")[2] if kind in (REGISTER, MATCH_ACTION) else _str(found["name"]),
        kind,
        _int(found["size"]),
        {one.id: one for one in keys},
        {one.id: one for one in data},
        {one.id: one for one in actions},
    )


def _field(found: dict[str, Any], kind: str = "") -> Field:
    return Field(_int(found["id"]), _str(found["name"]), _bits(found), kind)


def _bits(found: dict[str, Any]) -> int:
    kind = found.get("type", {"type": "container"})
    number = re.fullmatch(r"u?int(8|16|32|64)", kind["type"])
    bits = _int(kind["width"]) if kind["type"] == "bytes" else int(number[1]) if number else 0
    if not 0 <= bits <= _MAX_BITS:
        raise ValueError(f"a field of {bits} bits")
    return bits


def _int(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < 1 << 32:
        raise ValueError(f"{value!r} is no 32-bit number")
    return value


def _str(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no name")
    return value
