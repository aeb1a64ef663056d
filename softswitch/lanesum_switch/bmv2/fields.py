# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Typed access to the fields of a program file, and limits of what a program may declare.

Each function returns ``holder[key]`` if it has the expected type and range, and raises FieldError otherwise. The
path of the field is computed for the error only, so that the check of a valid field costs little.

A controller pushes programs over P4Runtime, so their size is input. Each limit is above what p4c writes for this
repository and for the programs of p4lang/behavioral-model. Together they bound the memory of a push: no program takes
more than 64 MiB until packets fill its registers.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any

from lanesum_switch.api import InvalidArgumentError
from lanesum_switch.bmv2 import ir

# Of program text. p4c's JSON of the default program, with references to its source, has 6.3 MiB.
MAX_PROGRAM_BYTES = 8 << 20
MAX_UNICODE_BYTES = 1 << 20  # of text that is not ASCII: Python stores it in up to four bytes a character
MAX_VALUES = 3 << 16  # objects, arrays and their items in JSON: 168,438 in the largest committed program
MAX_WORDS = 1 << 17  # words and signs of a printed program: 76,070 in the largest committed one
MAX_TEXT = 4096  # characters of a name or log message
MAX_BITS = 2048  # width of a field or value, as in p4c
MAX_NUMBER_BITS = 16384  # of a constant: a larger shift leaves no bit in any field
MAX_VARBIT_BYTES = 65535  # of a header with a variable-length field: an IPv4 packet
MAX_LOOKAHEAD_OFFSET = 8 * 65535  # bits: an IPv4 packet
MAX_ID = (1 << 32) - 1  # P4Runtime and BMv2 use 32-bit ids
MAX_ENTRIES = 1 << 24  # of one table or action profile; entries take memory when they are inserted
MAX_STACK = 1024  # elements of a header stack: every access with a computed index compares it with each of them
MAX_CELLS = 3 << 20  # of all registers, counters and meters: 24 MiB of zeros; the largest committed program has 2.5 Mi
MAX_STATE_BYTES = 1 << 27  # of all cells, once packets have written a large value to every one; 110 MiB as committed
_CELL_BYTES = 40  # of a cell: a reference, and a Python int without its digits


def check_text(text: bytes) -> None:
    """Raise InvalidArgumentError for more program text than a program may have."""
    size, limit = len(text), MAX_PROGRAM_BYTES if text.isascii() else MAX_UNICODE_BYTES
    if size > limit:
        what = "" if limit == MAX_PROGRAM_BYTES else ", with characters beyond ASCII"
        raise InvalidArgumentError(
            f"The pipeline has {size} bytes{what}: a program has at most {limit}.",
            "Leave out the references to its source (source_info).",
        )


def check_state(program: ir.Program) -> None:
    """Check the total size of a program's state, before any of it is allocated.

    Raises InvalidArgumentError, which names the object that exceeds a limit.
    """
    cells = octets = 0
    arrays = [("register", a.name, a.size, a.bits) for a in program.registers.values()]
    arrays += [("counter", a.name, a.size, 128) for a in program.counters.values() if a.binding is None]
    arrays += [("meter", a.name, a.size, 512) for a in program.meters.values() if a.binding is None]
    for kind, name, size, bits in arrays:
        cells += size
        octets += size * (_CELL_BYTES + bits // 8)
        if size < 0 or not 0 < bits <= MAX_BITS or cells > MAX_CELLS or octets > MAX_STATE_BYTES:
            raise InvalidArgumentError(
                f"The {kind} {name[:80]!r} has {size} cells of {bits} bits: a program may declare at most {MAX_CELLS} "
                f"cells, {MAX_STATE_BYTES} bytes of state and {MAX_BITS} bits a cell.",
                "Declare smaller arrays.",
            )


Json = dict[str, Any]
_HEXSTR = re.compile(rf"-?(0[xX])?[0-9a-fA-F]{{1,{MAX_NUMBER_BITS // 4}}}\Z").match


class FieldError(Exception):
    """A field has another type or value than the format allows."""

    def __init__(self, holder: Any, key: Any, expected: str) -> None:
        super().__init__(expected)
        self.holder = holder
        self.key = key
        self.expected = expected

    def message(self, root: Any) -> str:
        """Return the path of the field in ``root``, the expected value and the present one."""
        try:
            found = f"found {_shown(self.holder[self.key])}"
        except (KeyError, IndexError, TypeError):
            found = "it is missing"
        return f"{_path(root, self.holder)}{_step(self.key)}: expected {self.expected}, {found}"


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    text = hex(value) if type(value) is int and abs(value) >= 1 << 64 else repr(value)
    return text if len(text) <= 80 else text[:80] + "..."


def _step(key: Any) -> str:
    return f"[{key}]" if isinstance(key, int) else f".{str(key)[:80]}"


def _path(root: Any, holder: Any) -> str:
    """Return the path of an object or array in ``root``; it is found by identity."""
    stack: list[tuple[Any, str]] = [(root, "$")]
    while stack:
        node, path = stack.pop()
        if node is holder:
            return path
        items = node.items() if isinstance(node, dict) else enumerate(node)
        stack += [(value, path + _step(key)) for key, value in items if isinstance(value, dict | list)]
    return "$"


def _get(holder: Any, key: Any, expected: str) -> Any:
    try:
        return holder[key]
    except (KeyError, IndexError, TypeError):
        raise FieldError(holder, key, expected) from None


def integer(holder: Any, key: Any, low: int = 0, high: int = MAX_ID, default: int | None = None) -> int:
    """Return an integer from ``low`` to ``high``; ``default`` stands for a missing one or null."""
    value = holder.get(key) if default is not None else _get(holder, key, "an integer")
    if value is None and default is not None:
        return default
    if type(value) is not int or not low <= value <= high:
        raise FieldError(holder, key, f"an integer from {low} to {high}")
    return value


def text(holder: Any, key: Any) -> str:
    """Return a string."""
    value = _get(holder, key, "a string")
    if type(value) is not str or len(value) > MAX_TEXT:
        raise FieldError(holder, key, f"a string of at most {MAX_TEXT} characters")
    return value


def optional_text(holder: Json, key: str) -> str | None:
    """Return a string; None if it is missing or null."""
    return None if holder.get(key) is None else text(holder, key)


def boolean(holder: Any, key: Any, default: bool | None = None) -> bool:
    """Return a boolean; 0 and 1 count as booleans, as in early versions of p4c."""
    value = holder.get(key, default) if default is not None else _get(holder, key, "a boolean")
    if value is None and default is not None:
        return default
    if value is not True and value is not False and value != 0 and value != 1:
        raise FieldError(holder, key, "a boolean")
    return bool(value)


def number(holder: Any, key: Any) -> int:
    """Return the value of a ``hexstr``, which may have a prefix and a sign."""
    value = _get(holder, key, "a hexadecimal string")
    if type(value) is not str or not _HEXSTR(value):
        raise FieldError(holder, key, f"a hexadecimal string of at most {MAX_NUMBER_BITS // 4} digits")
    return int(value, 16)


def array(holder: Any, key: Any, length: int | None = None, optional: bool = False) -> list[Any]:
    """Return an array; with ``optional``, an empty one if it is missing or null."""
    if optional and holder.get(key) is None:
        return []
    value = _get(holder, key, "an array")
    if type(value) is not list or (length is not None and len(value) != length):
        raise FieldError(holder, key, "an array" if length is None else f"an array of {length} items")
    return value


def record(holder: Any, key: Any) -> Json:
    """Return an object."""
    value = _get(holder, key, "an object")
    if type(value) is not dict:
        raise FieldError(holder, key, "an object")
    return value


def records(holder: Any, key: Any, optional: bool = False) -> list[Json]:
    """Return an array of objects; with ``optional``, an empty one if it is missing or null."""
    found = array(holder, key, optional=optional)
    for position, value in enumerate(found):
        if type(value) is not dict:
            raise FieldError(found, position, "an object")
    return found


def reference(holder: Any, key: Any, names: Container[str], what: str) -> str:
    """Return the name of an object of the program; ``names`` has the names that the program defines."""
    name = text(holder, key)
    if name not in names:
        raise FieldError(holder, key, f"the name of a {what} that the program defines")
    return name


def optional_reference(holder: Json, key: str, names: Container[str], what: str) -> str | None:
    """Return the name of an object of the program; None if it is missing or null."""
    return None if holder.get(key) is None else reference(holder, key, names, what)
